#ifndef TRIVIUM_SERVER_HANDLERS_TERMINOLOGY_H_
#define TRIVIUM_SERVER_HANDLERS_TERMINOLOGY_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/model.h"
#include "server/handlers/environment.h"
#include "server/text/glossary.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// What v1::Glossary asks for: the search of a sentence that has a source term
// is held to its target term (DecodingOptions::required). Immutable.
class Terminology {
 public:
  // `path` of the message: "options.glossary"; `source`: the language's tag,
  // empty where it is not known.
  static absl::StatusOr<Terminology> Create(
      const v1::Glossary& in, const std::string& path, std::string_view source,
      const Model& model, const std::function<absl::Status()>& wanted);

  // Terms of what the model reads. `tokens` are of the text, whose offsets
  // begin `prefix_bytes` before it. `wanted` as Glossary::Find's.
  struct Terms {
    std::vector<RequiredPhrase> phrases;  // at most kMaxRequiredPhrases
    size_t uses = 0;                      // how many there are in all
  };
  absl::StatusOr<Terms> TermsOf(
      std::string_view text, std::span<const Token> tokens, size_t prefix_bytes,
      const std::function<absl::Status()>& wanted) const;
  // Holds the search to as many of them as it can, with beams for each.
  void Require(const std::vector<RequiredPhrase>& terms,
               const RequestLimits& limits, DecodingOptions* decoding) const;
  // Tells result, which is the translation of `source`, the span `place` of the
  // input's text, of its terms outside of `kept`, spans of the input's text,
  // ascending and apart.
  absl::Status Report(std::string_view source, TextSpan place,
                      const std::vector<TextSpan>& kept,
                      const std::function<absl::Status()>& wanted,
                      v1::TranslateResult* result) const;

 private:
  Terminology(Glossary glossary, bool endings)
      : glossary_(std::move(glossary)), endings_(endings) {}

  Glossary glossary_;
  bool endings_;
  std::vector<std::string> targets_;     // [terms]
  std::vector<RequiredPhrase> phrases_;  // [terms]
  std::shared_ptr<const WordPieces> pieces_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_TERMINOLOGY_H_
