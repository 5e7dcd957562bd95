#ifndef TRIVIUM_MODEL_TOKENIZER_FAIRSEQ_LANGUAGES_H_
#define TRIVIUM_MODEL_TOKENIZER_FAIRSEQ_LANGUAGES_H_

#include <string>
#include <vector>

namespace trivium {

// The language tokens of fairseq's models in the order of their ids. The
// models' SentencePiece files lack them.
std::vector<std::string> MBartLanguages();
std::vector<std::string> MBart50Languages();
std::vector<std::string> M2m100Languages();
std::vector<std::string> Wmt21Languages();
std::vector<std::string> NllbLanguages();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_FAIRSEQ_LANGUAGES_H_
