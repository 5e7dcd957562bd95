// Compares texts with their languages with Transformers' tokenizers.
// testdata/languages has a folder for each way of telling a model its
// languages; make_language_cases.py writes cases.json.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "model/languages.h"
#include "model/model.h"
#include "model/tokenizer/tokenizer_factory.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr char kFolder[] = "tests/model/testdata/languages/";

json ReadOrNull(const std::string& path) {
  std::ifstream file(path);
  return file ? json::parse(file) : json();
}

std::optional<std::string_view> Name(const json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get_ref<const std::string&>();
}

TEST(LanguagesGoldenTest, TokenizesTextsLikeTransformers) {
  const json cases = ReadOrNull(std::string(kFolder) + "cases.json");
  ASSERT_EQ(cases["folders"].size(), 10u);
  const std::vector<std::string> texts = cases["texts"];
  // What the folder tells the decoder.
  const std::map<std::string, bool> starts = {{"mbart", true}};
  for (const auto& [name, runs] : cases["folders"].items()) {
    SCOPED_TRACE(name);
    const std::string folder = kFolder + name;
    const auto tokenizer = LoadTokenizer(folder);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    const json config = ReadOrNull(folder + "/config.json");
    const json tokenizer_config = ReadOrNull(folder + "/tokenizer_config.json");
    const std::string family = config["model_type"];
    const LanguageTable table({.tokenizer = tokenizer->get(),
                               .family = family,
                               .config = &config,
                               .tokenizer_config = &tokenizer_config});
    for (const json& run : runs) {
      const auto direction =
          table.Resolve(Name(run["source"]), Name(run["target"]));
      ASSERT_TRUE(direction.ok()) << direction.status();
      const auto told = starts.contains(name) ? direction->start_id
                                              : direction->forced_first_id;
      EXPECT_EQ(told.has_value(), !run["target_id"].is_null());
      if (told) {
        EXPECT_EQ(*told, run["target_id"]);
      }
      for (size_t i = 0; i < texts.size(); ++i) {
        SCOPED_TRACE(texts[i]);
        const EncodeOptions options = {
            .prefix_ids = direction->prefix_ids,
            .suffix_ids = direction->suffix_ids,
            .add_special_tokens = direction->add_special_tokens};
        EXPECT_EQ((*tokenizer)
                      ->Encode(direction->text_prefix + texts[i], options)
                      .value()
                      .ids,
                  run["ids"][i].get<std::vector<int32_t>>());
      }
    }
  }
}

// Searches greedily and with four beams, with models that know no language
// (random weights, make_language_models.py).
TEST(LanguagesGoldenTest, ModelsTranslateLikeTransformers) {
  const json cases = ReadOrNull(std::string(kFolder) + "cases.json");
  int models = 0;
  for (const auto& [name, runs] : cases["folders"].items()) {
    if (!runs[0].contains("generated")) continue;
    SCOPED_TRACE(name);
    ++models;
    LoadOptions load;
    load.precision = Precision::kF32;
    const auto model = Model::Load(kFolder + name, load);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto engine = (*model)->NewEngine({.kv_cache_bytes = 16 << 20});
    ASSERT_TRUE(engine.ok()) << engine.status();
    for (const json& run : runs) {
      const auto direction =
          (*model)->ResolveDirection(Name(run["source"]), Name(run["target"]));
      ASSERT_TRUE(direction.ok()) << direction.status();
      std::vector<int32_t> prefix = (*model)->decoder_prefix();
      if (direction->start_id) prefix = {*direction->start_id};
      for (size_t i = 0; i < run["generated"].size(); ++i) {
        for (const int beams : {1, 4}) {
          SCOPED_TRACE(fmt::format("text {}, {} beams", i, beams));
          EncoderInput source;
          source.ids = run["ids"][i].get<std::vector<int32_t>>();
          DecodingOptions options = (*model)->decoding_defaults();
          options.beam_size = beams;
          options.max_new_tokens = 12;
          options.forced_first_id = direction->forced_first_id;
          const auto hypotheses =
              GenerateAlone(engine->get(), source, prefix, options);
          ASSERT_TRUE(hypotheses.ok()) << hypotheses.status();
          EXPECT_EQ(hypotheses->front().ids,
                    run["generated"][i][beams > 1].get<std::vector<int32_t>>());
        }
      }
    }
  }
  EXPECT_EQ(models, 5);
}

}  // namespace
}  // namespace trivium
