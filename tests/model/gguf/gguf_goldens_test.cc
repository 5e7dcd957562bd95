// The goldens' GGUF files (make_gguf_goldens.py, make_gguf_twins.py) have the
// same tensors under the same names as the folders they were made from.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
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

// Folders with tensors of other names or in another order than those that their
// file becomes; golden_test compares the results computed with them.
constexpr std::string_view kOtherNames[] = {
    "distilbert.base",    "exaone.lm",        "falcon_h1.scaled",
    "gpt_oss.lm",         "qwen2_5_vl.text",  "qwen3_vl_moe.text",
    "jina_bert.base",     "jina_bert.code",   "jina_embeddings_v3.base",
    "nomic_bert.no_bias", "qwen3_next.lm",    "qwen3_vl.wrapped",
    "roberta.base",       "roberta.classify", "t5.encoder",
    "xlm-roberta.base",
};
// Values of folders that the converter does not write into the file.
constexpr std::pair<std::string_view, std::string_view> kOtherValues[] = {
    {"falcon.groups", "max_position_embeddings"},
    {"nemotron_h.experts", "intermediate_size"},
};

// The tensors of a class without a head lack the first part of their names.
const TensorView* FindIn(const Weights& weights, std::string_view name) {
  const std::string_view kPrefix = "model.";
  const TensorView* const found = weights.Find(name);
  return found == nullptr && name.starts_with(kPrefix)
             ? weights.Find(name.substr(kPrefix.size()))
             : found;
}

void ExpectSame(const std::string& folder) {
  const auto expected = Weights::Open(folder);
  ASSERT_TRUE(expected.ok()) << expected.status();
  Problems problems;
  const GgufModel model = ReadGgufModel(folder + "/model.gguf", &problems);
  EXPECT_EQ(problems, Problems());
  ASSERT_NE(model.weights, nullptr);
  size_t without = 0;  // BERT's pooler is left out
  for (const std::string_view name : (*expected)->Names()) {
    without += name.starts_with("pooler.");
  }
  EXPECT_EQ(model.weights->Names().size(),
            (*expected)->Names().size() - without);
  for (const std::string_view name : model.weights->Names()) {
    const TensorView* const tensor = model.weights->Find(name);
    ASSERT_NE(FindIn(**expected, name), nullptr) << name;
    const TensorView& original = *FindIn(**expected, name);
    EXPECT_EQ(tensor->shape, original.shape) << name;
    const std::vector<float> found = Values(*tensor);
    const std::vector<float> wanted = Values(original);
    ASSERT_EQ(found.size(), wanted.size()) << name;
    // A norm stored as 1 + w has lost the digits that do not fit beside the 1,
    // and logarithms are rounded.
    const float tolerance =
        name.ends_with("norm.weight") || name.ends_with("A_log") ? 2.4e-7f : 0;
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], wanted[i], tolerance) << name << " " << i;
    }
  }
  // The keys of the model's shape, which both have.
  const auto config = ReadJsonFile(folder + "/config.json");
  ASSERT_TRUE(config.ok()) << config.status();
  for (const auto& [key, value] : model.config.items()) {
    const auto original = config->find(key);
    // Layers with a state see texts of any length, so the converter writes
    // 2^20.
    if (original == config->end() || original->is_null() ||
        !value.is_number() || value == 1 << 20) {
      continue;
    }
    const bool other = std::any_of(
        std::begin(kOtherValues), std::end(kOtherValues), [&](const auto& one) {
          return folder.ends_with(one.first) && key == one.second;
        });
    if (other) continue;
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
    const std::string name = entry.path().filename();
    if (std::find(std::begin(kOtherNames), std::end(kOtherNames), name) !=
        std::end(kOtherNames)) {
      continue;
    }
    SCOPED_TRACE(entry.path().string());
    ++files;
    ExpectSame(entry.path().string());
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace trivium
