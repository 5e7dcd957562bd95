// Log-probabilities of given tokens through the batcher: against Transformers'
// logits, and the same bits in any company.
#include <cmath>
#include <filesystem>
#include <future>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/model.h"
#include "model/weights/weights.h"
#include "server/batching/batcher.h"
#include "tests/support/golden.h"

namespace trivium {
namespace {

constexpr int64_t kScoreCacheBytes = 32 << 20;

class ScoreAnswer : public RequestObserver {
 public:
  void OnDone(absl::StatusOr<RequestResult> result) override {
    result_.set_value(std::move(result));
  }
  // Once.
  absl::StatusOr<RequestResult> Wait() { return result_.get_future().get(); }

 private:
  std::promise<absl::StatusOr<RequestResult>> result_;
};

// A model and a batcher that serves it.
class OneModel {
 public:
  // `blocks`: of the cache; 0: more than enough.
  OneModel(const std::string& folder, Precision precision, int threads,
           int blocks = 0) {
    LoadOptions load;
    load.precision = precision;
    auto model = Model::Load(folder, load);
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return;
    model_ = *std::move(model);
    served_ = std::make_shared<const ServedModel>(
        ServedModel{.name = "served", .model = model_});
    batcher_ = Batcher::Create({}).value();
    Batcher::Engines engines;
    engines.push_back(model_->NewEngine({kScoreCacheBytes, threads}).value());
    if (blocks > 0) {
      const int64_t all = engines[0]->limits().total_blocks;
      engines[0] =
          model_->NewEngine({kScoreCacheBytes / all * blocks, threads}).value();
      EXPECT_LE(engines[0]->limits().total_blocks, blocks);
    }
    EXPECT_TRUE(batcher_->AddModel(served_, std::move(engines)).ok());
  }

  const Model& model() const { return *model_; }

  // All at once.
  std::vector<RequestResult> Run(std::vector<Request> requests) {
    std::vector<std::shared_ptr<ScoreAnswer>> answers;
    for (Request& request : requests) {
      answers.push_back(std::make_shared<ScoreAnswer>());
      request.model = served_;
      request.observer = answers.back();
    }
    const size_t count = requests.size();
    const Submission submission =
        batcher_->Submit(batcher_->NewCall(), std::move(requests));
    EXPECT_TRUE(submission.status.ok()) << submission.status;
    std::vector<RequestResult> results(count);
    for (size_t i = 0; submission.status.ok() && i < count; ++i) {
      auto result = answers[i]->Wait();
      EXPECT_TRUE(result.ok()) << result.status();
      if (result.ok()) results[i] = *std::move(result);
    }
    return results;
  }

 private:
  std::shared_ptr<const Model> model_;
  ModelHandle served_;
  std::unique_ptr<Batcher> batcher_;
};

Request Scored(std::vector<int32_t> source, std::vector<int32_t> tokens,
               int first, int top) {
  Request request;
  request.source.ids = std::move(source);
  request.prefix = std::move(tokens);
  request.scoring = Scoring{.first = first, .top_logprobs = top};
  return request;
}

// log-softmax of a row in double precision.
std::vector<double> LogSoftmax(const float* logits, size_t count) {
  double largest = -INFINITY, sum = 0;
  for (size_t i = 0; i < count; ++i) {
    largest = std::max<double>(largest, logits[i]);
  }
  for (size_t i = 0; i < count; ++i) sum += std::exp(logits[i] - largest);
  std::vector<double> row(logits, logits + count);
  for (double& x : row) x -= largest + std::log(sum);
  return row;
}

// Every decoder's folder, and encoder-decoders.
TEST(ScoreTest, EqualsTheLogSoftmaxOfTransformersLogits) {
  int folders = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/golden")) {
    if (!std::filesystem::exists(entry.path() / "golden.json")) continue;
    const auto golden = GoldenCase::Open(entry.path().string());
    ASSERT_TRUE(golden.ok()) << golden.status();
    if ((*golden)->kind() == "encoder") continue;
    SCOPED_TRACE(entry.path().string());
    OneModel served((*golden)->model_folder(), Precision::kF32, 1);
    const bool decoder = (*golden)->kind() == "decoder";
    std::vector<Request> requests;
    std::vector<const TensorView*> expected;
    for (size_t run = 0; run < (*golden)->runs().size(); ++run) {
      const GoldenRun& one = (*golden)->runs()[run];
      const TensorView* logits =
          (*golden)->Find(static_cast<int>(run), "logits");
      std::vector<int32_t> tokens =
          decoder ? one.input_ids : one.decoder_input_ids;
      if (logits == nullptr || tokens.empty()) continue;
      // The last position's logits tell of one more.
      tokens.push_back(tokens.front());
      requests.push_back(
          Scored(decoder ? std::vector<int32_t>() : one.input_ids,
                 std::move(tokens), 1, 3));
      expected.push_back(logits);
    }
    if (requests.empty()) continue;
    ++folders;
    const auto results = served.Run(requests);
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_TRUE(results[i].scored.has_value());
      const Hypothesis& scored = *results[i].scored;
      std::vector<float> logits(expected[i]->elements());
      CopyToF32(*expected[i], 0, logits);
      // The goldens' own for logits, in two places of a softmax.
      float largest = 1;
      for (const float logit : logits) {
        largest = std::max(largest, std::abs(logit));
      }
      const double tolerance = 2e-4 * largest;
      const size_t vocabulary = expected[i]->shape.back();
      ASSERT_EQ(scored.logprobs.size() * vocabulary, logits.size());
      double total = 0;
      for (size_t p = 0; p < scored.logprobs.size(); ++p) {
        const std::vector<double> row =
            LogSoftmax(&logits[p * vocabulary], vocabulary);
        const double of_token = row[requests[i].prefix[p + 1]];
        EXPECT_NEAR(scored.logprobs[p], of_token, tolerance)
            << "position " << p;
        total += of_token;
        ASSERT_EQ(scored.top_logprobs[p].size(), 3u);
        EXPECT_NEAR(scored.top_logprobs[p][0].logprob,
                    *std::max_element(row.begin(), row.end()), tolerance);
      }
      EXPECT_NEAR(scored.log_probability, total,
                  tolerance * static_cast<double>(scored.logprobs.size()));
    }
  }
  EXPECT_GE(folders, 10);
}

// A beam search's total is that of its output, scored. Where it renormalizes,
// as the folder says, it is of possible tokens only and a little greater.
TEST(ScoreTest, ScoresABeamsOutputLikeTheBeam) {
  OneModel served("model/embedded", Precision::kF32, 1);
  const Model& model = served.model();
  std::vector<Request> searches;
  for (const char* text :
       {"The house is big.", "I ate an apple and went home.", "Hello!"}) {
    EncodeOptions options;
    const Direction direction = model.ResolveDirection({}, "de").value();
    options.prefix_ids = direction.prefix_ids;
    Request& request = searches.emplace_back();
    request.source.ids = model.tokenizer()->Encode(text, options).value().ids;
    request.prefix = model.decoder_prefix();
    request.decoding = model.decoding_defaults();
    request.decoding->renormalize_logits = false;
    request.decoding->beam_size = 4;
    request.decoding->hypotheses = 4;
    request.decoding->max_new_tokens = 40;
  }
  const auto found = served.Run(searches);
  std::vector<Request> scorings;
  std::vector<float> totals;
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i].hypotheses) {
      std::vector<int32_t> tokens = searches[i].prefix;
      const int first = static_cast<int>(tokens.size());
      tokens.insert(tokens.end(), hypothesis.ids.begin(), hypothesis.ids.end());
      scorings.push_back(
          Scored(searches[i].source.ids, std::move(tokens), first, 0));
      totals.push_back(hypothesis.log_probability);
    }
  }
  ASSERT_EQ(totals.size(), 12u);
  const auto scored = served.Run(scorings);
  for (size_t i = 0; i < scored.size(); ++i) {
    ASSERT_TRUE(scored[i].scored.has_value());
    EXPECT_NEAR(scored[i].scored->log_probability, totals[i], 1e-4) << i;
  }
}

std::vector<Request> Crowd(const Model& model) {
  std::mt19937 random(18);
  const auto ids = [&](int count) {
    std::vector<int32_t> ids(count);
    for (int32_t& id : ids) id = random() % model.info().vocabulary;
    return ids;
  };
  const bool encodes = model.info().design == Design::kEncoderDecoder;
  std::vector<Request> requests;
  std::vector<int32_t> shared = ids(20);
  for (int i = 0; i < 40; ++i) {
    std::vector<int32_t> tokens = i % 3 == 0 ? shared : ids(1 + random() % 20);
    const int first = static_cast<int>(tokens.size());
    const std::vector<int32_t> target = ids(1 + random() % 30);
    tokens.insert(tokens.end(), target.begin(), target.end());
    std::vector<int32_t> source =
        encodes ? ids(3 + random() % 20) : std::vector<int32_t>();
    if (i % 4 == 3) {  // company
      Request& request = requests.emplace_back();
      request.source.ids = source;
      request.prefix = tokens;
      request.decoding.emplace();
      request.decoding->beam_size = 1 + i % 3;
      request.decoding->max_new_tokens = 5;
    } else {
      requests.push_back(Scored(source, tokens, first, i % 3));
    }
  }
  return requests;
}

TEST(ScoreTest, GivesTheSameBitsInAnyBatchAndThreads) {
  for (const auto& [folder, precision] :
       {std::pair("model/embedded", Precision::kInt8),
        {"tests/golden/llama.lm", Precision::kF32},
        {"tests/golden/gpt2.lm", Precision::kInt8}}) {
    SCOPED_TRACE(folder);
    OneModel alone(folder, precision, 1);
    if (!alone.model().info().batch_invariant) continue;
    const std::vector<Request> requests = Crowd(alone.model());
    std::vector<RequestResult> expected;
    for (const Request& request : requests) {
      expected.push_back(alone.Run({request}).front());
    }
    // With few blocks some are suspended, and read anew.
    for (const auto& [threads, blocks] :
         std::vector<std::pair<int, int>>{{1, 0}, {2, 24}, {3, 0}, {8, 24}}) {
      SCOPED_TRACE(threads);
      OneModel together(folder, precision, threads, blocks);
      const auto results = together.Run(requests);
      for (size_t i = 0; i < requests.size(); ++i) {
        SCOPED_TRACE(i);
        if (!requests[i].scoring) continue;
        const Hypothesis& a = *expected[i].scored;
        const Hypothesis& b = *results[i].scored;
        EXPECT_EQ(a.ids, b.ids);
        EXPECT_EQ(a.logprobs, b.logprobs);
        EXPECT_EQ(a.log_probability, b.log_probability);
        ASSERT_EQ(a.top_logprobs.size(), b.top_logprobs.size());
        for (size_t t = 0; t < a.top_logprobs.size(); ++t) {
          ASSERT_EQ(a.top_logprobs[t].size(), b.top_logprobs[t].size());
          for (size_t k = 0; k < a.top_logprobs[t].size(); ++k) {
            EXPECT_EQ(a.top_logprobs[t][k].token, b.top_logprobs[t][k].token);
            EXPECT_EQ(a.top_logprobs[t][k].logprob,
                      b.top_logprobs[t][k].logprob);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace trivium
