// llama.cpp's own cases, ggml-vocab-NAME.gguf.inp and .out: texts and their ids
// from Transformers' tokenizers, compared with the vocabularies in the files
// beside them. They are downloaded and not part of the repository. CTest runs
// this test separately and shows it as skipped without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/model/gguf_vocabulary.h"

namespace trivium {
namespace {

using testing::ElementsAre;

std::filesystem::path Material() { return "../shared/material/tokenizers"; }

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << " is missing";
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> Texts(const std::string& name) {
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  const std::string all = ReadAll(Material() / "llama.cpp-vocab" / name);
  std::vector<std::string> texts;
  size_t begin = 0;
  for (size_t end; (end = all.find(kSeparator, begin)) != std::string::npos;
       begin = end + kSeparator.size()) {
    texts.push_back(all.substr(begin, end - begin));
  }
  return texts;
}

// One list of ids on each line.
std::vector<std::vector<int32_t>> Ids(const std::string& name) {
  std::istringstream all(ReadAll(Material() / "llama.cpp-vocab" / name));
  std::vector<std::vector<int32_t>> ids;
  for (std::string line; std::getline(all, line);) {
    std::istringstream numbers(line);
    ids.emplace_back(std::istream_iterator<int32_t>(numbers),
                     std::istream_iterator<int32_t>());
  }
  return ids;
}

void ExpectCases(const Tokenizer& tokenizer, const std::string& name) {
  const std::string cases = "ggml-vocab-" + name + ".gguf";
  const std::vector<std::string> texts = Texts(cases + ".inp");
  const std::vector<std::vector<int32_t>> ids = Ids(cases + ".out");
  ASSERT_EQ(texts.size(), ids.size());
  EXPECT_GE(texts.size(), 40u);
  // As the cases were made: special tokens are neither added nor found in
  // texts.
  EncodeOptions options;
  options.add_special_tokens = false;
  for (size_t i = 0; i < texts.size(); ++i) {
    const TextPart part = {texts[i], /*literal=*/true};
    const auto encoding = tokenizer.EncodeParts({&part, 1}, options);
    ASSERT_TRUE(encoding.ok()) << encoding.status();
    EXPECT_EQ(encoding->ids, ids[i]) << texts[i];
  }
}

class DownloadedVocabulariesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Material())) {
      GTEST_SKIP() << "skipped: there is no folder " << Material();
    }
  }
};

TEST_F(DownloadedVocabulariesTest, IdsEqualTransformers) {
  for (const char* name :
       {"bert-bge", "deepseek-coder", "gpt-2", "llama-spm", "phi-3"}) {
    SCOPED_TRACE(name);
    const auto tokenizer =
        LoadGgufVocabulary(Material() / "llama.cpp-vocab" /
                           ("ggml-vocab-" + std::string(name) + ".gguf"));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    ExpectCases(**tokenizer, name);
  }
}

// BGE's vocabulary is BERT's.
TEST_F(DownloadedVocabulariesTest, BertsVocabularyIsThatOfItsFolder) {
  const auto folder = LoadTokenizer(Material() / "hf" / "bert-uncased");
  ASSERT_TRUE(folder.ok()) << folder.status();
  ExpectCases(**folder, "bert-bge");
}

// These have cases but no vocabulary.
TEST_F(DownloadedVocabulariesTest, ListsCasesWithoutAVocabulary) {
  std::vector<std::string> others;
  for (const auto& entry :
       std::filesystem::directory_iterator(Material() / "llama.cpp-vocab")) {
    std::filesystem::path path = entry.path();
    if (path.extension() != ".inp") continue;
    if (!std::filesystem::exists(path.replace_extension())) {
      others.push_back(path.stem().string());
    }
  }
  std::sort(others.begin(), others.end());
  EXPECT_THAT(others,
              ElementsAre("ggml-vocab-chameleon", "ggml-vocab-command-r",
                          "ggml-vocab-deepseek-r1-qwen", "ggml-vocab-llama-bpe",
                          "ggml-vocab-qwen2", "ggml-vocab-roberta-bpe"));
}

}  // namespace
}  // namespace trivium
