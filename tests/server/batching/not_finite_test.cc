// A model with finite weights, in which one token overflows. A request with
// this token in its source, its prefix or its answer is answered INTERNAL. The
// other answers have the bits that they have alone.
#include <optional>
#include <vector>

#include "model/kernels/runtime.h"
#include "model/precision.h"
#include "server/batching/running_batch.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/server/batching/harness.h"
#include "tests/support/error_texts.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

constexpr int32_t kOverflowing = 60;

class Counter : public BatchingObserver {
 public:
  void OnNotFinite(const ServedModel&) override { ++count; }
  int count = 0;
};

// The stack's tokens, with numbers of which few can be added.
class OverflowingTokens {
 public:
  explicit OverflowingTokens(const TensorView& tokens)
      : values_(tokens.elements()), view_(tokens) {
    CopyToF32(tokens, 0, values_);
    const size_t width = tokens.shape[1];
    for (size_t i = 0; i < width; ++i) {
      values_[kOverflowing * width + i] = i % 2 == 0 ? 3e38f : -3e38f;
    }
    view_.data = std::as_bytes(std::span<const float>(values_));
  }
  const TensorView* view() const { return &view_; }

 private:
  std::vector<float> values_;
  TensorView view_;
};

class NotFiniteTest : public testing::TestWithParam<Formats> {
 protected:
  void SetUp() override {
    if (GetParam() == kBf16Formats &&
        !ResolvePrecision(Precision::kBf16, ActiveIsa()).ok()) {
      GTEST_SKIP() << "skipped: bf16, which this CPU does not multiply";
    }
  }
  void Use(const TransformerDescription& description) {
    alone_ = NewEngine(description, GetParam());
    batch_.emplace(
        RunningBatch::Options{.model = TheModel(), .observer = &seen_},
        NewEngine(description, GetParam()));
  }
  void Add(Request request) {
    auto observer = std::make_shared<RecordingObserver>();
    request.observer = observer;
    observers_.push_back(observer);
    auto queued = Queued(requests_.size(), request, alone_->limits());
    requests_.push_back(std::move(request));
    ASSERT_EQ(batch_->CanJoin(*queued), FairQueue::Verdict::kTake);
    batch_->Add(std::move(queued));
  }
  void Run() {
    while (!batch_->empty()) batch_->Iterate();
  }
  void ExpectInternal(size_t i) {
    EXPECT_THAT(observers_[i]->Wait(),
                IsError(absl::StatusCode::kInternal, "infinite"))
        << i;
  }
  void ExpectAsAlone(size_t i) {
    SCOPED_TRACE(i);
    const auto alone =
        GenerateAlone(alone_.get(), requests_[i].source, requests_[i].prefix,
                      *requests_[i].decoding);
    ASSERT_TRUE(alone.ok()) << alone.status();
    const auto together = observers_[i]->Wait();
    ASSERT_TRUE(together.ok()) << together.status();
    ExpectSameHypotheses(*alone, together->hypotheses);
  }

  Counter seen_;
  std::unique_ptr<Engine> alone_;
  std::optional<RunningBatch> batch_;
  std::vector<Request> requests_;
  std::vector<std::shared_ptr<RecordingObserver>> observers_;
};

TEST_P(NotFiniteTest, OnlyTheOverflowingRequestIsInternal) {
  const RandomTransformer random({}, 5);
  TransformerDescription description = random.description();
  const OverflowingTokens tokens(*description.encoder->embeddings.tokens);
  description.encoder->embeddings.tokens = tokens.view();
  description.decoder->embeddings.tokens = tokens.view();
  Use(description);
  // The unaffected requests stand between the affected ones.
  DecodingOptions forced = Greedy(12);
  forced.forced_first_id = kOverflowing;
  DecodingOptions banned = Greedy(12);
  banned.min_new_tokens = 12;
  banned.banned_sequences = {{kOverflowing}};
  std::vector<size_t> fine, spoiled;
  for (int round = 0; round < 3; ++round) {
    fine.push_back(requests_.size());
    Add(MakeRequest(Source(20, 2 + round), banned, nullptr));
    spoiled.push_back(requests_.size());
    Add(MakeRequest(Source(20, 50 - round), banned, nullptr));
    spoiled.push_back(requests_.size());
    Request prefix = MakeRequest(Source(10, 3 + round), banned, nullptr);
    // More than a block of tokens follow it.
    prefix.prefix = {kStart, kOverflowing};
    for (int i = 0; i < 20; ++i) prefix.prefix.push_back(2 + i);
    Add(prefix);
    fine.push_back(requests_.size());
    DecodingOptions beams = banned;
    beams.beam_size = beams.hypotheses = 3;
    Add(MakeRequest(Source(9, 10 + round), beams, nullptr));
    spoiled.push_back(requests_.size());
    Add(MakeRequest(Source(12, 20 + round), forced, nullptr));
  }
  Run();
  for (const size_t i : fine) ExpectAsAlone(i);
  for (const size_t i : spoiled) ExpectInternal(i);
  EXPECT_EQ(seen_.count, static_cast<int>(spoiled.size()));
  // A refused prefix leaves no cached blocks for other requests.
  Add(requests_[spoiled[1]]);
  Run();
  ExpectInternal(requests_.size() - 1);
}

TEST_P(NotFiniteTest, AnEncodersOutputsAreChecked) {
  for (const auto& [pooler, head] :
       {std::pair(true, HeadKind::kClassify), {false, HeadKind::kFillMask}}) {
    const RandomTransformer random(
        {.decoder_layers = 0, .pooler = pooler, .head = head}, 5);
    TransformerDescription description = random.description();
    const OverflowingTokens tokens(*description.encoder->embeddings.tokens);
    description.encoder->embeddings.tokens = tokens.view();
    requests_.clear();
    observers_.clear();
    Use(description);
    for (const int32_t first : {2, 50, 3, 55}) {
      Request request = MakeRequest(Source(20, first), std::nullopt, nullptr);
      request.states = States::kFirst;
      request.pooled = pooler;
      request.logits = true;
      if (!pooler) request.logits_best = 3;
      Add(request);
    }
    Run();
    ExpectInternal(1);
    ExpectInternal(3);
    for (const size_t i : {0, 2}) {
      const auto result = observers_[i]->Wait();
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->states.size(), 32u);
    }
  }
  EXPECT_EQ(seen_.count, 4);
}

// The states are finite, but the head overflows.
TEST_P(NotFiniteTest, AHeadsLogitsAreChecked) {
  const RandomTransformer random({.decoder_layers = 0, .head = HeadKind::kTag},
                                 5);
  TransformerDescription description = random.description();
  std::vector<float> values(2 * 32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 2 ? 3e38f : -3e38f;
  TensorView weight = *description.head->output.weight;
  weight.data = std::as_bytes(std::span<const float>(values));
  description.head->output.weight = &weight;
  Use(description);
  for (const bool logits : {true, false}) {
    Request request = MakeRequest(Source(20), std::nullopt, nullptr);
    request.states = States::kAll;
    request.logits = logits;
    Add(request);
  }
  Run();
  ExpectInternal(0);
  EXPECT_TRUE(observers_[1]->Wait().ok());
}

INSTANTIATE_TEST_SUITE_P(Formats, NotFiniteTest,
                         testing::Values(kF32Formats, kInt8Formats,
                                         kBf16Formats));

}  // namespace
}  // namespace trivium
