// Searches under the rules of generation_config.json against Transformers':
// the folders of golden cases that have a generation_golden.json
// (make_generation_goldens.py), in f32.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "model/generation_config.h"
#include "model/model.h"
#include "tests/support/generate.h"
#include "tests/support/golden.h"

namespace trivium {
namespace {

using nlohmann::json;

void ExpectCase(const json& golden, const json& generation, const Model& model,
                Engine* engine) {
  Problems problems;
  ConfigReader reader({{"generation_config.json", &generation.at("config")}},
                      &problems);
  const GenerationConfig config = ReadGenerationConfig(
      &reader, {model.info().vocabulary, model.info().max_target_tokens, true});
  ASSERT_TRUE(problems.empty()) << problems[0];
  for (size_t i = 0; i < golden.at("inputs").size(); ++i) {
    SCOPED_TRACE(fmt::format("input {}", i));
    EncoderInput source;
    source.ids = golden.at("inputs")[i].get<std::vector<int32_t>>();
    DecodingOptions options = config.options;
    options.source_ids = source.ids;
    const auto hypotheses =
        GenerateAlone(engine, source, config.decoder_prefix, options);
    ASSERT_TRUE(hypotheses.ok()) << hypotheses.status();
    const json& result = generation.at("results")[i];
    GoldenSearch::Hypothesis expected;
    expected.ids = result.at("ids").get<std::vector<int32_t>>();
    if (!result.at("score").is_null()) {
      expected.score = result.at("score").get<float>();
    }
    EXPECT_EQ(CompareHypotheses({expected}, *hypotheses), absl::OkStatus());
  }
}

TEST(GenerationGoldenTest, SearchesAsTransformersDoes) {
  int cases = 0;
  for (const std::string& folder : GoldenFolders()) {
    const std::string path = folder + "/generation_golden.json";
    if (!std::filesystem::exists(path)) continue;
    const absl::StatusOr<json> golden = ReadJsonFile(path);
    ASSERT_TRUE(golden.ok()) << golden.status();
    LoadOptions options;
    options.precision = Precision::kF32;
    const auto model = Model::Load(folder, options);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto engine = (*model)->NewEngine({.kv_cache_bytes = 16 << 20});
    ASSERT_TRUE(engine.ok()) << engine.status();
    for (const json& generation : golden->at("cases")) {
      SCOPED_TRACE(folder + " " + generation.at("config").dump());
      ExpectCase(*golden, generation, **model, engine->get());
      ++cases;
    }
  }
  // Another folder of cases than the project's may have none.
  if (cases == 0) GTEST_SKIP() << "no generation_golden.json";
}

}  // namespace
}  // namespace trivium
