#ifndef TRIVIUM_SERVER_LIMITS_ACCESS_H_
#define TRIVIUM_SERVER_LIMITS_ACCESS_H_

#include <array>
#include <cstdint>
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

namespace trivium {

using Sha256 = std::array<uint8_t, 32>;

// What the bearer of a token may do. Thread-safe.
class Grant {
 public:
  struct Rules {
    std::string name;                            // of the client
    Sha256 hash;                                 // of the token
    std::vector<std::string> models;             // empty: all
    bool orders = false;                         // may load and unload models
    double rate = 0;                             // calls a second; 0: any
    double burst = 1;                            // calls at once, after a rest
    Priority priority = Priority::kInteractive;  // the highest of its calls
  };

  explicit Grant(Rules rules)
      : rules_(std::move(rules)), balance_(rules_.burst) {}

  const Rules& rules() const { return rules_; }
  bool MayUse(std::string_view model) const;
  // Counts a call. RESOURCE_EXHAUSTED with RetryInfo: too many at this time.
  absl::Status Spend(absl::Time now) const;

 private:
  const Rules rules_;
  mutable Mutex mutex_;
  mutable double balance_ ABSL_GUARDED_BY(mutex_);  // calls, at spent_at_
  mutable absl::Time spent_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

// Who may call, by the bearer tokens of a file:
//   {"tokens": [{"name": "search", "sha256": "9f86d0...",
//                "models": ["en-de"], "rate": 10, "burst": 20,
//                "priority": "batch", "orders": false}]}
// `name` and `sha256`, the SHA-256 of the token in hexadecimal digits, are
// required. The file has no token, so tokens must be long and random.
//
// A thread reads the file again every `interval`; one that is wrong is told in
// the log, and what was right stays. Thread-safe.
class Access {
 public:
  // The error names the file and what is wrong.
  static absl::StatusOr<std::unique_ptr<Access>> Load(
      const std::string& path, const Clock* clock = Clock::Real(),
      absl::Duration interval = absl::Seconds(5));

  // Of the value of a call's `authorization`: "Bearer TOKEN". UNAUTHENTICATED
  // where that is no token of the file.
  absl::StatusOr<std::shared_ptr<const Grant>> Find(
      std::string_view authorization) const;
  const Clock* clock() const { return clock_; }  // of Grant::Spend

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
  // The file's, of grants_.
  std::optional<std::string> text_ ABSL_GUARDED_BY(reload_mutex_);
  std::string told_ ABSL_GUARDED_BY(reload_mutex_);  // the last problem
  std::optional<RepeatingThread> reloading_;
};

struct CallContext;

// Access::Find of a call, into its context: what its token allows and whose it
// is, or why it is refused. Nothing where anybody may call (null).
void Identify(const Access* access, std::string_view authorization,
              CallContext* context);
// The same, and counts the call (Grant::Spend).
void Admit(const Access* access, std::string_view authorization,
           CallContext* context);

// The entry of a token in such a file; its name is to be filled in.
// INVALID_ARGUMENT where the token is too short to be random, or no token.
absl::StatusOr<std::string> TokenEntry(std::string_view token);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_ACCESS_H_
