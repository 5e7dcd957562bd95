// Attention maps of requests in a running batch.
#include "server/batching/attention_pass.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tests/server/batching/running_batch_fixture.h"

namespace trivium {
namespace {

using AttentionPassTest = RunningBatchFixture;

TEST_F(AttentionPassTest, EncodeOnlyGetsStatesAndMaps) {
  Create();
  Request request = MakeRequest(Source(7), std::nullopt, nullptr);
  request.states = States::kAll;
  request.encoder_attention = AttentionSelection{.layers = {0, 3}, .heads = {}};
  const auto observer = Add(request);
  batch_->Iterate();
  const auto result = observer->Wait();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->states.size(), 7u * 4);
  EXPECT_EQ(result->encoder_attention.layers, 2);
  EXPECT_EQ(result->encoder_attention.heads, 2);
  EXPECT_EQ(result->encoder_attention.queries, 7);
  EXPECT_EQ(result->encoder_attention.weights.size(), 2u * 2 * 7 * 7);
  EXPECT_TRUE(result->hypotheses.empty());
}

TEST_F(AttentionPassTest, MapsAttentionOfEachHypothesis) {
  const auto run = [this](int max_rows) {
    options_.max_rows = max_rows;
    Create();
    Request request = MakeRequest(Source(6), Beams(3, 9), nullptr);
    request.prefix = {kStart, 7};
    request.cross_attention = AttentionSelection{.layers = {5}, .heads = {}};
    const auto observer = Add(std::move(request));
    RunAll();
    for (const PuppetLog::Step& step : puppets_.last_log().steps()) {
      EXPECT_LE(step.decoder_rows, max_rows);
    }
    return *observer->Wait();
  };
  const RequestResult whole = run(256);
  ASSERT_EQ(whole.cross_attention.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const AttentionMap& map = whole.cross_attention[i];
    EXPECT_EQ(map.layers, 1);
    EXPECT_EQ(map.heads, 2);
    EXPECT_EQ(map.queries, static_cast<int>(whole.hypotheses[i].ids.size()));
    EXPECT_EQ(map.keys, 6);
    EXPECT_EQ(map.weights.size(), 2u * map.queries * 6);
  }
  // Hypotheses with equal beginnings have equal first rows. The maps do not
  // depend on the chunks of the pass.
  const RequestResult cut = run(4);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(whole.cross_attention[i].weights, cut.cross_attention[i].weights);
    EXPECT_EQ(whole.cross_attention[i].weights[0],
              whole.cross_attention[0].weights[0]);
  }
}

TEST_F(AttentionPassTest, TheMeanMapHasOneLayerAndOneHead) {
  const auto run = [this](bool mean, int max_rows) {
    options_.max_rows = max_rows;
    Create();
    Request request = MakeRequest(Source(6), Beams(3, 9), nullptr);
    request.cross_attention = AttentionSelection{.layers = {1, 5}, .heads = {}};
    request.mean_cross_attention = mean;
    const auto observer = Add(std::move(request));
    RunAll();
    return *observer->Wait();
  };
  const RequestResult all = run(false, 256);
  const RequestResult one = run(true, 256);
  const RequestResult cut = run(true, 4);
  for (int i = 0; i < 3; ++i) {
    const AttentionMap& map = all.cross_attention[i];
    const AttentionMap& mean = one.cross_attention[i];
    EXPECT_EQ(mean.layers, 1);
    EXPECT_EQ(mean.heads, 1);
    const size_t size = static_cast<size_t>(map.queries) * map.keys;
    ASSERT_EQ(mean.weights.size(), size);
    for (size_t at = 0; at < size; ++at) {
      float sum = 0;
      for (size_t plane = 0; plane < 4; ++plane) {
        sum += map.weights[plane * size + at];
      }
      EXPECT_FLOAT_EQ(mean.weights[at], sum / 4);
    }
    EXPECT_EQ(cut.cross_attention[i].weights, mean.weights);
  }
}

// A token's row of decoder attention is as long as the tokens read so far, so a
// map joins rows of different lengths.
TEST_F(AttentionPassTest, MapsADecodersAttentionHoweverItIsCut) {
  const auto run = [this](int max_rows) {
    options_.max_rows = max_rows;
    Create();
    Request request = MakeRequest(Source(6), Beams(3, 9), nullptr);
    request.prefix = {kStart, 7};
    request.decoder_attention = AttentionSelection{.layers = {}, .heads = {1}};
    request.decoding->trace = true;
    const auto observer = Add(std::move(request));
    RunAll();
    return *observer->Wait();
  };
  const RequestResult whole = run(256);
  const RequestResult cut = run(4);
  EXPECT_TRUE(whole.cross_attention.empty());
  ASSERT_EQ(whole.decoder_attention.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const AttentionMap& map = whole.decoder_attention[i];
    const int ids = static_cast<int>(whole.hypotheses[i].ids.size());
    EXPECT_EQ(map.queries, ids);
    EXPECT_EQ(map.keys, ids + 1);
    EXPECT_EQ(map.heads, 1);
    ASSERT_EQ(map.weights.size(), size_t(map.layers) * map.queries * map.keys);
    for (int layer = 0; layer < map.layers; ++layer) {
      for (int q = 0; q < map.queries; ++q) {
        const float* row =
            map.weights.data() + (layer * map.queries + q) * map.keys;
        // A prefix of two: the first query is at position 1.
        const float* end = row + q + 2;
        EXPECT_NE(std::count_if(row, end, [](float w) { return w != 0; }), 0);
        EXPECT_EQ(std::count(end, row + map.keys, 0.0f), map.keys - (q + 2));
      }
    }
    EXPECT_EQ(map.weights, cut.decoder_attention[i].weights);
  }
  ASSERT_TRUE(whole.trace.has_value());
  EXPECT_FALSE(whole.trace->steps.empty());
}

// A prompt's tokens are queries, too, and the answer's rows are the same with
// and without them.
TEST_F(AttentionPassTest, MapsThePrefixTooHoweverItIsCut) {
  const auto run = [this](bool prefix, int max_rows) {
    options_.max_rows = max_rows;
    puppets_.options.limits.encoder_layers = 0;
    Create();
    Request request = MakeRequest({}, Beams(1, 9), nullptr);
    request.prefix = {kStart, 7, 8, 9, 10};
    request.decoder_attention =
        AttentionSelection{.layers = {0, 5}, .heads = {}};
    request.prefix_attention = prefix;
    const auto observer = Add(std::move(request));
    RunAll();
    return *observer->Wait();
  };
  const RequestResult whole = run(true, 256);
  const RequestResult cut = run(true, 3);
  const RequestResult without = run(false, 256);
  ASSERT_EQ(whole.decoder_attention.size(), 1u);
  const AttentionMap& map = whole.decoder_attention[0];
  const AttentionMap& answer = without.decoder_attention[0];
  const int ids = static_cast<int>(whole.hypotheses[0].ids.size());
  EXPECT_EQ(map.queries, 4 + ids);
  EXPECT_EQ(map.keys, 4 + ids);
  EXPECT_EQ(answer.queries, ids);
  EXPECT_EQ(answer.keys, 4 + ids);
  EXPECT_EQ(map.weights, cut.decoder_attention[0].weights);
  for (int plane = 0; plane < map.layers * map.heads; ++plane) {
    for (int q = 0; q < map.queries; ++q) {
      const float* row = &map.weights[(plane * map.queries + q) * map.keys];
      EXPECT_NE(std::count(row, row + q + 1, 0.0f), q + 1);
      EXPECT_EQ(std::count(row + q + 1, row + map.keys, 0.0f),
                map.keys - (q + 1));
      if (q < 4) continue;
      const float* alone =
          &answer.weights[(plane * answer.queries + q - 4) * map.keys];
      EXPECT_TRUE(std::equal(row, row + map.keys, alone));
    }
  }
}

}  // namespace
}  // namespace trivium
