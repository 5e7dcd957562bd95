#include "server/batching/caching_batcher.h"

#include <atomic>
#include <random>
#include <thread>

#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

using Code = absl::StatusCode;

class CacheObserver : public BatchingObserver {
 public:
  void OnCacheLookup(const ServedModel&, bool hit) override {
    ++(hit ? hits : misses);
  }
  void OnCacheSize(int64_t bytes, int64_t results) override {
    most_bytes = std::max<int64_t>(most_bytes, bytes);
    last_results = results;
  }
  std::atomic<int> hits{0}, misses{0};
  std::atomic<int64_t> most_bytes{0}, last_results{0};
};

// A real batcher with a cache, on a puppet engine.
class CachingBatcherTest : public testing::Test {
 protected:
  CachingBatcherTest() {
    options_.clock = &clock_;
    options_.observer = &seen_;
    options_.result_cache_bytes = 1 << 20;
  }
  ~CachingBatcherTest() override {
    gate_.Open();
    batcher_.reset();
    puppets_.ExpectCleanUse();
  }

  void Create() {
    batcher_.reset();
    puppets_.options.gate = &gate_;
    batcher_ = puppets_.MakeBatcher(options_);
  }
  Submission TrySubmit(std::vector<Request> requests) {
    return batcher_->Submit(batcher_->NewCall(), std::move(requests));
  }
  std::shared_ptr<RecordingObserver> Submit(Request request) {
    auto observer = std::make_shared<RecordingObserver>();
    request.observer = observer;
    const Submission submission = TrySubmit({std::move(request)});
    EXPECT_TRUE(submission.ok()) << submission.status;
    return observer;
  }
  static Request Short(int32_t first = 2, int max_new_tokens = 9) {
    return MakeRequest(Source(5, first), Greedy(max_new_tokens), nullptr);
  }
  size_t steps() const { return puppets_.last_log().steps().size(); }

  StepGate gate_;
  FakeClock clock_;
  Puppets puppets_;
  CacheObserver seen_;
  Batcher::Options options_;
  std::unique_ptr<Batcher> batcher_;
};

TEST_F(CachingBatcherTest, AnswersAnEqualRequestAtOnceWithTheSameResult) {
  Create();
  for (const DecodingOptions& options :
       {Greedy(9), Beams(4, 12), Beams(2, 12)}) {
    Request request = MakeRequest(Source(7), options, nullptr);
    request.stream = true;
    const auto computed = Submit(request)->Wait();
    ASSERT_TRUE(computed.ok());
    const size_t steps_before = steps();
    const auto again = Submit(request);
    EXPECT_TRUE(again->done());  // inside Submit
    EXPECT_EQ(steps(), steps_before);
    ExpectSameHypotheses(again->Wait()->hypotheses, computed->hypotheses);
    EXPECT_EQ(again->Wait()->source_tokens, 7);
    EXPECT_EQ(again->answers(), 1);
    EXPECT_EQ(again->tokens_after_answer(), 0);
    for (size_t i = 0; i < computed->hypotheses.size(); ++i) {
      EXPECT_EQ(again->ids(i), computed->hypotheses[i].ids);
      EXPECT_EQ(again->logprobs(i), computed->hypotheses[i].logprobs);
    }
    // The request does not stream.
    request.stream = false;
    EXPECT_EQ(Submit(request)->pieces(), 0);
  }
  EXPECT_EQ(seen_.hits, 6);
  EXPECT_EQ(seen_.misses, 3);
  EXPECT_EQ(seen_.last_results, 3);
}

TEST_F(CachingBatcherTest, IsOffByDefault) {
  options_.result_cache_bytes = Batcher::Options().result_cache_bytes;
  Create();
  ASSERT_TRUE(Submit(Short())->Wait().ok());
  const size_t before = steps();
  ASSERT_TRUE(Submit(Short())->Wait().ok());
  EXPECT_GT(steps(), before);
  EXPECT_EQ(seen_.hits + seen_.misses, 0);
}

TEST_F(CachingBatcherTest, AHitTakesNoRoomInAFullQueue) {
  options_.max_waiting_tokens = 20;
  options_.max_rows = 1;
  Create();
  ASSERT_TRUE(Submit(Short())->Wait().ok());
  gate_.Close();
  const auto running = Submit(Short(20));
  gate_.WaitHeld();
  const auto waiting = Submit(Short(30));
  const auto free = batcher_->free_waiting_tokens({0});
  auto full = Short(40);
  full.observer = std::make_shared<RecordingObserver>();
  EXPECT_EQ(TrySubmit({full}).status.code(), Code::kResourceExhausted);
  EXPECT_TRUE(Submit(Short())->done());
  EXPECT_EQ(batcher_->free_waiting_tokens({0}), free);
}

TEST_F(CachingBatcherTest, CachesNoFailedOrDroppedRequest) {
  bool fail = true;
  puppets_.options.on_step = [&fail](const StepPlan&) {
    return fail ? absl::UnknownError("boom") : absl::OkStatus();
  };
  Create();
  EXPECT_EQ(Submit(Short())->Wait().status().code(), Code::kInternal);
  fail = false;
  gate_.Close();
  // These are cancelled in the middle of their tokens.
  Request cancelled = Short(20, 50);
  const auto cancellation = std::make_shared<Cancellation>();
  cancelled.cancellation = cancellation;
  Request late = Short(30, 50);
  late.deadline = clock_.Now() + absl::Seconds(1);
  const auto first = Submit(cancelled);
  const auto second = Submit(late);
  gate_.StepOnce();
  gate_.StepOnce();
  cancellation->Cancel();
  clock_.Advance(absl::Seconds(2));
  gate_.Open();
  EXPECT_EQ(first->Wait().status().code(), Code::kCancelled);
  EXPECT_EQ(second->Wait().status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(seen_.last_results, 0);
  cancelled.cancellation = nullptr;
  late.deadline = absl::InfiniteFuture();
  for (const Request& request : {Short(), cancelled, late}) {
    const size_t before = steps();
    ASSERT_TRUE(Submit(request)->Wait().ok());
    EXPECT_GT(steps(), before);
  }
  EXPECT_EQ(seen_.hits, 0);
}

TEST_F(CachingBatcherTest, ACallIsAcceptedAsAWhole) {
  Create();
  ASSERT_TRUE(Submit(Short())->Wait().ok());
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  std::vector<Request> call;
  for (const Request& request : {Short(), Short(20), Short(), Short(30)}) {
    observers.push_back(std::make_shared<RecordingObserver>());
    call.push_back(request);
    call.back().observer = observers.back();
  }
  std::vector<Request> bad = call;
  bad[3].source.ids.clear();
  const Submission refused = TrySubmit(bad);
  EXPECT_EQ(refused.status.code(), Code::kInvalidArgument);
  EXPECT_EQ(refused.request, 3);
  for (const auto& observer : observers) EXPECT_EQ(observer->answers(), 0);
  EXPECT_EQ(seen_.hits, 0);
  ASSERT_TRUE(TrySubmit(call).ok());
  for (const auto& observer : observers) EXPECT_TRUE(observer->Wait().ok());
  EXPECT_EQ(seen_.hits, 2);
  EXPECT_EQ(seen_.misses, 3);
  // The batcher behind the cache still refuses invalid requests.
  call[0].model = ServedPuppet("other");
  EXPECT_EQ(TrySubmit(call).status.code(), Code::kNotFound);
  call[0].model = TheModel();
  call[0].observer = nullptr;
  EXPECT_EQ(TrySubmit(call).status.code(), Code::kInvalidArgument);
  EXPECT_TRUE(TrySubmit({}).ok());
}

TEST_F(CachingBatcherTest, ADrainedBatcherAnswersNothing) {
  Create();
  ASSERT_TRUE(Submit(Short())->Wait().ok());
  EXPECT_TRUE(batcher_->Drain(absl::InfiniteDuration()));
  Request request = Short();
  request.observer = std::make_shared<RecordingObserver>();
  EXPECT_EQ(TrySubmit({request}).status.code(), Code::kUnavailable);
}

// Many threads submit a few different requests, some of which are cached. Each
// answer is that of the engine without a cache.
TEST_F(CachingBatcherTest, SameAnswersUnderConcurrencyAndEviction) {
  constexpr int kRequests = 60;
  std::vector<Request> requests;
  for (int i = 0; i < kRequests; ++i) {
    requests.push_back(MakeRequest(
        Source(3 + i % 7, 2 + i / 3),
        i % 3 == 0 ? Greedy(5 + i % 11) : Beams(1 + i % 4, 5 + i % 11),
        nullptr));
    requests.back().stream = i % 2 == 0;
  }
  options_.result_cache_bytes = 0;
  Create();
  std::vector<RequestResult> expected;
  for (const Request& request : requests) {
    expected.push_back(*Submit(request)->Wait());
  }
  options_.result_cache_bytes = 16 << 10;
  options_.workers = 2;
  Create();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(thread);
      for (int i = 0; i < 500; ++i) {
        // Some are asked for often.
        const int which = random() % (random() % kRequests + 1);
        const auto observer = Submit(requests[which]);
        const auto result = observer->Wait();
        ASSERT_TRUE(result.ok()) << result.status();
        ExpectSameHypotheses(result->hypotheses, expected[which].hypotheses);
        EXPECT_EQ(observer->answers(), 1);
        if (requests[which].stream) {
          EXPECT_EQ(observer->ids(0), expected[which].hypotheses[0].ids);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen_.hits + seen_.misses, 4 * 500);
  EXPECT_GT(seen_.hits, 100);
  EXPECT_GT(seen_.misses, kRequests);  // evicted and asked for again
  EXPECT_LE(seen_.most_bytes, 16 << 10);
}

}  // namespace
}  // namespace trivium
