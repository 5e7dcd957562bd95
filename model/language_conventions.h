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

// How a kind of model is told languages by tokens of its vocabulary.
struct LanguageConvention {
  // Where the source's token goes; texts end with the end token.
  enum class Source {
    kUntold,
    kBefore,  // in front of the text
    kBehind,  // behind the end token
  };
  // Where the target's goes.
  enum class Target {
    kBefore,  // in front of the source's text
    kText,    // there too, as text that the tokenizer reads
    kForced,  // the first token that the decoder writes
    kStart,   // the decoder's start token
  };
  // How a code is spelled between its marks.
  enum class Form {
    kAny,
    kRegion,  // "de_DE", "en_XX": the region says nothing
    kScript,  // "deu_Latn"
  };
  std::string_view family;           // config.json's model_type
  std::string_view tokenizer_class;  // what its name begins with
  std::string_view open, close;      // marks around a code
  Form form;
  // Whether they are added tokens, which are found in texts, unlike words of
  // the vocabulary that look like one.
  bool added;
  Source source;
  Target target;
};

// The languages that a vocabulary has tokens for.
struct LanguageTokens {
  LanguageConvention convention = {};
  std::vector<LanguageNames::Code> codes = {};
  std::vector<int32_t> ids = {};  // [codes]

  // By the first convention of the family that the vocabulary has tokens of;
  // no codes where there is none. The configurations may be null.
  static LanguageTokens Find(const Tokenizer& tokenizer,
                             std::string_view family,
                             const nlohmann::json* config,
                             const nlohmann::json* tokenizer_config);
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_LANGUAGE_CONVENTIONS_H_
