#ifndef TRIVIUM_SERVER_CALLS_TERMINOLOGY_H_
#define TRIVIUM_SERVER_CALLS_TERMINOLOGY_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/model.h"
#include "server/calls/environment.h"
#include "server/translation/glossary.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// What v1::Glossary asks for: the search of a sentence that has a source term
// is held to its target term (DecodingOptions::required). Immutable.
class Terminology {
 public:
  // `path` of the message: "options.glossary"; `source`: the tag of the texts'
  // language, empty where it is not known; `writer`: the model that writes the
  // translations.
  static absl::StatusOr<Terminology> Create(
      const v1::Glossary& in, const std::string& path, std::string_view source,
      const Model& writer, const std::function<absl::Status()>& wanted);

  // The terms of `part` of a text, outside of `kept`, spans of the text,
  // ascending and apart. `tokens`: what of the text the tokens that the model
  // reads stand for; empty spans: nothing. `all`: those of which no token is,
  // too. `wanted` as Glossary::Find's.
  struct Terms {
    std::vector<RequiredPhrase> phrases;  // at most kMaxRequiredPhrases
    size_t uses = 0;                      // how many there are in all
  };
  absl::StatusOr<Terms> TermsOf(
      std::string_view text, TextSpan part, const std::vector<TextSpan>& kept,
      std::span<const TextSpan> tokens, bool all,
      const std::function<absl::Status()>& wanted) const;
  // Holds the search to as many of them as it can, with beams for each.
  void Require(const std::vector<RequiredPhrase>& terms,
               const RequestLimits& limits, DecodingOptions* decoding) const;
  // Tells result, which is the translation of the part, of its terms.
  absl::Status Report(std::string_view text, TextSpan part,
                      const std::vector<TextSpan>& kept,
                      const std::function<absl::Status()>& wanted,
                      v1::TranslateResult* result) const;

 private:
  Terminology(Glossary glossary, bool endings)
      : glossary_(std::move(glossary)), endings_(endings) {}

  // In the text, of the part, outside of `kept`.
  absl::StatusOr<std::vector<Glossary::Match>> Find(
      std::string_view text, TextSpan part, const std::vector<TextSpan>& kept,
      const std::function<absl::Status()>& wanted) const;

  Glossary glossary_;
  bool endings_;
  std::vector<std::string> targets_;     // [terms]
  std::vector<RequiredPhrase> phrases_;  // [terms]
  std::shared_ptr<const WordPieces> pieces_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_TERMINOLOGY_H_
