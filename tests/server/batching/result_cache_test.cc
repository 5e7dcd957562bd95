#include "server/batching/result_cache.h"

#include <functional>
#include <set>

#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

ResultCache::Hypotheses Result(int tokens, int32_t first = 5) {
  Hypothesis hypothesis;
  for (int i = 0; i < tokens; ++i) hypothesis.ids.push_back(first + i);
  return std::make_shared<const std::vector<Hypothesis>>(1, hypothesis);
}

Request Base() { return MakeRequest(Source(5), Greedy(9), nullptr); }

TEST(ResultCacheTest, FindsResultsThatWereInserted) {
  ResultCache cache(1 << 20);
  EXPECT_EQ(cache.Find("a"), nullptr);
  const auto result = Result(3);
  cache.Insert("a", result);
  EXPECT_EQ(cache.Find("a"), result);
  EXPECT_EQ(cache.Find("b"), nullptr);
  EXPECT_EQ(cache.size().results, 1);
  // The first entry stays.
  cache.Insert("a", Result(4));
  EXPECT_EQ(cache.Find("a"), result);
  EXPECT_EQ(cache.size().results, 1);
}

TEST(ResultCacheTest, EvictsTheLeastRecentlyUsedAndStaysInBounds) {
  ResultCache one(1 << 20);
  one.Insert("0", Result(1000));
  const int64_t bytes = one.size().bytes;
  EXPECT_GT(bytes, 1000 * 4);
  ResultCache cache(3 * bytes);
  for (const char* key : {"0", "1", "2"}) cache.Insert(key, Result(1000));
  EXPECT_NE(cache.Find("0"), nullptr);
  cache.Insert("3", Result(1000));
  EXPECT_EQ(cache.Find("1"), nullptr);
  for (const char* key : {"0", "2", "3"}) {
    EXPECT_NE(cache.Find(key), nullptr) << key;
  }
  for (int i = 10; i < 1000; ++i) {
    cache.Insert(std::to_string(i), Result(i));
    EXPECT_LE(cache.size().bytes, 3 * bytes);
  }
  EXPECT_GT(cache.size().results, 2);
}

TEST(ResultCacheTest, RefusesEntriesLargerThanTheCache) {
  ResultCache cache(4096);
  cache.Insert("small", Result(10));
  cache.Insert("large", Result(10000));
  EXPECT_EQ(cache.Find("large"), nullptr);
  EXPECT_NE(cache.Find("small"), nullptr);
  cache.Insert(std::string(10000, 'k'), Result(10));
  EXPECT_EQ(cache.size().results, 1);
  ResultCache nothing(1);
  nothing.Insert("a", Result(0));
  EXPECT_EQ(nothing.size().results, 0);
}

TEST(ResultCacheTest, EqualRequestsHaveEqualKeys) {
  EXPECT_EQ(ResultCache::KeyOf(Base()), ResultCache::KeyOf(Base()));
  Request other = Base();
  other.deadline = absl::UnixEpoch();
  other.cancellation = std::make_shared<Cancellation>();
  other.stream = true;
  // Options that only sampling reads.
  other.decoding->seed = 7;
  other.decoding->temperature = 3;
  EXPECT_EQ(ResultCache::KeyOf(Base()), ResultCache::KeyOf(other));
}

TEST(ResultCacheTest, WhateverChangesTheAnswerChangesTheKey) {
  const std::vector<std::function<void(Request*)>> changes = {
      [](Request*) {},
      [](Request* r) { r->model = ServedPuppet("other"); },
      [](Request* r) { r->source.ids.push_back(1); },
      [](Request* r) { r->source.ids[0] = 1; },
      [](Request* r) {
        r->source.type_ids = {0, 0, 0, 0, 0};
      },
      [](Request* r) { r->prefix.push_back(1); },
      [](Request* r) { r->salt = "one"; },
      [](Request* r) { r->salt = "two"; },
      // The same ids, divided otherwise.
      [](Request* r) {
        r->prefix.insert(r->prefix.begin(), r->source.ids.back());
        r->source.ids.pop_back();
      },
      [](Request* r) { r->decoding->beam_size = 2; },
      [](Request* r) { r->decoding->hypotheses = 2; },
      [](Request* r) { r->decoding->length_penalty = 2; },
      [](Request* r) { r->decoding->early_stopping = EarlyStopping::kNever; },
      [](Request* r) { r->decoding->max_new_tokens = 8; },
      [](Request* r) { r->decoding->min_new_tokens = 1; },
      [](Request* r) { r->decoding->repetition_penalty = 2; },
      [](Request* r) { r->decoding->no_repeat_ngram_size = 2; },
      [](Request* r) { r->decoding->end_ids = {1}; },
      [](Request* r) {
        r->decoding->end_ids = {0, 1};
      },
      [](Request* r) {
        r->decoding->banned_sequences = {{1, 2}};
      },
      [](Request* r) {
        r->decoding->banned_sequences = {{1}, {2}};
      },
      [](Request* r) { r->decoding->forced_first_id = 0; },
      [](Request* r) { r->decoding->forced_last_id = 0; },
      [](Request* r) { r->decoding->end_growth_start = 3; },
      [](Request* r) { r->decoding->end_growth = 1.5f; },
      [](Request* r) { r->decoding->renormalize_logits = true; },
      [](Request* r) { r->decoding->suppressed_ids = {1}; },
      [](Request* r) { r->decoding->first_suppressed_ids = {1}; },
      [](Request* r) { r->decoding->source_ngram_size = 2; },
      [](Request* r) { r->decoding->source_bonus = 2; },
      [](Request* r) { r->decoding->top_logprobs = 1; },
      [](Request* r) {
        r->decoding->required.resize(1);
        r->decoding->required[0].forms = {{1, 2}};
      },
      [](Request* r) {
        r->decoding->required.resize(1);
        r->decoding->required[0].forms = {{1, 3}};
      },
  };
  std::set<std::string> keys;
  for (const auto& change : changes) {
    Request request = Base();
    change(&request);
    const auto key = ResultCache::KeyOf(request);
    ASSERT_TRUE(key.has_value());
    keys.insert(*key);
  }
  EXPECT_EQ(keys.size(), changes.size());
}

TEST(ResultCacheTest, RequestsThatCannotBeCachedHaveNoKey) {
  const std::vector<std::function<void(Request*)>> changes = {
      [](Request* r) { r->decoding.reset(); },
      [](Request* r) { r->decoding->sample = true; },
      [](Request* r) { r->states = States::kAll; },
      [](Request* r) { r->hidden_layers = {0}; },
      [](Request* r) { r->encoder_attention.emplace(); },
      [](Request* r) { r->cross_attention.emplace(); },
      [](Request* r) { r->decoder_attention.emplace(); },
      [](Request* r) { r->decoding->trace = true; },
      [](Request* r) {
        class Never : public StopMatcher {
          bool Matches(std::span<const int32_t>) const override {
            return false;
          }
        };
        r->stop = std::make_shared<Never>();
      },
  };
  for (const auto& change : changes) {
    Request request = Base();
    change(&request);
    EXPECT_FALSE(ResultCache::KeyOf(request).has_value());
  }
}

}  // namespace
}  // namespace trivium
