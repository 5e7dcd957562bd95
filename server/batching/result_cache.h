#ifndef TRIVIUM_SERVER_BATCHING_RESULT_CACHE_H_
#define TRIVIUM_SERVER_BATCHING_RESULT_CACHE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "server/batching/request.h"

namespace trivium {

// Caches the hypotheses of answered requests under everything that they depend
// on. Holds at most `max_bytes`; evicts the least recently used first.
// Thread-safe.
//
//   key = ResultCache::KeyOf(request);   // nullopt: must not be cached
//   hypotheses = cache.Find(*key);       // null: not found
//   cache.Insert(*key, hypotheses);
class ResultCache {
 public:
  // Shared, so that nothing is copied under the lock.
  using Hypotheses = std::shared_ptr<const std::vector<Hypothesis>>;

  explicit ResultCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // The key holds the model (with its precision and shortlist setting), source,
  // prefix and decoding options, byte by byte: requests with different answers
  // have different keys. Unset for requests that are not cached:
  // - samples, whose seed usually differs each time;
  // - requests with stop strings, which a StopMatcher does not expose;
  // - requests for encoder states, attention or a trace, which would fill the
  //   cache.
  static std::optional<std::string> KeyOf(const Request& request);

  Hypotheses Find(const std::string& key);
  // Does nothing if the key exists, or if the entry alone exceeds the bound.
  void Insert(std::string key, Hypotheses hypotheses);

  struct Size {
    int64_t bytes = 0;
    int64_t results = 0;
  };
  Size size() const;

 private:
  struct Entry {
    std::string key;
    Hypotheses hypotheses;
    int64_t bytes;
  };

  const int64_t max_bytes_;
  mutable Mutex mutex_;
  // The most recently used entry comes first.
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  // Views of the entries' keys.
  absl::flat_hash_map<std::string_view, std::list<Entry>::iterator> by_key_
      ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_RESULT_CACHE_H_
