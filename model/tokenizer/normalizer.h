#ifndef TRIVIUM_MODEL_TOKENIZER_NORMALIZER_H_
#define TRIVIUM_MODEL_TOKENIZER_NORMALIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "model/tokenizer/normalized_text.h"
#include "model/tokenizer/pattern.h"

namespace trivium {

// A step of a text's normalization. Immutable and thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void Apply(NormalizedText* text) const = 0;
};

struct BertNormalizerOptions {
  bool clean_text = true;           // no control characters, all spaces " "
  bool space_chinese_chars = true;  // puts spaces around each Chinese character
  bool strip_accents = true;
  bool lower_case = true;
};

std::unique_ptr<Normalizer> MakeBertNormalizer(
    const BertNormalizerOptions& options);
std::unique_ptr<Normalizer> MakeLowerCase();
std::unique_ptr<Normalizer> MakeUnicodeNormalizer(DecompositionKind kind,
                                                  bool compose);
// Removes marks (category M), or characters with a combining class.
std::unique_ptr<Normalizer> MakeStripAccents();
std::unique_ptr<Normalizer> MakeStripCombining();
// Removes white space at the ends.
std::unique_ptr<Normalizer> MakeStrip(bool left, bool right);
std::unique_ptr<Normalizer> MakePrepend(std::string text);
std::unique_ptr<Normalizer> MakeReplace(std::unique_ptr<Pattern> pattern,
                                        std::string content);
// SentencePiece's own clean-up of control characters and spaces.
std::unique_ptr<Normalizer> MakeNmt();
std::unique_ptr<Normalizer> MakeNormalizerSequence(
    std::vector<std::unique_ptr<Normalizer>> steps);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_NORMALIZER_H_
