#ifndef TRIVIUM_SERVER_LIMITS_ACCESS_H_
#define TRIVIUM_SERVER_LIMITS_ACCESS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/repeating_thread.h"
#include "server/batching/request.h"
#include "server/limits/crypto.h"

namespace trivium {

// The permissions of a token. Thread-safe.
class Grant {
 public:
  struct Rules {
    std::string name;                 // the client's
    Sha256 hash;                      // the token's
    std::vector<std::string> models;  // empty: all
    bool orders = false;              // may load and unload models
    bool share_cache = false;         // see Grant::cache_salt
    double rate = 0;                  // calls per second; 0: no limit
    double burst = 1;                 // calls at once, after a rest
    // The highest priority of its calls.
    Priority priority = Priority::kInteractive;
  };

  explicit Grant(Rules rules)
      : rules_(std::move(rules)),
        cache_salt_(rules_.share_cache ? ""
                                       : std::string(1, '\0') + rules_.name),
        balance_(rules_.burst) {}

  const Rules& rules() const { return rules_; }
  bool MayUse(std::string_view model) const;
  // The salt of requests without one of their own. It keeps what was cached for
  // the token's client from others, who would see by a short wait that a text
  // was there before. Empty, so that all share, if the rules say share_cache.
  const std::string& cache_salt() const { return cache_salt_; }
  // Counts a call. Returns RESOURCE_EXHAUSTED with RetryInfo if the token's
  // rate is exceeded.
  absl::Status Spend(absl::Time now) const;

 private:
  const Rules rules_;
  // Begins with a zero byte, which no client's salt has (CheckSalt).
  const std::string cache_salt_;
  mutable Mutex mutex_;
  mutable double balance_ ABSL_GUARDED_BY(mutex_);  // calls at spent_at_
  mutable absl::Time spent_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

// Decides who may call, by the bearer tokens in a file:
//   {"tokens": [{"name": "search", "sha256": "9f86d0...",
//                "models": ["en-de"], "rate": 10, "burst": 20,
//                "priority": "batch", "orders": false,
//                "share_cache": false}]}
// `name` and `sha256`, the SHA-256 of the token in hexadecimal digits, are
// required. The file has hashes instead of tokens, so tokens must be long and
// random.
//
// A thread reads the file again every `interval`. If it is wrong, the log says
// so and the last good tokens stay. Thread-safe.
class Access {
 public:
  // The error names the file and says what is wrong with it.
  static absl::StatusOr<std::unique_ptr<Access>> Load(
      const std::string& path, const Clock* clock = Clock::Real(),
      absl::Duration interval = absl::Seconds(5));

  // Finds the token in the value of a call's `authorization`: "Bearer TOKEN".
  // UNAUTHENTICATED if the file does not have it.
  absl::StatusOr<std::shared_ptr<const Grant>> Find(
      std::string_view authorization) const;
  const Clock* clock() const { return clock_; }  // for Grant::Spend

  // Reads the file now, as the thread does.
  absl::Status Reload();

 private:
  using Grants = std::vector<std::shared_ptr<const Grant>>;

  Access(const std::string& path, const Clock* clock)
      : path_(path), clock_(clock) {}
  absl::Status ReloadLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(reload_mutex_);

  const std::string path_;
  const Clock* const clock_;
  mutable Mutex mutex_;
  std::shared_ptr<const Grants> grants_ ABSL_GUARDED_BY(mutex_);
  Mutex reload_mutex_;  // taken before mutex_
  // The text that grants_ was parsed from.
  std::optional<std::string> text_ ABSL_GUARDED_BY(reload_mutex_);
  std::string logged_ ABSL_GUARDED_BY(reload_mutex_);  // the last problem
  std::optional<RepeatingThread> reloading_;
};

struct CallContext;

// Finds the token of a call and sets in its context what it allows and whose it
// is, or why the call is refused. Does nothing if `access` is null.
void Identify(const Access* access, std::string_view authorization,
              CallContext* context);
// Like Identify, and counts the call (Grant::Spend).
void Admit(const Access* access, std::string_view authorization,
           CallContext* context);

// Returns a token's entry for such a file, with a placeholder for its name.
// INVALID_ARGUMENT if the token is too short to be random, or not valid.
absl::StatusOr<std::string> TokenEntry(std::string_view token);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_ACCESS_H_
