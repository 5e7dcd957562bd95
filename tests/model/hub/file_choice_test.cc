#include "model/hub/file_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<HubFile> Files(const std::vector<std::string>& paths) {
  std::vector<HubFile> files;
  for (const std::string& path : paths) files.push_back({path, 1, "", false});
  return files;
}

std::vector<std::string> Paths(const std::vector<HubFile>& files) {
  std::vector<std::string> paths;
  for (const HubFile& file : files) paths.push_back(file.path);
  return paths;
}

absl::StatusOr<FileChoice> Choose(const std::vector<std::string>& paths,
                                  const std::string& quant = "") {
  return ChooseFiles({"test/tiny", "main", quant}, Files(paths));
}

std::string Gguf(const std::vector<std::string>& paths,
                 const std::string& quant = "") {
  const auto choice = Choose(paths, quant);
  return choice.ok() ? choice->gguf : choice.status().ToString();
}

TEST(FileChoiceTest, TakesSafetensorsBeforeOthers) {
  const auto choice = Choose(
      {".gitattributes", "README.md", "config.json", "flax_model.msgpack",
       "model.safetensors", "onnx/model.onnx", "pytorch_model.bin",
       "tf_model.h5", "tokenizer.json", "tokenizer_config.json", "vocab.txt",
       "model.fp16.safetensors", "original/config.json"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(Paths(choice->first),
              ElementsAre("README.md", "config.json", "tokenizer.json",
                          "tokenizer_config.json", "vocab.txt"));
  EXPECT_THAT(Paths(choice->weights), ElementsAre("model.safetensors"));
  EXPECT_FALSE(choice->index.has_value());
  EXPECT_EQ(choice->gguf, "");
  EXPECT_THAT(Paths(Choose({"config.json", "pytorch_model.bin"})->weights),
              ElementsAre("pytorch_model.bin"));
}

TEST(FileChoiceTest, AnIndexNamesTheShards) {
  const auto files =
      Files({"config.json", "model-00001-of-00002.safetensors",
             "model-00002-of-00002.safetensors", "model.safetensors.index.json",
             "pytorch_model.bin"});
  const HubName name = {"test/tiny"};
  const auto choice = ChooseFiles(name, files);
  ASSERT_TRUE(choice.ok()) << choice.status();
  ASSERT_TRUE(choice->index.has_value());
  EXPECT_THAT(choice->weights, IsEmpty());
  const auto shards =
      ReadShards(name, *choice->index,
                 R"({"weight_map": {"a": "model-00002-of-00002.safetensors",
                         "b": "model-00001-of-00002.safetensors",
                         "c": "model-00002-of-00002.safetensors"}})",
                 files);
  ASSERT_TRUE(shards.ok()) << shards.status();
  EXPECT_THAT(Paths(*shards), ElementsAre("model-00001-of-00002.safetensors",
                                          "model-00002-of-00002.safetensors"));
  for (const char* text : {"", "[]", "{}", R"({"weight_map": {"a": 5}})",
                           R"({"weight_map": {"a": "../config.json"}})"}) {
    EXPECT_THAT(ReadShards(name, *choice->index, text, files),
                IsError(absl::StatusCode::kInvalidArgument,
                        "model.safetensors.index.json"));
  }
}

TEST(FileChoiceTest, TakesSentenceTransformersModules) {
  const auto choice = Choose(
      {"config.json", "config_sentence_transformers.json", "model.safetensors",
       "modules.json", "sentence_bert_config.json", "1_Pooling/config.json",
       "2_Dense/config.json", "2_Dense/model.safetensors",
       "2_Dense/pytorch_model.bin", "onnx/config.json"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(
      Paths(choice->first),
      UnorderedElementsAre("config.json", "config_sentence_transformers.json",
                           "modules.json", "sentence_bert_config.json",
                           "1_Pooling/config.json", "2_Dense/config.json",
                           "2_Dense/model.safetensors"));
  EXPECT_THAT(Paths(choice->weights), ElementsAre("model.safetensors"));
}

TEST(FileChoiceTest, TakesWhatMakesOtherEmbeddings) {
  const auto choice =
      Choose({"config.json", "model.safetensors", "artifact.metadata",
              "colbert_linear.pt", "sparse_linear.pt", "other.pt"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(Paths(choice->first),
              UnorderedElementsAre("config.json", "artifact.metadata",
                                   "colbert_linear.pt", "sparse_linear.pt"));
}

TEST(FileChoiceTest, FindsATransformerInAFolderOfItsOwn) {
  const auto choice = Choose(
      {"0_Transformer/config.json", "0_Transformer/model.safetensors",
       "0_Transformer/vocab.txt", "1_Pooling/config.json", "modules.json"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(Paths(choice->first),
              UnorderedElementsAre("0_Transformer/config.json",
                                   "0_Transformer/vocab.txt",
                                   "1_Pooling/config.json", "modules.json"));
  EXPECT_THAT(Paths(choice->weights),
              ElementsAre("0_Transformer/model.safetensors"));
}

TEST(FileChoiceTest, TakesOneGgufFile) {
  const std::vector<std::string> several = {
      "README.md",        "m-IQ4_XS.gguf",     "m-Q4_K_M.gguf", "m-Q4_K_S.gguf",
      "m-UD-Q4_K_M.GGUF", "mmproj-F16.gguf",   "m-Q8_0.gguf",   "m.f16.gguf",
      "m.imatrix.gguf",   "BF16/m-BF16-x.gguf"};
  EXPECT_EQ(Gguf({"README.md", "only-Q2_K.gguf", "mmproj-F16.gguf"}),
            "only-Q2_K.gguf");
  EXPECT_EQ(Gguf(several, "q8_0"), "m-Q8_0.gguf");
  EXPECT_EQ(Gguf(several, "F16"), "m.f16.gguf");
  EXPECT_EQ(Gguf(several, "bf16"), "BF16/m-BF16-x.gguf");
  EXPECT_EQ(Gguf(several, "UD-Q4_K_M"), "m-UD-Q4_K_M.GGUF");
  EXPECT_EQ(Gguf(several, "IQ4"), "m-IQ4_XS.gguf");
  EXPECT_EQ(Gguf({"a-Q4_K_M.gguf", "a-Q8_0.gguf"}), "a-Q4_K_M.gguf");
  // A whole word is more than a part of one.
  EXPECT_EQ(Gguf({"a-Q4_0.gguf", "a-Q4_0_4_4.gguf"}, "Q4_0"), "a-Q4_0.gguf");
}

TEST(FileChoiceTest, ListsGgufFilesWhereItCannotChoose) {
  EXPECT_THAT(Choose({"a-Q5_0.gguf", "a-Q8_0.gguf"}),
              IsError(absl::StatusCode::kNotFound, "a-Q8_0.gguf"));
  EXPECT_THAT(Choose({"a-Q5_0.gguf", "a-Q8_0.gguf"}, "Q4_0"),
              IsError(absl::StatusCode::kNotFound, "'Q4_0'"));
  EXPECT_THAT(Choose({"a-Q4_K_S.gguf", "a-Q4_K_M.gguf"}, "Q4_K"),
              IsError(absl::StatusCode::kNotFound, "a-Q4_K_S.gguf"));
  EXPECT_THAT(Choose({"config.json", "model.safetensors"}, "Q4_0"),
              IsError(absl::StatusCode::kNotFound, "':Q4_0'"));
  EXPECT_THAT(
      Choose({"b-Q8_0-00001-of-00002.gguf", "b-Q8_0-00002-of-00002.gguf"},
             "Q8_0"),
      IsError(absl::StatusCode::kNotFound, "llama-gguf-split"));
}

// A folder is complete in itself, so its GGUF files are for those who ask.
TEST(FileChoiceTest, AFolderGoesBeforeGgufFiles) {
  EXPECT_EQ(Gguf({"config.json", "model.safetensors", "m-Q4_K_M.gguf"}), "");
  EXPECT_EQ(
      Gguf({"config.json", "model.safetensors", "m-Q4_K_M.gguf"}, "q4_k_m"),
      "m-Q4_K_M.gguf");
  // Repositories of GGUF files may have a config.json, too.
  EXPECT_EQ(Gguf({"config.json", "m-Q4_K_M.gguf"}), "m-Q4_K_M.gguf");
}

TEST(FileChoiceTest, SaysThatThereIsNoModel) {
  EXPECT_THAT(Choose({"README.md", "data.csv"}),
              IsError(absl::StatusCode::kNotFound, "test/tiny"));
  // The check of the folder names the model that an adapter changes.
  EXPECT_THAT(
      Paths(
          Choose({"adapter_config.json", "adapter_model.safetensors"})->first),
      ElementsAre("adapter_config.json"));
}

}  // namespace
}  // namespace trivium
