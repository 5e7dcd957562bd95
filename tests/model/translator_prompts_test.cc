#include "model/translator_prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(NamesOfModelTest, AreThoseOfTheFolderAndOfConfigJson) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() + "/Hunyuan-MT-7B");
  const std::string path = folder.path() + "/Hunyuan-MT-7B/";
  EXPECT_THAT(NamesOfModel(path, {{"_name_or_path", "tencent/HY-MT1.5-7B"}}),
              testing::AllOf(Contains("Hunyuan-MT-7B"), Contains("HY-MT1.5-7B"),
                             Not(Contains(HasSubstr("/")))));
  fs::create_directory_symlink("Hunyuan-MT-7B", folder.path() + "/link");
  EXPECT_THAT(NamesOfModel(folder.path() + "/link", nlohmann::json::object()),
              testing::AllOf(Contains("link"), Contains("Hunyuan-MT-7B")));
}

// The hub's cache has a link to a blob, which is named by its hash.
TEST(NamesOfModelTest, AreThoseOfAHubsGgufFile) {
  const TemporaryFolder folder;
  const fs::path repository = folder.path() + "/models--x--EuroLLM-9B-GGUF";
  fs::create_directories(repository / "blobs");
  folder.Write("models--x--EuroLLM-9B-GGUF/blobs/1234", "GGUF");
  const fs::path snapshot = repository / "snapshots" / "abcd";
  fs::create_directories(snapshot / "q4");
  fs::create_symlink("../../../blobs/1234", snapshot / "q4" / "it.gguf");
  EXPECT_THAT(NamesOfModel(snapshot / "q4" / "it.gguf", nlohmann::json()),
              testing::AllOf(Contains("it.gguf"),
                             Contains("models--x--EuroLLM-9B-GGUF")));
  EXPECT_THAT(NamesOfModel(snapshot, nlohmann::json()),
              Contains("models--x--EuroLLM-9B-GGUF"));
}

}  // namespace
}  // namespace trivium
