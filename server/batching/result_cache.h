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

// Hypotheses of requests that were answered, by all that they depend on. Takes
// at most `max_bytes`; what was asked for least recently goes first.
// Thread-safe.
//
//   key = ResultCache::KeyOf(request);   // nullopt: not for the cache
//   hypotheses = cache.Find(*key);       // null: not there
//   cache.Insert(*key, hypotheses);
class ResultCache {
 public:
  // Shared, so that nothing is copied under the lock.
  using Hypotheses = std::shared_ptr<const std::vector<Hypothesis>>;

  explicit ResultCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Model (with its precision and its shortlist, on or off), source, prefix and
  // decoding options, byte by byte: no two requests with different answers have
  // the same key. Unset for what is not kept:
  // - samples, for their seed is as a rule another one each time;
  // - requests with stop strings, which a StopMatcher does not tell;
  // - requests for encoder states, attention or a trace, which would fill the
  //   cache.
  static std::optional<std::string> KeyOf(const Request& request);

  Hypotheses Find(const std::string& key);
  // Nothing happens if it is there already, or alone takes more than all.
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
  // The one asked for last comes first.
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  // Views of the entries' keys.
  absl::flat_hash_map<std::string_view, std::list<Entry>::iterator> by_key_
      ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_RESULT_CACHE_H_
