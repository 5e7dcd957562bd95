#ifndef TRIVIUM_TESTS_MODEL_GGUF_VOCABULARY_H_
#define TRIVIUM_TESTS_MODEL_GGUF_VOCABULARY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "model/gguf/gguf_tokenizer.h"
#include "model/tokenizer/tokenizer_factory.h"
#include "model/weights/gguf_file.h"
#include "model/weights/mapped_file.h"

namespace trivium {

// Loads the tokenizer of a GGUF file that contains nothing else.
inline absl::StatusOr<std::unique_ptr<Tokenizer>> LoadGgufVocabulary(
    const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  TRIVIUM_ASSIGN_OR_RETURN(const GgufFile gguf, ReadGguf(file->bytes()));
  TRIVIUM_ASSIGN_OR_RETURN(
      nlohmann::json tokenizer,
      GgufTokenizerJson(gguf.metadata,
                        gguf.metadata.value("general.architecture", "")));
  return MakeTokenizer(std::move(tokenizer),
                       GgufTokenizerConfig(gguf.metadata));
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_GGUF_VOCABULARY_H_
