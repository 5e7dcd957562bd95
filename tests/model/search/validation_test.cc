#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/search/decoding.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

TEST(ValidationTest, AcceptsTheDefaults) {
  EXPECT_TRUE(ValidateDecodingOptions(DecodingOptions()).ok());
}

TEST(ValidationTest, AcceptsTheLargestLengthPenalty) {
  DecodingOptions options;
  for (const float penalty : {-10.0f, 10.0f}) {
    options.length_penalty = penalty;
    EXPECT_TRUE(ValidateDecodingOptions(options).ok());
  }
}

TEST(ValidationTest, NamesEachBadOption) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  struct Case {
    std::string name;
    std::function<void(DecodingOptions*)> change;
  };
  using O = DecodingOptions;
  const std::vector<Case> cases = {
      {"beam_size", [](O* o) { o->beam_size = 0; }},
      {"beam_size", [](O* o) { o->beam_size = 17; }},
      {"beam_size", [](O* o) { o->beam_size = -1; }},
      {"beam_size", [](O* o) { o->beam_size = 4, o->sample = true; }},
      {"hypotheses", [](O* o) { o->hypotheses = 0; }},
      {"hypotheses", [](O* o) { o->hypotheses = 2; }},
      {"hypotheses", [](O* o) { o->sample = true, o->hypotheses = 17; }},
      {"length_penalty", [=](O* o) { o->length_penalty = nan; }},
      {"length_penalty", [=](O* o) { o->length_penalty = infinity; }},
      {"length_penalty", [](O* o) { o->length_penalty = 1e9f; }},
      {"max_new_tokens", [](O* o) { o->max_new_tokens = 0; }},
      {"min_new_tokens", [](O* o) { o->min_new_tokens = 21; }},
      {"temperature", [](O* o) { o->temperature = 0; }},
      {"temperature", [=](O* o) { o->temperature = nan; }},
      {"temperature", [=](O* o) { o->temperature = infinity; }},
      {"top_k", [](O* o) { o->top_k = -1; }},
      {"top_p", [](O* o) { o->top_p = 0; }},
      {"top_p", [](O* o) { o->top_p = 1.5f; }},
      {"top_p", [=](O* o) { o->top_p = nan; }},
      {"min_p", [](O* o) { o->min_p = -0.1f; }},
      {"min_p", [](O* o) { o->min_p = 1.1f; }},
      {"min_p", [=](O* o) { o->min_p = nan; }},
      {"typical_p", [](O* o) { o->typical_p = 0; }},
      {"typical_p", [=](O* o) { o->typical_p = nan; }},
      {"frequency_penalty", [](O* o) { o->frequency_penalty = 2.1f; }},
      {"frequency_penalty", [=](O* o) { o->frequency_penalty = nan; }},
      {"presence_penalty", [](O* o) { o->presence_penalty = -2.1f; }},
      {"penalty_window", [](O* o) { o->penalty_window = -1; }},
      {"logit_bias",
       [](O* o) {
         o->logit_bias = {{1, 101}};
       }},
      {"logit_bias",
       [=](O* o) {
         o->logit_bias = {{1, nan}};
       }},
      {"logit_bias",
       [](O* o) {
         o->logit_bias = {{100, 1}};
       }},
      {"logit_bias",
       [](O* o) {
         o->logit_bias = {{2, 1}, {2, 1}};
       }},
      {"stop_ids", [](O* o) { o->stop_ids.assign(17, 1); }},
      {"stop_ids", [](O* o) { o->stop_ids = {100}; }},
      {"stop_ids and end_ids",
       [](O* o) { o->end_ids.assign(63, 1), o->stop_ids = {2}; }},
      {"repetition_penalty", [](O* o) { o->repetition_penalty = 0; }},
      {"repetition_penalty", [](O* o) { o->repetition_penalty = -2; }},
      {"repetition_penalty", [=](O* o) { o->repetition_penalty = nan; }},
      {"no_repeat_ngram_size", [](O* o) { o->no_repeat_ngram_size = -1; }},
      {"banned[1]",
       [](O* o) {
         o->banned_sequences = {{1}, {}};
       }},
      {"banned[0]",
       [](O* o) {
         o->banned_sequences = {{1, -1}};
       }},
      {"banned[0]", [](O* o) { o->banned_sequences = {{100}}; }},
      {"end_ids", [](O* o) { o->end_ids.assign(64, 1); }},
      {"end_ids", [](O* o) { o->end_ids = {100}; }},
      {"forced_first_id", [](O* o) { o->forced_first_id = -1; }},
      {"forced_last_id", [](O* o) { o->forced_last_id = 100; }},
      {"end_growth_start", [](O* o) { o->end_growth_start = -1; }},
      {"end_growth", [](O* o) { o->end_growth = 0; }},
      {"end_growth", [=](O* o) { o->end_growth = nan; }},
      {"suppressed_ids",
       [](O* o) {
         o->suppressed_ids = {1, 100};
       }},
      {"first_suppressed_ids", [](O* o) { o->first_suppressed_ids = {-1}; }},
      {"source_ngram_size", [](O* o) { o->source_ngram_size = -1; }},
      {"source_bonus", [](O* o) { o->source_bonus = 0; }},
      {"top_logprobs", [](O* o) { o->top_logprobs = 21; }},
      {"trace", [](O* o) { o->trace = true; }},
  };
  for (const Case& bad : cases) {
    DecodingOptions options;
    bad.change(&options);
    const absl::Status status = ValidateDecodingOptions(options, 100);
    EXPECT_THAT(status,
                IsError(absl::StatusCode::kInvalidArgument, bad.name + ":"));
  }
}

TEST(ValidationTest, CreateRefusesBadOptions) {
  DecodingOptions options;
  options.top_p = 2;
  EXPECT_EQ(Decoding::Create(options, {0}, nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace trivium
