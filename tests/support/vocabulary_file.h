#ifndef TRIVIUM_TESTS_SUPPORT_VOCABULARY_FILE_H_
#define TRIVIUM_TESTS_SUPPORT_VOCABULARY_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// Reads a vocabulary in tiktoken's form: a line a token, its bytes in Base64
// and its id. Ids that no line names have no bytes. The result is followed by
// one more token without bytes, which may serve as the end token.
absl::StatusOr<std::vector<std::string>> ReadVocabularyFile(
    const std::string& path);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_VOCABULARY_FILE_H_
