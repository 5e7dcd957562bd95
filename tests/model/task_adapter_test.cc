// Folders with an adapter for each of several tasks (jina-embeddings-v3): which
// weights a model gets, and which prompt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "model/folder_report.h"
#include "model/model.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

constexpr char kGolden[] = "tests/golden/xlm-roberta.task";
const std::vector<int32_t> kIds = {5, 17, 42, 9};

class TaskAdapterTest : public ::testing::Test {
 protected:
  TaskAdapterTest() {
    std::filesystem::copy(std::string(kGolden) + "/model.safetensors",
                          folder_.path() + "/model.safetensors");
    config_ = ReadJsonFile(std::string(kGolden) + "/config.json").value();
    config_.erase("lora_task");
    folder_.Write("config.json", config_.dump());
  }

  absl::StatusOr<std::unique_ptr<Model>> Load(const std::string& task) const {
    LoadOptions options;
    options.precision = Precision::kF32;
    options.task = task;
    return Model::Load(folder_.path(), options);
  }

  static std::vector<float> Encode(const Model& model, int route = 0) {
    auto engine = model.NewEngine({.kv_cache_bytes = int64_t{1} << 20});
    EXPECT_TRUE(engine.ok()) << engine.status();
    const auto encoded =
        EncodeAlone(engine->get(), EncoderInput(kIds, {}, route));
    EXPECT_TRUE(encoded.ok()) << encoded.status();
    return encoded->states;
  }

  TemporaryFolder folder_;
  nlohmann::json config_;
};

TEST_F(TaskAdapterTest, ATaskHasWeightsAndAPromptOfItsOwn) {
  const auto plain = Load("");
  const auto query = Load("retrieval.query");
  const auto separation = Load("separation");
  for (const auto* model : {&plain, &query, &separation}) {
    ASSERT_TRUE(model->ok()) << model->status();
  }
  const std::vector<float> states = Encode(**plain);
  EXPECT_NE(Encode(**query), states);
  EXPECT_NE(Encode(**separation), states);
  EXPECT_NE(Encode(**separation), Encode(**query));
  EXPECT_EQ((*plain)->sentence_encoder().default_prompt(), "");
  EXPECT_EQ((*query)->sentence_encoder().default_prompt(), "Question: ");
  EXPECT_EQ((*separation)->sentence_encoder().default_prompt(), "");

  // The golden's config.json names the task itself.
  LoadOptions options;
  options.precision = Precision::kF32;
  const auto golden = Model::Load(kGolden, options);
  ASSERT_TRUE(golden.ok()) << golden.status();
  EXPECT_EQ(Encode(**separation), Encode(**golden));
}

TEST_F(TaskAdapterTest, ATaskOfBothSidesIsRoutedByKind) {
  const auto both = Load("retrieval");
  ASSERT_TRUE(both.ok()) << both.status();
  for (const auto& [kind, task, prompt] :
       {std::tuple(TextKind::kQuery, "retrieval.query", "Question: "),
        {TextKind::kDocument, "retrieval.passage", "Text: "}}) {
    const TextReader reader = (*both)->ReaderOf(kind);
    EXPECT_EQ(reader.model->sentence_encoder().default_prompt(), prompt);
    const auto alone = Load(task);
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_EQ(Encode(**both, reader.route), Encode(**alone));
  }
  LoadOptions options;
  options.task = "retrieval.query";
  const FolderReport one = ReportFolder(folder_.path(), options);
  options.task = "retrieval";
  const FolderReport two = ReportFolder(folder_.path(), options);
  EXPECT_THAT(two.problems, testing::IsEmpty());
  EXPECT_EQ(two.weight_bytes, 2 * one.weight_bytes);
  EXPECT_THAT(Model::Check(folder_.path(), options), testing::IsEmpty());
}

TEST_F(TaskAdapterTest, RefusesATaskThatTheFolderLacks) {
  EXPECT_THAT(Load("classification"),
              IsError(absl::StatusCode::kInvalidArgument, "lora_adaptations"));
  config_.erase("lora_adaptations");
  folder_.Write("config.json", config_.dump());
  EXPECT_THAT(Load("separation"),
              IsError(absl::StatusCode::kInvalidArgument, "lora_adaptations"));
}

}  // namespace
}  // namespace trivium
