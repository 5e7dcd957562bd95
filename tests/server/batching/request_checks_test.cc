#include "server/batching/request_checks.h"

#include <limits>

#include "server/batching/request_cost.h"
#include "tests/server/batching/harness.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

class RequestChecksTest : public testing::Test {
 protected:
  EngineLimits limits_ = PuppetEngine::Options().limits;

  void ExpectInvalid(const Request& request, const char* place) {
    EXPECT_THAT(CheckRequest(request, limits_, 256),
                IsError(absl::StatusCode::kInvalidArgument, place));
  }
};

TEST_F(RequestChecksTest, DefaultNewTokensAreLoweredToFitTheCache) {
  limits_.total_blocks = 20;
  Request request = MakeRequest(Source(10), Beams(4, 100), nullptr);
  request.prefix = {kStart, 5, 6};
  ExpectInvalid(request, "KV");
  FitNewTokens(limits_, &request);
  // The number that a client asked for stays.
  EXPECT_EQ(request.decoding->max_new_tokens, 100);
  request.default_max_new_tokens = true;
  FitNewTokens(limits_, &request);
  // 4 blocks of 4 positions, less 3 - 1 for the prefix.
  EXPECT_EQ(request.decoding->max_new_tokens, 14);
  EXPECT_TRUE(CheckRequest(request, limits_, 256).ok());
  ++request.decoding->max_new_tokens;
  ExpectInvalid(request, "KV");
  // A short default stays, and a request that cannot run at all is refused.
  request.decoding->max_new_tokens = 5;
  FitNewTokens(limits_, &request);
  EXPECT_EQ(request.decoding->max_new_tokens, 5);
  request.source = Source(80);
  FitNewTokens(limits_, &request);
  ExpectInvalid(request, "KV");
}

TEST_F(RequestChecksTest, RefusesRequestsThatCouldNeverRun) {
  EXPECT_TRUE(
      CheckRequest(MakeRequest(Source(512), Greedy(512), nullptr), limits_, 256)
          .ok());
  ExpectInvalid(MakeRequest(Source(0), Greedy(8), nullptr), "tokens");
  ExpectInvalid(MakeRequest(Source(513), Greedy(8), nullptr), "513 tokens");
  ExpectInvalid(MakeRequest(Source(5), Greedy(513), nullptr), "max_new_tokens");
  ExpectInvalid(MakeRequest(Source(5), Beams(16, 512), nullptr), "2050");
  ExpectInvalid(MakeRequest(Source(5), Beams(17, 8), nullptr), "beam_size");
  ExpectInvalid(MakeRequest(Source(5), Greedy(0), nullptr), "max_new_tokens");
  Request request = MakeRequest(Source(5), Greedy(8), nullptr);
  request.source.type_ids = {0};
  ExpectInvalid(request, "type ids");
  request = MakeRequest(Source(5), Greedy(8), nullptr);
  request.prefix.clear();
  ExpectInvalid(request, "prefix");
  request.prefix = {40};
  ExpectInvalid(request, "token id 40, but the model's ids are 0 to 39");
  request = MakeRequest(Source(5), std::nullopt, nullptr);
  request.prefix = {kStart, 5, 6};
  request.scoring = Scoring{.first = 2};
  EXPECT_TRUE(CheckRequest(request, limits_, 256).ok());
  request.scoring = Scoring{.first = 3};
  ExpectInvalid(request, "give 1 to 2");
  request = MakeRequest(Source(5), Greedy(8), nullptr);
  request.decoding->banned_sequences = {{3, -1}};
  ExpectInvalid(request, "-1");
  request = MakeRequest(Source(5), Greedy(8), nullptr);
  request.cross_attention = AttentionSelection{.layers = {6}, .heads = {}};
  ExpectInvalid(request, "layer 6");
  request = MakeRequest(Source(5), Greedy(8), nullptr);
  request.decoding->max_new_tokens = std::numeric_limits<int>::max();
  EXPECT_FALSE(CheckRequest(request, limits_, 256).ok());
  EXPECT_FALSE(
      CheckRequest(MakeRequest(Source(5), Beams(4, 8), nullptr), limits_, 3)
          .ok());
}

TEST_F(RequestChecksTest, AModelWithoutADecoderEncodes) {
  limits_.decoder_layers = 0;
  limits_.total_blocks = 0;
  const Request request = MakeRequest(Source(5), std::nullopt, nullptr);
  EXPECT_TRUE(CheckRequest(request, limits_, 256).ok());
  ExpectInvalid(MakeRequest(Source(5), Greedy(8), nullptr), "no decoder");
}

TEST_F(RequestChecksTest, RefusesFeaturesThatTheModelLacks) {
  limits_.decoder_layers = 0;
  ExpectInvalid(MakeRequest(Source(5), Greedy(8), nullptr), "decoder");
  limits_ = PuppetEngine::Options().limits;
  limits_.encoder_layers = 0;
  ExpectInvalid(MakeRequest(Source(5), Greedy(8), nullptr), "encoder");
  ExpectInvalid(MakeRequest(Source(0), std::nullopt, nullptr), "encoder");
  EXPECT_TRUE(
      CheckRequest(MakeRequest(Source(0), Greedy(8), nullptr), limits_, 256)
          .ok());
}

TEST_F(RequestChecksTest, RefusesHeadsAndSegmentsThatTheModelLacks) {
  Request request = MakeRequest(Source(3), std::nullopt, nullptr);
  request.source.type_ids = {0, 1, 0};
  ExpectInvalid(request, "segments");
  limits_.type_vocabulary = 2;
  EXPECT_TRUE(CheckRequest(request, limits_, 256).ok());
  request.source.type_ids[1] = 2;
  ExpectInvalid(request, "type id 2");
  request.source.type_ids.clear();
  request.pooled = true;
  ExpectInvalid(request, "pooler");
  request.pooled = false;
  request.logits = true;
  ExpectInvalid(request, "head");
  limits_.head_outputs = 2;
  EXPECT_TRUE(CheckRequest(request, limits_, 256).ok());
  request.logits_positions = {2, 3};
  ExpectInvalid(request, "token 3");
}

}  // namespace
}  // namespace trivium
