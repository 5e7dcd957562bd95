#include "server/batching/caching_batcher.h"

#include <string>
#include <utility>

#include "base/exceptions.h"

namespace trivium {
namespace {

// Answers a request from cached hypotheses.
void Answer(const Request& request, const std::vector<Hypothesis>& hypotheses) {
  RequestResult result;
  result.source_tokens = request.source_tokens();
  const absl::Status copied =
      CatchExceptions([&] { result.hypotheses = hypotheses; });
  if (!copied.ok()) return request.observer->OnDone(copied);
  if (request.stream) {
    for (size_t i = 0; i < hypotheses.size(); ++i) {
      request.observer->OnTokens(static_cast<int>(i), hypotheses[i].ids,
                                 hypotheses[i].logprobs,
                                 hypotheses[i].top_logprobs);
    }
  }
  request.observer->OnDone(std::move(result));
}

}  // namespace

// Stands between a request and its observer, and caches the result.
class CachingBatcher::Keeper : public RequestObserver {
 public:
  Keeper(CachingBatcher* batcher, std::string key,
         std::shared_ptr<RequestObserver> observer)
      : batcher_(batcher),
        key_(std::move(key)),
        observer_(std::move(observer)) {}

  void OnTokens(int index, std::span<const int32_t> ids,
                std::span<const float> logprobs,
                std::span<const TopLogprobs> top_logprobs) override {
    observer_->OnTokens(index, ids, logprobs, top_logprobs);
  }
  void OnDone(absl::StatusOr<RequestResult> result) override {
    // Without memory to keep the result, the request still has it.
    if (result.ok()) {
      CatchExceptions([&] { Keep(*result); }).IgnoreError();
    }
    observer_->OnDone(std::move(result));
  }

 private:
  void Keep(const RequestResult& result) {
    batcher_->cache_.Insert(
        std::move(key_),
        std::make_shared<const std::vector<Hypothesis>>(result.hypotheses));
    if (batcher_->observer_ != nullptr) {
      const ResultCache::Size size = batcher_->cache_.size();
      batcher_->observer_->OnCacheSize(size.bytes, size.results);
    }
  }

  CachingBatcher* const batcher_;
  std::string key_;
  const std::shared_ptr<RequestObserver> observer_;
};

void CachingBatcher::Observe(const ServedModel& model, bool hit) const {
  if (observer_ == nullptr) return;
  CatchExceptions([&] { observer_->OnCacheLookup(model, hit); }).IgnoreError();
}

Submission CachingBatcher::Submit(CallId call, std::vector<Request> requests) {
  struct Known {
    Request request;
    ResultCache::Hypotheses hypotheses;
  };
  std::vector<Known> known;
  std::vector<Request> unknown;
  std::vector<int> places;  // [unknown]: indices into `requests`
  std::vector<ModelHandle> misses;
  for (size_t i = 0; i < requests.size(); ++i) {
    Request& request = requests[i];
    std::optional<std::string> key;
    if (request.observer != nullptr && request.model != nullptr &&
        batcher_->Serves(*request.model)) {
      key = ResultCache::KeyOf(request);
    }
    if (key) {
      if (ResultCache::Hypotheses hypotheses = cache_.Find(*key)) {
        known.push_back({std::move(request), std::move(hypotheses)});
        continue;
      }
      misses.push_back(request.model);
      request.observer = std::make_shared<Keeper>(this, *std::move(key),
                                                  std::move(request.observer));
    }
    places.push_back(static_cast<int>(i));
    unknown.push_back(std::move(request));
  }
  if (!unknown.empty() || known.empty()) {
    Submission submission = batcher_->Submit(call, std::move(unknown));
    if (submission.request >= 0)
      submission.request = places[submission.request];
    if (!submission.ok()) return submission;
  }
  for (const ModelHandle& model : misses) Observe(*model, /*hit=*/false);
  for (const Known& one : known) {
    Observe(*one.request.model, /*hit=*/true);
    Answer(one.request, *one.hypotheses);
  }
  return {};
}

}  // namespace trivium
