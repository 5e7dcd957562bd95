#include "tests/support/vocabulary_file.h"

#include <fstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "fmt/format.h"

namespace trivium {

absl::StatusOr<std::vector<std::string>> ReadVocabularyFile(
    const std::string& path) {
  constexpr uint32_t kMostTokens = 1 << 20;
  std::ifstream file(path);
  std::vector<std::string> tokens;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const size_t space = line.find(' ');
    std::string bytes;
    uint32_t id = 0;
    if (space == std::string::npos ||
        !absl::Base64Unescape(line.substr(0, space), &bytes) ||
        !absl::SimpleAtoi(line.substr(space + 1), &id) || id >= kMostTokens) {
      return absl::InvalidArgumentError(
          fmt::format("{}, line {}: must be Base64 and an id below {}", path,
                      number, kMostTokens));
    }
    if (id >= tokens.size()) tokens.resize(id + 1);
    tokens[id] = std::move(bytes);
  }
  if (tokens.empty()) {
    return absl::InvalidArgumentError(path +
                                      ": cannot be read, or has no tokens");
  }
  tokens.emplace_back();
  return tokens;
}

}  // namespace trivium
