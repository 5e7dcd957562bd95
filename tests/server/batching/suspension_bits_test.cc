// A tiny model with so little KV cache that requests are suspended all the
// time. Each answer has the bits that it has alone.
#include <random>
#include <tuple>

#include "server/batching/request_checks.h"
#include "server/batching/running_batch.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/server/batching/harness.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

class Suspensions : public BatchingObserver {
 public:
  void OnSuspended(const ServedModel&) override { ++count; }
  int count = 0;
};

struct Job {
  EncoderInput source;
  std::vector<int32_t> prefix;
  DecodingOptions options;
};

std::vector<Job> Jobs(int count, bool has_encoder) {
  std::mt19937 random(3);
  std::vector<Job> jobs(count);
  for (Job& job : jobs) {
    const int tokens = has_encoder ? 5 + static_cast<int>(random() % 40) : 0;
    for (int i = 0; i < tokens; ++i) {
      job.source.ids.push_back(static_cast<int32_t>(random() % 101));
    }
    // Some share a beginning of more than a block.
    const int prefix = 1 + static_cast<int>(random() % 25);
    const int32_t step = 1 + static_cast<int32_t>(random() % 2);
    for (int i = 0; i < prefix; ++i) job.prefix.push_back(1 + step * i);
    const int new_tokens = 20 + static_cast<int>(random() % 18);
    switch (random() % 3) {
      case 0:
        job.options = Greedy(new_tokens);
        break;
      case 1:
        job.options = Beams(3, new_tokens);
        break;
      case 2:
        job.options = Samples(3, new_tokens, random());
        break;
    }
    job.options.min_new_tokens = new_tokens;
    if (random() % 2 == 0) job.options.no_repeat_ngram_size = 2;
  }
  return jobs;
}

// With an encoder, or a decoder alone: a plain one, one whose layers keep
// states, one with latent attention and grouped experts, and one whose layers
// differ and share their keys.
enum class SuspendedModel { kTranslator, kDecoder, kStates, kLatent, kGemma4 };

RandomTransformer::Shape ShapeOf(SuspendedModel kind) {
  using Shape = RandomTransformer::Shape;
  if (kind == SuspendedModel::kTranslator) return {};
  Shape shape;
  if (kind != SuspendedModel::kDecoder) shape = RandomTransformer::LlamaShape();
  shape.encoder_layers = 0;
  if (kind == SuspendedModel::kStates) {
    shape.mixer = MixerDescription::Kind::kGatedDelta;
  }
  if (kind == SuspendedModel::kLatent) {
    shape.window = 0;
    shape.head_norms = false;
    shape.latent_rank = 13;
    shape.experts = 6;
    shape.grouped_experts = true;
  }
  if (kind == SuspendedModel::kGemma4) {
    shape.decoder_layers = 4;
    shape.gemma4 = true;
  }
  return shape;
}

class SuspensionBitsTest
    : public testing::TestWithParam<std::tuple<Formats, SuspendedModel>> {};

TEST_P(SuspensionBitsTest, SuspendedRequestsHaveTheBitsThatTheyHaveAlone) {
  const auto& [formats, kind] = GetParam();
  const bool has_encoder = kind == SuspendedModel::kTranslator;
  const RandomTransformer random(ShapeOf(kind), 5);
  const std::unique_ptr<Engine> large = NewEngine(random, formats);
  // A beam search of three may need 3 + 3 x 4 blocks, in each group of layers,
  // and three states.
  const EngineLimits& most = large->limits();
  const int64_t blocks = 16 * most.SourceBlocks(1) + 3 * most.state_blocks;
  std::unique_ptr<Engine> small =
      NewEngine(random, formats, blocks * most.block_bytes);
  const EngineLimits limits = small->limits();
  ASSERT_LE(limits.total_blocks, blocks);
  Suspensions seen;
  RunningBatch batch({.model = TheModel(), .observer = &seen},
                     std::move(small));
  const std::vector<Job> jobs = Jobs(150, has_encoder);
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (size_t i = 0; i < jobs.size();) {
    Request request = MakeRequest(jobs[i].source, jobs[i].options, nullptr);
    request.prefix = jobs[i].prefix;
    const absl::Status status = CheckRequest(request, limits, 256);
    ASSERT_TRUE(status.ok()) << status;
    auto queued = Queued(i, std::move(request), limits);
    if (batch.CanJoin(*queued) == FairQueue::Verdict::kTake) {
      observers.push_back(std::make_shared<RecordingObserver>());
      queued->request.observer = observers.back();
      batch.Add(std::move(queued));
      ++i;
    } else {
      batch.Iterate();
    }
  }
  while (!batch.empty()) batch.Iterate();
  EXPECT_GT(seen.count, 10);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto alone = GenerateAlone(large.get(), jobs[i].source,
                                     jobs[i].prefix, jobs[i].options);
    ASSERT_TRUE(alone.ok()) << alone.status();
    const auto together = observers[i]->Wait();
    ASSERT_TRUE(together.ok()) << together.status();
    SCOPED_TRACE(i);
    ExpectSameHypotheses(*alone, together->hypotheses);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, SuspensionBitsTest,
    testing::Combine(
        testing::Values(kF32Formats, kInt8Formats, kInt8KeptAsBf16),
        testing::Values(SuspendedModel::kTranslator, SuspendedModel::kDecoder,
                        SuspendedModel::kStates, SuspendedModel::kLatent,
                        SuspendedModel::kGemma4)));

}  // namespace
}  // namespace trivium
