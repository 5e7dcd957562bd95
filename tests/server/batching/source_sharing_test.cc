#include "server/batching/source_sharing.h"

#include "gtest/gtest.h"

namespace trivium {
namespace {

TEST(SourceSharingTest, ASourceServesRequestsThatNeedNoMoreThanItHas) {
  const SourceOptions decode;
  SourceOptions all{.cross_attention = true,
                    .states = States::kAll,
                    .attention = true,
                    .selection = {.layers = {1}, .heads = {}}};
  EXPECT_TRUE(Covers(all, decode));
  EXPECT_FALSE(Covers(decode, all));
  SourceOptions first = all;
  first.states = States::kFirst;
  EXPECT_TRUE(Covers(all, first));
  EXPECT_FALSE(Covers(first, all));
  SourceOptions last = all;
  last.states = States::kLast;
  EXPECT_TRUE(Covers(all, last));
  EXPECT_FALSE(Covers(last, first));
  EXPECT_FALSE(Covers(first, last));
  EXPECT_FALSE(Covers(decode, last));
  EXPECT_TRUE(Covers(last, decode));
  SourceOptions other = all;
  other.selection.layers = {2};
  EXPECT_FALSE(Covers(all, other));
  EXPECT_TRUE(Covers(all, all));
  EXPECT_FALSE(Covers(all, {.pooled = true, .selection = {}}));
  SourceOptions hidden{.hidden_layers = {0, 2}, .selection = {}};
  EXPECT_FALSE(Covers(all, hidden));
  EXPECT_TRUE(Covers(hidden, hidden));
  EXPECT_TRUE(Covers(hidden, decode));
  EXPECT_FALSE(Covers(hidden, {.hidden_layers = {2}, .selection = {}}));
  SourceOptions logits{.logits = true, .selection = {}};
  EXPECT_FALSE(Covers(all, logits));
  SourceOptions of_two = logits;
  of_two.logits_positions = {1, 2};
  EXPECT_FALSE(Covers(logits, of_two));
  EXPECT_FALSE(Covers(of_two, logits));
  EXPECT_TRUE(Covers(of_two, of_two));
  SourceOptions best = logits;
  best.logits_best = 3;
  EXPECT_FALSE(Covers(logits, best));
  EXPECT_FALSE(Covers(best, logits));
  EXPECT_TRUE(Covers(best, best));
  EXPECT_TRUE(Covers(best, decode));
  SourceOptions traced{.selection = {}};
  traced.traced_head = HeadChoice{.layer = 1};
  EXPECT_TRUE(Covers(traced, decode));
  EXPECT_TRUE(Covers(traced, traced));
  EXPECT_FALSE(Covers(decode, traced));
  SourceOptions traces_another = traced;
  traces_another.traced_head->layer = 2;
  EXPECT_FALSE(Covers(traces_another, traced));
}

TEST(SourceSharingTest, ASourceHasWhatItsRequestAsksFor) {
  Request request;
  request.states = States::kLast;
  request.hidden_layers = {0, 2};
  request.pooled = request.logits = request.sparse = true;
  request.logits_positions = {1, 2};
  request.logits_best = 3;
  request.encoder_attention = AttentionSelection{.layers = {1}, .heads = {0}};
  request.traced_head = HeadChoice{.layer = 1};
  const SourceOptions encoded = SourceOptionsOf(request);
  EXPECT_FALSE(encoded.cross_attention);
  EXPECT_EQ(encoded.states, States::kLast);
  EXPECT_EQ(encoded.hidden_layers, request.hidden_layers);
  EXPECT_TRUE(encoded.pooled && encoded.logits && encoded.sparse);
  EXPECT_EQ(encoded.logits_positions, request.logits_positions);
  EXPECT_EQ(encoded.logits_best, 3);
  EXPECT_TRUE(encoded.attention);
  EXPECT_EQ(encoded.selection.layers, request.encoder_attention->layers);
  EXPECT_EQ(encoded.selection.heads, request.encoder_attention->heads);
  EXPECT_TRUE(encoded.traced_head == request.traced_head);
  // A decoder's head is traced by a pass of its own.
  request.decoding.emplace();
  const SourceOptions decoded = SourceOptionsOf(request);
  EXPECT_TRUE(decoded.cross_attention);
  EXPECT_FALSE(decoded.traced_head.has_value());
  EXPECT_FALSE(SourceOptionsOf(Request()).attention);
}

}  // namespace
}  // namespace trivium
