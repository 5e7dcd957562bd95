#ifndef TRIVIUM_SERVER_LIMITS_OVERLOAD_MANAGER_H_
#define TRIVIUM_SERVER_LIMITS_OVERLOAD_MANAGER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/repeating_thread.h"
#include "server/limits/byte_account.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"

namespace trivium {

// A call that holds memory, as the OverloadManager knows it.
class AccountedCall {
 public:
  virtual ~AccountedCall() = default;
  virtual const CallBytes& held() const = 0;
  // There is memory again: read what PauseReading has held back. Must not
  // call the manager.
  virtual void ResumeReading() {}
  // Ends the call soon, for its memory. Must not call the manager.
  virtual void Shed() = 0;
};

// What a client is told of a call that was shed: RESOURCE_EXHAUSTED with
// RetryInfo, where it was cancelled by that.
absl::Status AsShed(absl::Status status);

// Keeps the process below the memory it may use, in the manner of Envoy's
// overload manager: looks at it every kInterval, has an account of all bytes
// that are held for clients, and goes as far as it must (Stage). It gives
// memory back to the system when a peak is over, and when it is short.
// Thread-safe.
class OverloadManager {
 public:
  struct Options {
    int64_t limit_bytes = 0;  // what the process may use
    // Bytes that it uses now and cannot drop.
    std::function<int64_t()> memory;
    // Gives back what is free.
    std::function<void()> trim;
  };

  // Each does what those before it do.
  enum class Stage {
    kNormal,
    kPausing,   // large messages, and streams, are read no further
    kRefusing,  // large requests are refused before they are parsed
    kShedding,  // the calls that hold the most are ended
  };
  // Parts of the limit at which they begin.
  static constexpr double kPauseAt = 0.75;
  static constexpr double kRefuseAt = 0.85;
  static constexpr double kShedAt = 0.90;
  // Where small requests are refused, too. What runs takes more as it goes on;
  // so the largest are ended well before the many small ones are shut out.
  static constexpr double kRefuseAllAt = 0.95;

  static constexpr absl::Duration kInterval = absl::Milliseconds(50);
  // What a request of a byte comes to when it is parsed, tokenized and waits.
  static constexpr int64_t kBytesARequestByte = 4;
  // While less is held for clients streams are read, however little memory
  // there is: it is not theirs.
  static constexpr int64_t kAlwaysHeld = 1 << 20;
  // Such requests are refused last.
  static constexpr int64_t kSmallRequest = 16 << 10;
  // A peak is over when so much of the calls' bytes is free again.
  static constexpr int64_t kTrimBytes = 64 << 20;
  // Not worth an ending.
  static constexpr int64_t kLeastToShed = 64 << 10;

  // Looks once before it returns, and on its own thread from then on, unless
  // `watch` is false: then Look() is called by hand.
  OverloadManager(const Options& options, Metrics* metrics, bool watch = true);

  // The process's memory without what is backed by files, and malloc_trim;
  // `limit_bytes` 0: what the cgroup or the machine has.
  static Options ForThisProcess(int64_t limit_bytes);

  ByteAccount* account() { return &account_; }
  int64_t limit_bytes() const { return options_.limit_bytes; }

  // From a call's begin to its end.
  void Add(AccountedCall* call);
  void Remove(AccountedCall* call);

  // True where a call may read another message. Else it hears of it later
  // (ResumeReading), once.
  bool MayRead(AccountedCall* call);

  // Whether a message of so many bytes may come in, beside `incoming` bytes of
  // others that are not whole.
  bool MayComeIn(int64_t bytes, int64_t incoming);
  // So many bytes have come in: the memory that was last looked at may lack
  // them.
  void OnCame(int64_t bytes) { came_ += bytes; }

  // RESOURCE_EXHAUSTED with RetryInfo where there is no room for a request of
  // so many bytes that has come in; `times` kBytesARequestByte for each, where
  // parsing takes more.
  absl::Status AdmitRequest(int64_t bytes, int64_t times = 1);

  // Measures, and does what follows from it.
  void Look();

  Stage stage() const { return stage_; }

 private:
  void TrimWhereItHelps();
  bool ReadsStreams() const {
    return stage_ < Stage::kPausing || account_.total() < kAlwaysHeld;
  }
  void Shed(int64_t bytes);

  const Options options_;
  Metrics* const metrics_;
  ByteAccount account_;
  std::atomic<int64_t> memory_ = 0;  // when it last looked
  std::atomic<int64_t> came_ = 0;    // bytes that have come in since then
  std::atomic<int64_t> since_ = 0;   // bytes admitted since then
  std::atomic<Stage> stage_ = Stage::kNormal;
  LogLimit refused_log_, shed_log_;

  // Of whoever looks.
  int64_t peak_ = 0;  // of held bytes, since the last trim
  absl::Time trimmed_at_ = absl::InfinitePast();

  Mutex calls_mutex_;
  struct Entry {
    uint64_t number = 0;  // in the order of coming
    bool shed = false;
  };
  std::map<AccountedCall*, Entry> calls_ ABSL_GUARDED_BY(calls_mutex_);
  uint64_t calls_seen_ ABSL_GUARDED_BY(calls_mutex_) = 0;
  std::set<AccountedCall*> paused_ ABSL_GUARDED_BY(calls_mutex_);

  std::optional<RepeatingThread> watching_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_OVERLOAD_MANAGER_H_
