#ifndef TRIVIUM_MODEL_LANGUAGE_CONVENTIONS_H_
#define TRIVIUM_MODEL_LANGUAGE_CONVENTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/language_names.h"
#include "model/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A way of telling a kind of model languages by tokens of its vocabulary.
struct LanguageConvention {
  // Place of the source language's token; texts end with the end token.
  enum class Source {
    kUntold,  // the model is not told the source language
    kBefore,  // in front of the text
    kBehind,  // after the end token
  };
  // Place of the target language's token.
  enum class Target {
    kBefore,  // in front of the source's text
    kText,    // in front, too, but as text that the tokenizer reads
    kForced,  // the first token that the decoder writes
    kStart,   // the decoder's start token
  };
  // Spelling of a code between its marks.
  enum class Form {
    kAny,
    kRegion,  // "de_DE", "en_XX": the region has no meaning
    kScript,  // "deu_Latn"
  };
  std::string_view family;           // config.json's model_type
  std::string_view tokenizer_class;  // prefix of the tokenizer's class name
  std::string_view open, close;      // marks around a code
  Form form;
  // True if codes must be added tokens, which the tokenizer finds in texts.
  // Ordinary words of the vocabulary that look like a code do not count then.
  bool added;
  Source source;
  Target target;
};

// The languages that a vocabulary has tokens for.
struct LanguageTokens {
  LanguageConvention convention = {};
  std::vector<LanguageNames::Code> codes = {};
  std::vector<int32_t> ids = {};  // [codes]

  // Applies the first convention of the family whose tokens the vocabulary has;
  // returns no codes if there is none. The configurations may be null.
  static LanguageTokens Find(const Tokenizer& tokenizer,
                             std::string_view family,
                             const nlohmann::json* config,
                             const nlohmann::json* tokenizer_config);
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_LANGUAGE_CONVENTIONS_H_
