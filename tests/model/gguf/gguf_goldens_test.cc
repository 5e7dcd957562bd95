// The goldens' GGUF files (make_gguf_goldens.py) have the same tensors under
// the same names as the folders they were made from.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/gguf/gguf_model.h"

namespace trivium {
namespace {

std::vector<float> Values(const TensorView& tensor) {
  std::vector<float> values(tensor.elements());
  CopyToF32(tensor, 0, values);
  return values;
}

void ExpectSame(const std::string& folder) {
  const auto expected = Weights::Open(folder);
  ASSERT_TRUE(expected.ok()) << expected.status();
  Problems problems;
  const GgufModel model = ReadGgufModel(folder + "/model.gguf", &problems);
  EXPECT_EQ(problems, Problems());
  ASSERT_NE(model.weights, nullptr);
  EXPECT_EQ(model.weights->Names(), (*expected)->Names());
  for (const std::string_view name : (*expected)->Names()) {
    const TensorView* const tensor = model.weights->Find(name);
    ASSERT_NE(tensor, nullptr) << name;
    const TensorView& original = *(*expected)->Find(name);
    EXPECT_EQ(tensor->shape, original.shape) << name;
    const std::vector<float> found = Values(*tensor);
    const std::vector<float> wanted = Values(original);
    ASSERT_EQ(found.size(), wanted.size()) << name;
    // A norm stored as 1 + w has lost the digits that do not fit beside the 1.
    const float tolerance =
        model.config["model_type"] == "gemma3_text" ? 2e-7f : 0;
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], wanted[i], tolerance) << name << " " << i;
    }
  }
  // The keys of the model's shape, which both have.
  const auto config = ReadJsonFile(folder + "/config.json");
  ASSERT_TRUE(config.ok()) << config.status();
  for (const auto& [key, value] : model.config.items()) {
    const auto original = config->find(key);
    if (original == config->end() || original->is_null() ||
        !value.is_number()) {
      continue;
    }
    EXPECT_NEAR(value.get<double>(), original->get<double>(),
                1e-6 * std::abs(original->get<double>()))
        << key;
  }
}

TEST(GgufGoldensTest, FilesHaveTheTensorsOfTheirFolders) {
  const char* variable = std::getenv("TRIVIUM_GOLDENS");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           variable ? variable : "tests/golden")) {
    if (!std::filesystem::exists(entry.path() / "model.gguf")) continue;
    // GPT-OSS's experts have other names and orders in a file than in a folder;
    // golden_test compares the results computed with them.
    if (entry.path().filename() == "gpt_oss.lm") continue;
    SCOPED_TRACE(entry.path().string());
    ++files;
    ExpectSame(entry.path().string());
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace trivium
