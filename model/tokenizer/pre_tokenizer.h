#ifndef TRIVIUM_MODEL_TOKENIZER_PRE_TOKENIZER_H_
#define TRIVIUM_MODEL_TOKENIZER_PRE_TOKENIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "model/tokenizer/pattern.h"
#include "model/tokenizer/segments.h"

namespace trivium {

// Cuts a text to the words that a model sees one by one; added tokens stay as
// they are. Immutable and thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void Apply(Segments* segments) const = 0;
};

// At white space, which goes, and around punctuation.
std::unique_ptr<PreTokenizer> MakeBertPreTokenizer();
std::unique_ptr<PreTokenizer> MakeWhitespaceSplit();
// Around each character of punctuation.
std::unique_ptr<PreTokenizer> MakePunctuation(SplitBehavior behavior);
// Around numbers, or each of their digits.
std::unique_ptr<PreTokenizer> MakeDigits(bool individual);
// `invert`: what the pattern does not match counts as its matches.
std::unique_ptr<PreTokenizer> MakeSplit(std::unique_ptr<Pattern> pattern,
                                        SplitBehavior behavior, bool invert);

struct ByteLevelOptions {
  bool add_prefix_space = false;
  bool use_regex = true;  // cut to GPT-2's words
};
// GPT-2's: words, then each byte as a printable character.
std::unique_ptr<PreTokenizer> MakeByteLevel(const ByteLevelOptions& options);

enum class PrependScheme { kAlways, kFirst, kNever };
// SentencePiece's: spaces become `replacement`, one is put in front of every
// segment (kAlways) or of the text's first (kFirst); cut in front of each if
// `split`.
std::unique_ptr<PreTokenizer> MakeMetaspace(std::string replacement,
                                            PrependScheme scheme, bool split);

// `text` in front of what the whole text begins with, unless that is an added
// token.
std::unique_ptr<PreTokenizer> MakePrependToFirst(std::string text);

std::unique_ptr<PreTokenizer> MakePreTokenizerSequence(
    std::vector<std::unique_ptr<PreTokenizer>> steps);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_PRE_TOKENIZER_H_
