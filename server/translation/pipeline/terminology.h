#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TERMINOLOGY_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TERMINOLOGY_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/model.h"
#include "server/translation/glossary.h"
#include "server/translation/pipeline/translated_text.h"
#include "server/translation/pipeline/translation_options.h"

namespace trivium {

// The glossary of a call, and its target terms in the tokens of the model that
// writes translations. The search of a sentence that has a source term must
// write the target term (DecodingOptions::required). Immutable.
class Terminology {
 public:
  // `path` of the options in errors: "options.glossary"; `source`: the tag of
  // the texts' language, empty if not known; `writer`: the model that writes
  // the translations. Tokenizes each term.
  static absl::StatusOr<Terminology> Create(const GlossaryOptions& options,
                                            const std::string& path,
                                            std::string_view source,
                                            const Model& writer,
                                            const AliveCheck& check_alive);

  // A stretch of a text in which terms are looked for. No term overlaps a
  // protected span.
  struct Stretch {
    std::string_view text;
    TextSpan span;
    const std::vector<TextSpan>& protected_spans;  // of the text, ascending
  };

  // Terms of a stretch.
  struct Terms {
    std::vector<RequiredPhrase> phrases;  // at most kMaxRequiredPhrases
    size_t uses = 0;                      // all, also those without a phrase
  };
  // `tokens`: [source ids] the bytes of the text that each token of the model's
  // source stands for; empty for tokens of no text. `all`: include terms that
  // no token stands for. The error is that of `check_alive`.
  absl::StatusOr<Terms> TermsOf(const Stretch& stretch,
                                std::span<const TextSpan> tokens, bool all,
                                const AliveCheck& check_alive) const;
  // Makes the search write the phrases, with more beams for each, at most
  // `max_beam_size`.
  void Require(const std::vector<RequiredPhrase>& phrases, int max_beam_size,
               DecodingOptions* decoding) const;
  // Appends to `translation`, the translation of the stretch, which terms the
  // source has and which hypotheses miss them.
  absl::Status Report(const Stretch& stretch, const AliveCheck& check_alive,
                      TranslatedText* translation) const;

 private:
  Terminology(Glossary glossary, bool endings)
      : glossary_(std::move(glossary)), endings_(endings) {}

  // Matches as bytes of the text.
  absl::StatusOr<std::vector<Glossary::Match>> Find(
      const Stretch& stretch, const AliveCheck& check_alive) const;

  Glossary glossary_;
  bool endings_;
  std::vector<std::string> targets_;     // [terms]
  std::vector<RequiredPhrase> phrases_;  // [terms]
  std::shared_ptr<const WordPieces> pieces_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TERMINOLOGY_H_
