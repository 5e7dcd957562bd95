#ifndef TRIVIUM_TESTS_MODEL_TOKENIZER_TOKENIZER_TEST_UTIL_H_
#define TRIVIUM_TESTS_MODEL_TOKENIZER_TOKENIZER_TEST_UTIL_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/tokenizer_factory.h"

namespace trivium {

inline constexpr char kEmbedded[] = "model/embedded";

inline std::unique_ptr<Tokenizer> LoadOrDie(const std::string& folder) {
  auto tokenizer = LoadTokenizer(folder);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_NE(*tokenizer, nullptr) << folder << " has no tokenizer";
  return *std::move(tokenizer);
}

inline std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

// A folder for a test's files, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::path(testing::TempDir()) /
              (std::string("tokenizer_") + TestName())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  std::string path() const { return path_.string(); }
  void Write(const std::string& name, const std::string& contents) const {
    std::ofstream(path_ / name, std::ios::binary) << contents;
  }
  void Remove(const std::string& name) const {
    std::filesystem::remove(path_ / name);
  }

 private:
  static std::string TestName() {
    std::string name =
        testing::UnitTest::GetInstance()->current_test_info()->name();
    // Names of parameterized tests contain slashes.
    for (char& c : name) {
      if (c == '/') c = '_';
    }
    return name;
  }

  const std::filesystem::path path_;
};

// A copy of the embedded model's tokenizer files that a test may change.
class TokenizerFolder : public ScratchFolder {
 public:
  TokenizerFolder() {
    for (const char* name :
         {"source.spm", "target.spm", "vocab.json", "tokenizer_config.json"}) {
      Write(name, ReadAll(std::filesystem::path(kEmbedded) / name));
    }
  }
};

// Returns byte offsets of tokens as "begin-end begin-end ...".
inline std::string Offsets(const std::vector<Token>& tokens) {
  std::string offsets;
  for (const Token& token : tokens) {
    if (!offsets.empty()) offsets += ' ';
    offsets +=
        std::to_string(token.byte_begin) + "-" + std::to_string(token.byte_end);
  }
  return offsets;
}

// Returns the tokens' pieces with spaces between.
inline std::string Pieces(const std::vector<Token>& tokens) {
  std::string pieces;
  for (const Token& token : tokens) {
    if (!pieces.empty()) pieces += ' ';
    pieces += token.piece;
  }
  return pieces;
}

// Returns the parts of a streamed decode; the last is Finish's.
inline std::vector<std::string> Stream(const Tokenizer& tokenizer,
                                       std::span<const int32_t> ids) {
  const auto decoder = tokenizer.NewStreamingDecoder();
  std::vector<std::string> parts;
  for (const int32_t id : ids) parts.push_back(decoder->Push(id));
  parts.push_back(decoder->Finish());
  return parts;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_TOKENIZER_TOKENIZER_TEST_UTIL_H_
