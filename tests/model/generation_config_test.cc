#include "model/generation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Read {
  GenerationConfig config;
  Problems problems;
};

// Reads `generation` over `config` for a model with 100 tokens and 64
// positions.
Read ReadBoth(const json& generation, const json& config) {
  Read read;
  ConfigReader reader(
      {{"generation_config.json", &generation}, {"config.json", &config}},
      &read.problems);
  read.config = ReadGenerationConfig(&reader, {100, 64, true});
  return read;
}

const json kStart = {{"decoder_start_token_id", 99}};

TEST(GenerationConfigTest, DefaultsEqualTransformers) {
  const Read read = ReadBoth(json::object(), kStart);
  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_THAT(read.config.decoder_prefix, ElementsAre(99));
  const DecodingOptions& options = read.config.options;
  EXPECT_EQ(options.beam_size, 1);
  EXPECT_FALSE(options.sample);
  EXPECT_EQ(options.length_penalty, 1.0f);
  EXPECT_EQ(options.early_stopping, EarlyStopping::kHeuristic);
  EXPECT_EQ(options.top_k, 50);
  EXPECT_EQ(options.top_p, 1.0f);
  EXPECT_EQ(options.repetition_penalty, 1.0f);
  EXPECT_EQ(options.no_repeat_ngram_size, 0);
  EXPECT_FALSE(options.renormalize_logits);
  EXPECT_FALSE(options.forced_first_id.has_value());
  EXPECT_FALSE(options.forced_last_id.has_value());
  EXPECT_THAT(options.end_ids, IsEmpty());
  // The positions that remain after the start token.
  EXPECT_EQ(options.max_new_tokens, 63);
  EXPECT_EQ(options.min_new_tokens, 0);
}

TEST(GenerationConfigTest, ReadsEveryKey) {
  const Read read =
      ReadBoth(json::parse(R"({"decoder_start_token_id": 5, "num_beams": 6,
        "length_penalty": 0.6, "early_stopping": true, "eos_token_id": [0, 2],
        "bad_words_ids": [[99], [3, 4]], "no_repeat_ngram_size": 3,
        "repetition_penalty": 1.3, "forced_bos_token_id": 7,
        "forced_eos_token_id": 0, "max_length": 40, "min_length": 4,
        "renormalize_logits": true, "temperature": 0.5, "top_k": 0,
        "top_p": 0.9, "min_p": 0.1, "typical_p": 0.7, "do_sample": false})"),
               json::object());
  EXPECT_THAT(read.problems, IsEmpty());
  const DecodingOptions& options = read.config.options;
  EXPECT_EQ(options.beam_size, 6);
  EXPECT_EQ(options.length_penalty, 0.6f);
  EXPECT_EQ(options.early_stopping, EarlyStopping::kAtOnce);
  EXPECT_THAT(options.end_ids, ElementsAre(0, 2));
  EXPECT_THAT(options.banned_sequences,
              ElementsAre(ElementsAre(99), ElementsAre(3, 4)));
  EXPECT_EQ(options.no_repeat_ngram_size, 3);
  EXPECT_EQ(options.repetition_penalty, 1.3f);
  EXPECT_EQ(options.forced_first_id, 7);
  EXPECT_EQ(options.forced_last_id, 0);
  // Transformers' lengths include the start token.
  EXPECT_EQ(options.max_new_tokens, 39);
  EXPECT_EQ(options.min_new_tokens, 3);
  EXPECT_TRUE(options.renormalize_logits);
  EXPECT_EQ(options.temperature, 0.5f);
  EXPECT_EQ(options.top_k, 0);
  EXPECT_EQ(options.top_p, 0.9f);
  EXPECT_EQ(options.min_p, 0.1f);
  EXPECT_EQ(options.typical_p, 0.7f);
}

TEST(GenerationConfigTest, ReadsRulesOnTheSourceAndSuppressedTokens) {
  const Read read = ReadBoth(json::parse(R"({"encoder_no_repeat_ngram_size": 3,
        "encoder_repetition_penalty": 1.5, "suppress_tokens": [1, 2],
        "begin_suppress_tokens": [7]})"),
                             kStart);
  EXPECT_THAT(read.problems, IsEmpty());
  const DecodingOptions& options = read.config.options;
  EXPECT_EQ(options.source_ngram_size, 3);
  EXPECT_EQ(options.source_bonus, 1.5f);
  EXPECT_TRUE(options.looks_at_source());
  EXPECT_THAT(options.suppressed_ids, ElementsAre(1, 2));
  EXPECT_THAT(options.first_suppressed_ids, ElementsAre(7));
}

TEST(GenerationConfigTest, ReadsTheGrowthOfEndTokens) {
  constexpr char kKey[] = "exponential_decay_length_penalty";
  const Read read = ReadBoth({{kKey, {15, 1.6}}}, kStart);
  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_EQ(read.config.options.end_growth_start, 15);
  EXPECT_EQ(read.config.options.end_growth, 1.6f);
  for (const char* text : {"1.6", "[15]", "[15, 1.6, 1]", "[-1, 1.6]",
                           "[1.5, 1.6]", "[15, 0]", "[15, \"big\"]"}) {
    EXPECT_THAT(ReadBoth({{kKey, json::parse(text)}}, kStart).problems,
                ElementsAre(ErrorAt(kKey)))
        << text;
  }
}

TEST(GenerationConfigTest, RefusesUnsupportedSearchesByName) {
  EXPECT_THAT(ReadBoth(json::parse(R"({"num_beam_groups": 1, "top_h": null,
                         "diversity_penalty": 0.0, "guidance_scale": 1,
                         "sequence_bias": null, "penalty_alpha": 0})"),
                       kStart)
                  .problems,
              IsEmpty());
  const auto problems =
      ReadBoth(json::parse(R"({"num_beam_groups": 2, "diversity_penalty": 0.5,
                 "force_words_ids": [[1]]})"),
               kStart)
          .problems;
  EXPECT_THAT(problems, ElementsAre(ErrorAt("num_beam_groups"),
                                    ErrorAt("diversity_penalty"),
                                    ErrorAt("force_words_ids")));
}

TEST(GenerationConfigTest, TasksOverrideTheFiles) {
  const json config = json::parse(R"({"num_beams": 2, "prefix": " ",
      "decoder_start_token_id": 0, "task_specific_params": {
        "summarization": {"prefix": "summarize: ", "num_beams": 4,
          "early_stopping": true, "min_length": 5, "max_length": 20,
          "length_penalty": 2.0, "no_repeat_ngram_size": 3},
        "broken": {"num_beams": 99}, "none": null, "plain": {}}})");
  const json generation = json::parse(R"({"num_beams": 3, "top_k": -1})");
  Problems problems;
  const std::vector<Task> tasks = ReadTasks(
      config,
      {{"generation_config.json", &generation}, {"config.json", &config}},
      {100, 64, true}, &problems);
  ASSERT_THAT(tasks, SizeIs(3));
  EXPECT_EQ(tasks[1].name, "plain");
  EXPECT_EQ(tasks[1].prefix, " ");
  EXPECT_EQ(tasks[1].decoding.beam_size, 3);
  EXPECT_EQ(tasks[2].name, "summarization");
  EXPECT_EQ(tasks[2].prefix, "summarize: ");
  EXPECT_EQ(tasks[2].decoding.beam_size, 4);
  EXPECT_EQ(tasks[2].decoding.early_stopping, EarlyStopping::kAtOnce);
  EXPECT_EQ(tasks[2].decoding.min_new_tokens, 4);
  EXPECT_EQ(tasks[2].decoding.max_new_tokens, 19);
  EXPECT_EQ(tasks[2].decoding.length_penalty, 2);
  EXPECT_EQ(tasks[2].decoding.no_repeat_ngram_size, 3);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("task_specific_params.broken")));
}

TEST(GenerationConfigTest, TheFirstFileWinsAndNullIsUnset) {
  const Read read = ReadBoth(
      json::parse(R"({"num_beams": null, "eos_token_id": 1,
                      "early_stopping": "never"})"),
      json::parse(R"({"num_beams": 4, "eos_token_id": 2, "bos_token_id": 3,
                      "decoder_start_token_id": null, "max_length": 500})"));
  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_EQ(read.config.options.beam_size, 4);
  EXPECT_THAT(read.config.options.end_ids, ElementsAre(1));
  EXPECT_EQ(read.config.options.early_stopping, EarlyStopping::kNever);
  EXPECT_THAT(read.config.decoder_prefix, ElementsAre(3));
  EXPECT_EQ(read.config.options.max_new_tokens, 63);
}

TEST(GenerationConfigTest, NamesUnusableValues) {
  const auto problem = [](const char* key, const json& value) {
    json config = kStart;
    config[key] = value;
    const Read read = ReadBoth(json::object(), config);
    return read.problems.size() == 1 ? read.problems[0]
                                     : std::string("not one problem");
  };
  EXPECT_THAT(problem("num_beams", 17), ErrorAt("num_beams"));
  EXPECT_THAT(problem("num_beams", 2.5), ErrorAt("num_beams"));
  EXPECT_THAT(problem("temperature", 0), ErrorAt("temperature"));
  EXPECT_THAT(problem("top_p", 1.5), ErrorAt("top_p"));
  EXPECT_THAT(problem("early_stopping", "soon"), ErrorAt("early_stopping"));
  EXPECT_THAT(problem("eos_token_id", 100), ErrorAt("eos_token_id"));
  EXPECT_THAT(problem("eos_token_id", {1, -1}), ErrorAt("eos_token_id"));
  EXPECT_THAT(problem("bad_words_ids", {1}), ErrorAt("bad_words_ids"));
  EXPECT_THAT(problem("bad_words_ids", {{1}, {200}}), ErrorAt("bad_words_ids"));
  EXPECT_THAT(problem("forced_eos_token_id", {1, 2}),
              ErrorAt("forced_eos_token_id"));
  EXPECT_THAT(problem("length_penalty", "big"), ErrorAt("length_penalty"));
  EXPECT_THAT(problem("decoder_start_token_id", 100),
              ErrorAt("decoder_start_token_id"));

  json both = kStart;
  both["do_sample"] = true;
  both["num_beams"] = 4;
  EXPECT_THAT(ReadBoth(both, json::object()).problems,
              ElementsAre(ErrorAt("do_sample")));
  EXPECT_THAT(ReadBoth(json::object(), json::object()).problems,
              ElementsAre(ErrorAt("decoder_start_token_id")));
}

// A prompt replaces the start tokens, and limits that include the prompt do not
// limit new tokens.
TEST(GenerationConfigTest, ADecoderOnlyModelNeedsNoStartToken) {
  const auto read = [](const json& generation) {
    Read read;
    ConfigReader reader({{"generation_config.json", &generation}},
                        &read.problems);
    read.config = ReadGenerationConfig(&reader, {100, 64, false});
    return read;
  };
  const Read lengths = read({{"max_length", 20}, {"bos_token_id", 1}});
  EXPECT_THAT(lengths.problems, IsEmpty());
  EXPECT_THAT(lengths.config.decoder_prefix, IsEmpty());
  EXPECT_EQ(lengths.config.options.max_new_tokens, 64);
  const Read tokens = read({{"max_new_tokens", 40}, {"min_new_tokens", 3}});
  EXPECT_EQ(tokens.config.options.max_new_tokens, 40);
  EXPECT_EQ(tokens.config.options.min_new_tokens, 3);
  EXPECT_THAT(read({{"min_length", 0}}).problems, IsEmpty());
  EXPECT_THAT(read({{"min_length", 5}}).problems,
              ElementsAre(ErrorAt("min_length")));
}

}  // namespace
}  // namespace trivium
