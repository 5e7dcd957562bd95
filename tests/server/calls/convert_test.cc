// Tests the conversion of attention maps, selections and traces to messages.
#include "server/calls/convert/convert.h"

#include <gmock/gmock.h>

#include <vector>

#include "server/calls/convert/head_trace.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

// A map whose weights count up from 0: weights[layer][head][query][key].
AttentionMap Counting(int layers, int heads, int queries, int keys) {
  AttentionMap map{layers, heads, queries, keys, {}};
  for (int i = 0; i < layers * heads * queries * keys; ++i) {
    map.weights.push_back(static_cast<float>(i));
  }
  return map;
}

// A trace of two tokens, of which the first does not see the second.
HeadTrace TwoTokens() {
  HeadTrace trace;
  trace.queries = trace.keys = 2;
  trace.scale = .5f;
  trace.query = {.columns = 1, .values = {2, 3}};
  trace.key = {.columns = 1, .values = {10, 20}};
  trace.scores = {.columns = 2, .values = {10, 0, 15, 30}};
  trace.seen_begin = {0, 0};
  trace.seen_end = {1, 2};
  return trace;
}

TEST(ConvertHeadTraceTest, MakesTheScoresOfUnseenKeys) {
  const std::vector<int32_t> ids = {7, 8};
  const v1::HeadTrace trace = ConvertHeadTrace(
      TwoTokens(), {ids, ids, nullptr, TextSide::kSource, TextSide::kSource});
  EXPECT_THAT(trace.scores().values(), ElementsAre(10, 20, 15, 30));
  EXPECT_EQ(trace.scores().columns(), 2u);
  EXPECT_EQ(trace.keys(1).id(), 8u);
  EXPECT_EQ(trace.keys(1).piece(), "");
  EXPECT_FALSE(trace.has_weights());
}

TEST(ConvertHeadTraceTest, ItsNumbersCountAsBytes) {
  RequestResult result;
  const int64_t without = MessageBytes(result);
  result.head_trace = TwoTokens();
  EXPECT_EQ(MessageBytes(result) - without, 8 * int64_t{sizeof(float)});
}

TEST(ConvertAttentionTest, SendsEveryRowUnlessSomeAreChosen) {
  const v1::Attention all = ConvertAttention(Counting(1, 2, 3, 2), {});
  EXPECT_EQ(all.query_count(), 3u);
  EXPECT_EQ(all.weights_size(), 12);
  const v1::Attention some = ConvertAttention(Counting(1, 2, 3, 2), {0, 2});
  EXPECT_EQ(some.layer_count(), 1u);
  EXPECT_EQ(some.head_count(), 2u);
  EXPECT_EQ(some.query_count(), 2u);
  EXPECT_EQ(some.key_count(), 2u);
  EXPECT_THAT(some.weights(), ElementsAre(0, 1, 4, 5, 6, 7, 10, 11));
}

TEST(ConvertAttentionTest, LeavesOutRowsThatAreNotThere) {
  const v1::Attention some = ConvertAttention(Counting(1, 1, 2, 2), {1, 2, 9});
  EXPECT_EQ(some.query_count(), 1u);
  EXPECT_THAT(some.weights(), ElementsAre(2, 3));
  const v1::Attention none = ConvertAttention(Counting(1, 1, 2, 2), {7});
  EXPECT_EQ(none.query_count(), 0u);
  EXPECT_EQ(none.weights_size(), 0);
}

TEST(ConvertAttentionTest, RowsThatAreComputedCountEvenIfNotSent) {
  MapSelection selection;
  EXPECT_EQ(AttentionBytes(selection, 2, 4, 512, 512), 8 * 512 * 512 * 4);
  selection.maps.heads = {1};
  selection.rows = {5, 6};
  EXPECT_EQ(AttentionBytes(selection, 2, 4, 16, 512), 2 * 2 * 512 * 4);
  EXPECT_EQ(AttentionBytes(selection, 2, 4, 512, 512), 2 * 32 * 512 * 4);
}

TEST(TextBytesTest, CountsWhatNormalizationMakesOfACharacter) {
  EXPECT_EQ(TextBytes("an \xC3\xA4"), 5);
  const std::string ligature = "\xEF\xB7\xBA";  // U+FDFA
  EXPECT_EQ(TextBytes(ligature), 33);
  EXPECT_EQ(TextBytes("a" + ligature + "\xEF\xB7\xBB" + "\xEF\xB7\xBC"),
            1 + 33 + 33 + 3);
  EXPECT_EQ(TextBytes("\xEF\xB7"), 2);
  v1::Input input;
  input.mutable_pair()->set_first("a");
  input.mutable_pair()->set_second(ligature);
  EXPECT_EQ(TextBytes(input), 34);
}

TEST(ConvertSelectionTest, SortsRowsAndRefusesOneTwice) {
  v1::AttentionSelection in;
  in.add_rows(7);
  in.add_rows(3);
  const auto selection = ConvertSelection(in, "attention", 2, 2);
  ASSERT_TRUE(selection.ok()) << selection.status();
  EXPECT_THAT(selection->rows, ElementsAre(3, 7));
  in.add_rows(7);
  EXPECT_EQ(ConvertSelection(in, "attention", 2, 2).status().code(),
            absl::StatusCode::kInvalidArgument);
  in.clear_rows();
  in.add_rows(UINT32_MAX);
  EXPECT_EQ(ConvertSelection(in, "attention", 2, 2).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ConvertTraceTest, KeepsEveryNumber) {
  BeamTrace trace;
  trace.truncated = true;
  trace.steps = {{{.parent = 0,
                   .token = 7,
                   .logprob = -0.5,
                   .log_probability = -0.5,
                   .score = -0.25,
                   .fate = BeamFate::kContinued},
                  {.parent = 0,
                   .token = 8,
                   .logprob = -1,
                   .log_probability = -1,
                   .score = -1,
                   .fate = BeamFate::kEnded,
                   .hypothesis = 1}},
                 {{.parent = 1,
                   .token = 9,
                   .logprob = -2,
                   .log_probability = -2.5,
                   .score = -1.25,
                   .fate = BeamFate::kStopped}}};
  const v1::BeamTrace out = ConvertTrace(trace, nullptr);
  EXPECT_EQ(
      out.ShortDebugString(),
      "steps { candidates { id: 7 logprob: -0.5 total_logprob: -0.5 score: "
      "-0.25 fate: BEAM_FATE_CONTINUED } candidates { id: 8 logprob: -1 "
      "total_logprob: -1 score: -1 fate: BEAM_FATE_ENDED hypothesis: 1 } } "
      "steps { candidates { parent: 1 id: 9 logprob: -2 total_logprob: -2.5 "
      "score: -1.25 fate: BEAM_FATE_STOPPED } } truncated: true");
  DecodingOptions options;
  EXPECT_EQ(TraceBytes(options), 0);
  options.trace = true;
  options.beam_size = 4;
  options.max_new_tokens = 10;
  EXPECT_EQ(TraceBytes(options), 80 * 40);
  options.max_new_tokens = 1 << 24;
  EXPECT_EQ(TraceBytes(options), int64_t{kMaxTraceCandidates} * 40);
}

}  // namespace
}  // namespace trivium
