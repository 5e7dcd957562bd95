#ifndef TRIVIUM_SERVER_LIMITS_OVERLOAD_MANAGER_H_
#define TRIVIUM_SERVER_LIMITS_OVERLOAD_MANAGER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/repeating_thread.h"
#include "server/limits/byte_account.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"

namespace trivium {

// A call that holds memory, as OverloadManager sees it.
class AccountedCall {
 public:
  virtual ~AccountedCall() = default;
  virtual const CallBytes& held() const = 0;
  // There is memory again: read the message that MayRead held back. Must not
  // call the manager.
  virtual void ResumeReading() {}
  // Ends the call soon to free its memory. Must not call the manager.
  virtual void Shed() = 0;
};

// Returns the status for the client of a shed call: RESOURCE_EXHAUSTED with
// RetryInfo instead of CANCELLED; other statuses stay.
absl::Status AsShed(absl::Status status);

// Keeps the process below the memory that it may use, like Envoy's overload
// manager. It measures the memory every kInterval, keeps an account of all
// bytes that are held for clients, and goes as far as it must (Stage). It
// returns freed memory to the system when a peak is over, and when memory is
// short. Thread-safe.
class OverloadManager {
 public:
  struct Options {
    int64_t limit_bytes = 0;  // memory that the process may use
    // Returns the bytes that it uses now and cannot drop.
    std::function<int64_t()> memory;
    // Returns freed memory to the system.
    std::function<void()> trim;
    std::function<absl::Time()> now = SteadyNow;
  };

  // Each stage also does what the stages before it do.
  enum class Stage {
    kNormal,
    kPausing,   // large messages and streams are read no further
    kRefusing,  // large requests are refused before they are parsed
    kShedding,  // the calls that hold the most memory are ended
  };
  // Parts of the limit at which the stages begin.
  static constexpr double kPauseAt = 0.75;
  static constexpr double kRefuseAt = 0.85;
  static constexpr double kShedAt = 0.90;
  // Beyond this part small requests are refused, too. Running calls take more
  // memory as they go on. So the largest calls are ended well before the many
  // small requests are refused.
  static constexpr double kRefuseAllAt = 0.95;

  static constexpr absl::Duration kInterval = absl::Milliseconds(50);
  // Memory for each byte of a request once it is parsed, tokenized and queued.
  static constexpr int64_t kBytesARequestByte = 4;
  // The same, of requests that are held: what some take beyond, while they are
  // tokenized.
  static constexpr int64_t kForeseenBytes = 6;
  // While less than this is held for clients, streams are read even if memory
  // is short: clients are not the cause.
  static constexpr int64_t kAlwaysHeld = 1 << 20;
  // Requests up to this size are refused last.
  static constexpr int64_t kSmallRequest = 16 << 10;
  // Freed memory is returned when this many of the calls' bytes are free again
  // after a peak, and when kTrimAtRestBytes have become free since the last
  // return and no more for kRest. The calls free their memory a little after
  // they leave the account, and a byte of a request took several: the end of a
  // peak needs the second rule.
  static constexpr int64_t kTrimBytes = 64 << 20;
  static constexpr int64_t kTrimAtRestBytes = 1 << 20;
  static constexpr absl::Duration kRest = absl::Seconds(1);
  // A call that holds less is not ended.
  static constexpr int64_t kLeastToShed = 64 << 10;

  // Measures once before it returns, then on its own thread. If `watch` is
  // false, the caller must call Look() instead.
  OverloadManager(const Options& options, Metrics* metrics, bool watch = true);

  // Options with this process's memory, without pages backed by files, and
  // malloc_trim. `limit_bytes` 0: the limit of the cgroup or the machine.
  static Options ForThisProcess(int64_t limit_bytes);

  ByteAccount* account() { return &account_; }
  int64_t limit_bytes() const { return options_.limit_bytes; }

  // Called at a call's begin and at its end.
  void Add(AccountedCall* call);
  void Remove(AccountedCall* call);

  // Returns true if a call may read another message. Else ResumeReading is
  // called later, once.
  bool MayRead(AccountedCall* call);

  // Returns true if a message of `bytes` may be read, beside `incoming` bytes
  // of other incomplete messages.
  bool MayComeIn(int64_t bytes, int64_t incoming);
  // `bytes` of a message have arrived. The last measurement may lack them.
  void OnCame(int64_t bytes) { came_ += bytes; }

  // Returns RESOURCE_EXHAUSTED with RetryInfo if there is no memory for a
  // request of `bytes` that has arrived. It is assumed to need `times` x
  // kBytesARequestByte for each byte; `times` > 1 if parsing needs more.
  absl::Status AdmitRequest(int64_t bytes, int64_t times = 1);

  // Measures the memory and acts on it.
  void Look();

  Stage stage() const { return stage_; }

 private:
  void TrimWhereItHelps();
  // Returns the memory that will be used once the requests that are held have
  // taken theirs, at least what was measured.
  int64_t Foreseen() const;
  bool ReadsStreams() const {
    return stage_ < Stage::kPausing || account_.total() < kAlwaysHeld;
  }
  void Shed(int64_t bytes);

  const Options options_;
  Metrics* const metrics_;
  ByteAccount account_;
  std::atomic<int64_t> memory_ = 0;  // as last measured
  // The last measurement while next to nothing was held.
  std::atomic<int64_t> idle_memory_ = 0;
  std::atomic<int64_t> came_ = 0;   // bytes that have arrived since then
  std::atomic<int64_t> since_ = 0;  // bytes admitted since then
  std::atomic<Stage> stage_ = Stage::kNormal;
  LogLimit refused_log_, shed_log_;

  // Used by Look only.
  int64_t held_ = 0;   // the calls' bytes at the last look
  int64_t peak_ = 0;   // the most of them since the last trim
  int64_t freed_ = 0;  // the sum of all that became free since then
  absl::Time freed_at_ = absl::InfinitePast();
  absl::Time trimmed_at_ = absl::InfinitePast();

  Mutex calls_mutex_;
  struct Entry {
    uint64_t number = 0;  // in the order of Add
    bool shed = false;
  };
  std::map<AccountedCall*, Entry> calls_ ABSL_GUARDED_BY(calls_mutex_);
  uint64_t calls_seen_ ABSL_GUARDED_BY(calls_mutex_) = 0;
  std::set<AccountedCall*> paused_ ABSL_GUARDED_BY(calls_mutex_);

  std::optional<RepeatingThread> watching_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_OVERLOAD_MANAGER_H_
