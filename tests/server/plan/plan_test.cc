#include "server/plan/plan.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const PlanOptions kShort = {.time = absl::Milliseconds(50)};

Options Of(const std::vector<std::string>& models) {
  Options options;
  options.precision = Precision::kF32;
  options.kv_cache_bytes = 1 << 20;
  for (const std::string& model : models) {
    options.models.push_back(ParseModelSpec(model).value());
  }
  return options;
}

TEST(PlanTest, ListsWaysToUseCores) {
  EXPECT_THAT(WaysToUse(1, {1, 1}), ElementsAre(Workers{1, 1}));
  EXPECT_THAT(WaysToUse(2, {2, 1}),
              ElementsAre(Workers{2, 1}, Workers{1, 2}, Workers{1, 1}));
  EXPECT_THAT(WaysToUse(6, {2, 3}),
              ElementsAre(Workers{2, 3}, Workers{6, 1}, Workers{3, 2},
                          Workers{1, 6}, Workers{4, 1}, Workers{1, 4},
                          Workers{2, 1}, Workers{1, 2}, Workers{1, 1}));
}

TEST(PlanTest, MeasuresEachDesign) {
  Options options = Of(
      {"encoder=tests/golden/bert.base", "tags=tests/golden/bert.tag",
       "masks=tests/golden/bert.fill_mask",
       "pair=tests/golden/marian.translate", "decoder=tests/golden/gpt2.lm"});
  options.workers = 2;
  options.worker_threads = 1;
  const absl::StatusOr<Plan> plan = MakePlan(options, kShort);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->workers, (Workers{2, 1, 1 << 20}));
  ASSERT_THAT(plan->models, SizeIs(5));
  for (const Plan::ModelPlan& model : plan->models) {
    SCOPED_TRACE(model.spec.name);
    EXPECT_THAT(model.not_measured, IsEmpty());
    ASSERT_TRUE(model.loaded);
    EXPECT_EQ(model.weight_bytes, model.loaded->weight_bytes);
    const bool decodes = model.loaded->design != Design::kEncoder;
    EXPECT_EQ(model.kv_cache_bytes, decodes ? 2 << 20 : 0);
    EXPECT_EQ(model.folder.longest_kv_bytes > 0, decodes);
    EXPECT_TRUE(model.scratch_bytes);
    ASSERT_THAT(model.loads, Not(IsEmpty()));
    int served = 0;
    for (const Plan::LoadPlan& load : model.loads) {
      EXPECT_EQ(load.load.new_tokens > 0, decodes);
      for (const Plan::Rate& rate : load.rates) {
        if (!rate.measured) continue;  // there was no time left
        if (rate.workers == plan->workers) ++served;
        EXPECT_GT(rate.measured->requests_per_second, 0);
        EXPECT_GT(rate.measured->alone, absl::ZeroDuration());
        EXPECT_GT(rate.measured->busy, absl::ZeroDuration());
        EXPECT_EQ(rate.measured->first_token > absl::ZeroDuration(), decodes);
        EXPECT_LE(rate.measured->first_token, rate.measured->alone);
        EXPECT_GE(rate.measured->at_once,
                  rate.workers.count * rate.workers.threads);
      }
    }
    EXPECT_EQ(served, static_cast<int>(model.loads.size()));
  }
  const std::string text = DescribePlan(*plan);
  for (const char* words :
       {"--workers 2 --worker-threads 1", "weights, as loaded", "* 2 x 1",
        "keys and values at most", "Plan for some 70 %"}) {
    EXPECT_THAT(text, HasSubstr(words));
  }
  const nlohmann::json json = PlanToJson(*plan);
  EXPECT_EQ(json["workers"], 2);
  EXPECT_EQ(json["models"][4]["name"], "decoder");
  EXPECT_EQ(json["total_bytes"], plan->total_bytes());
  EXPECT_TRUE(json["models"][0]["memory"]["weights_loaded"]);
  for (const nlohmann::json& rate : json["models"][3]["loads"][0]["measured"]) {
    EXPECT_EQ(rate["served"], rate["workers"] == 2);
    EXPECT_TRUE(rate.contains("requests_per_second") ||
                rate.contains("not_measured"));
  }
}

// Rates that are not measured are not told.
TEST(PlanTest, ModelsThatDoNotFitMemoryHaveNoRates) {
  Options options = Of({"tests/golden/marian.translate"});
  options.memory_limit_bytes = 1000;
  const absl::StatusOr<Plan> plan = MakePlan(options, kShort);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE(plan->models[0].loaded);
  EXPECT_GT(plan->models[0].weight_bytes, 1000);
  EXPECT_THAT(plan->models[0].loads, IsEmpty());
  const std::string text = DescribePlan(*plan);
  EXPECT_THAT(text, HasSubstr("rate: not measured: weights of about"));
  EXPECT_THAT(text, HasSubstr("weights, by their shapes"));
  EXPECT_THAT(text, HasSubstr("more than there is"));
  EXPECT_THAT(text, Not(HasSubstr("requests/s")));
  EXPECT_THAT(PlanToJson(*plan)["models"][0]["not_measured"],
              HasSubstr("do not fit"));
}

TEST(PlanTest, AConfigurationAloneGivesTheMemory) {
  const TemporaryFolder folder;
  folder.Write("config.json",
               ReadWholeFile("tests/golden/gpt2.lm/config.json"));
  const absl::StatusOr<Plan> plan =
      MakePlan(Of({"later=" + folder.path()}), kShort);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GT(plan->models[0].weight_bytes, 0);
  EXPECT_THAT(DescribePlan(*plan), HasSubstr("the weights of 'later' are not"));
}

// 131,072 tokens of 2 x 2 x 64 numbers of 4 bytes are 128 MiB a layer.
TEST(PlanTest, SizesTheCacheForALongestSequenceIfMemoryAllows) {
  const TemporaryFolder folder;
  folder.Write("config.json", R"({
    "model_type": "llama", "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 4, "hidden_size": 128, "intermediate_size": 128,
    "num_attention_heads": 2, "vocab_size": 100,
    "max_position_embeddings": 131072})");
  Options options = Of({"long=" + folder.path()});
  options.kv_cache_bytes.reset();
  options.workers = 1;
  for (const auto& [memory, expected] :
       {std::pair(int64_t{8} << 30, int64_t{512} << 20),
        {int64_t{1} << 30, int64_t{256} << 20}}) {
    options.memory_limit_bytes = memory;
    const absl::StatusOr<Plan> plan = MakePlan(options, kShort);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const Plan::ModelPlan& model = plan->models[0];
    EXPECT_EQ(model.folder.longest_kv_bytes, int64_t{512} << 20);
    EXPECT_EQ(plan->workers.kv_cache_bytes, expected);
    EXPECT_EQ(model.kv_cache_bytes, expected);
  }
}

TEST(PlanTest, RefusesWhatAServerRefuses) {
  Options options = Of({"tests/golden/bert.base"});
  options.prefix_cache_bytes = 2 << 20;
  EXPECT_THAT(
      MakePlan(options, kShort),
      IsError(absl::StatusCode::kInvalidArgument, "--prefix-cache-bytes"));
  EXPECT_THAT(
      MakePlan(Of({"nowhere=/no/such"}), kShort),
      IsError(absl::StatusCode::kInvalidArgument, "'nowhere': /no/such"));
}

}  // namespace
}  // namespace trivium
