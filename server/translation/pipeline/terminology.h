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

// Returns what a tokenizer's target pieces tell about words. The tokenizer must
// outlive it.
std::shared_ptr<const WordPieces> WordPiecesOf(const Tokenizer* tokenizer);

// INVALID_ARGUMENT if the terms of a glossary are too many, too long or blank,
// whatever model is to write them. `path` names the options in errors.
absl::Status CheckTerms(const GlossaryOptions& options,
                        const std::string& path);

// The glossary of a call, and its target terms in the tokens of the model that
// writes the translations. If a sentence has a source term, its search must
// write the target term (DecodingOptions::required). Immutable.
class Terminology {
 public:
  // `path` names the options in errors: "options.glossary". `source` is the tag
  // of the texts' language; empty if unknown. `writer` is the model that writes
  // the translations. Tokenizes each term.
  static absl::StatusOr<Terminology> Create(const GlossaryOptions& options,
                                            const std::string& path,
                                            std::string_view source,
                                            const Model& writer,
                                            const AliveCheck& check_alive);

  // A passage of a text in which to look for terms. No term overlaps a
  // protected span.
  struct Passage {
    std::string_view text;
    TextSpan span;
    const std::vector<TextSpan>& protected_spans;  // in the text; ascending
  };

  // The terms of a passage.
  struct Terms {
    std::vector<RequiredPhrase> phrases;  // at most kMaxRequiredPhrases
    size_t uses = 0;                      // including those without a phrase
  };
  // `tokens`: [source ids] the bytes of the text that each token of the model's
  // source stands for; empty for a token that stands for none. `all`: include
  // terms that no token stands for. Returns the error of `check_alive`.
  absl::StatusOr<Terms> TermsOf(const Passage& passage,
                                std::span<const TextSpan> tokens, bool all,
                                const AliveCheck& check_alive) const;
  // Makes the search write the phrases. Adds beams for each, up to
  // `max_beam_size`.
  void Require(const std::vector<RequiredPhrase>& phrases, int max_beam_size,
               DecodingOptions* decoding) const;
  // Appends to `translation`, which translates the passage, the terms of the
  // source and the hypotheses that miss each.
  absl::Status Report(const Passage& passage, const AliveCheck& check_alive,
                      TranslatedText* translation) const;

 private:
  Terminology(Glossary glossary, bool endings)
      : glossary_(std::move(glossary)), endings_(endings) {}

  // Returns matches as bytes of the text.
  absl::StatusOr<std::vector<Glossary::Match>> Find(
      const Passage& passage, const AliveCheck& check_alive) const;

  Glossary glossary_;
  bool endings_;
  std::vector<std::string> targets_;     // [terms]
  std::vector<RequiredPhrase> phrases_;  // [terms]
  std::shared_ptr<const WordPieces> pieces_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TERMINOLOGY_H_
