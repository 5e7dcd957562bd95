#ifndef TRIVIUM_MODEL_TOKENIZER_PRE_TOKENIZER_H_
#define TRIVIUM_MODEL_TOKENIZER_PRE_TOKENIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "model/tokenizer/pattern.h"
#include "model/tokenizer/pre_tokenized_text.h"

namespace trivium {

// Cuts a text into the words that a model sees one by one; added tokens stay as
// they are. Immutable and thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void Apply(PreTokenizedText* pre_tokenized) const = 0;
};

// Splits at white space, which is removed, and around punctuation.
std::unique_ptr<PreTokenizer> MakeBertPreTokenizer();
std::unique_ptr<PreTokenizer> MakeWhitespaceSplit();
// Splits around each punctuation character.
std::unique_ptr<PreTokenizer> MakePunctuation(SplitBehavior behavior);
// Splits around numbers, or around each of their digits.
std::unique_ptr<PreTokenizer> MakeDigits(bool individual);
// `invert`: the text between the pattern's matches counts as its matches.
std::unique_ptr<PreTokenizer> MakeSplit(std::unique_ptr<Pattern> pattern,
                                        SplitBehavior behavior, bool invert);

struct ByteLevelOptions {
  bool add_prefix_space = false;
  bool use_regex = true;  // cut into GPT-2's words
};
// GPT-2's: cuts into words and then turns each byte into a printable character.
std::unique_ptr<PreTokenizer> MakeByteLevel(const ByteLevelOptions& options);

enum class PrependScheme { kAlways, kFirst, kNever };
// SentencePiece's: turns spaces into `replacement` and puts one in front of
// every pre-token (kAlways) or of the text's first one (kFirst). Cuts before
// each if `split`.
std::unique_ptr<PreTokenizer> MakeMetaspace(std::string replacement,
                                            PrependScheme scheme, bool split);

// Puts `text` in front of the whole text, unless the text begins with an added
// token.
std::unique_ptr<PreTokenizer> MakePrependToFirst(std::string text);

std::unique_ptr<PreTokenizer> MakePreTokenizerSequence(
    std::vector<std::unique_ptr<PreTokenizer>> steps);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_PRE_TOKENIZER_H_
