#ifndef TRIVIUM_SERVER_CALLS_RESULT_CHECKS_H_
#define TRIVIUM_SERVER_CALLS_RESULT_CHECKS_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/batching/request.h"
#include "server/calls/convert/convert.h"
#include "server/translation/sentences.h"
#include "server/translation/translation_checks.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// What v1::Checks asks for, of sentences' translations. Immutable.
class ResultChecks {
 public:
  // `path` of the message: "options.checks". `decoding` is what second_try goes
  // over.
  static absl::StatusOr<ResultChecks> Create(
      const v1::Checks& in, const std::string& path,
      const v1::DecodingOptions& decoding, const Direction& direction,
      const Model& model, const RequestLimits& limits);

  // Adds to result's suspicions what its tokens tell, as the model read and
  // wrote them; before LookAtTexts.
  void LookAtTokens(const PreparedInput& input,
                    const std::vector<Hypothesis>& hypotheses,
                    v1::TranslateResult* result) const;
  // And what its texts tell, which are the translation of `source`, the span
  // `place` of the input's text.
  void LookAtTexts(std::string_view source, TextSpan place,
                   v1::TranslateResult* result) const;

  // How much was found of the best hypothesis.
  static int Findings(const v1::TranslateResult& result);

  // How a second try is to decode; null: there is none.
  const CallDecoding* second_try() const {
    return second_try_ ? &*second_try_ : nullptr;
  }

 private:
  ResultChecks() = default;

  bool Looks(v1::Check kind) const { return kinds_.contains(kind); }

  std::set<v1::Check> kinds_;
  std::optional<LanguageCheck> language_;
  int32_t unknown_id_ = -1;
  std::optional<CallDecoding> second_try_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_RESULT_CHECKS_H_
