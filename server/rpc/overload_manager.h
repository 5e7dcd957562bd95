#ifndef TRIVIUM_SERVER_RPC_OVERLOAD_MANAGER_H_
#define TRIVIUM_SERVER_RPC_OVERLOAD_MANAGER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"

namespace trivium {

// Keeps the process below the memory it may use: counts the bytes of requests
// that calls hold and of responses that clients have not taken, looks at the
// process's memory every kInterval, refuses requests before they are parsed
// where there is no room for them, and gives memory back to the system when a
// peak is over. Thread-safe.
class OverloadManager {
 public:
  struct Options {
    int64_t limit_bytes = 0;  // what the process may use: UsableMemory()
    // Bytes that it uses now and cannot drop.
    std::function<int64_t()> memory;
    // Gives back what is free.
    std::function<void()> trim;
  };
  static constexpr absl::Duration kInterval = absl::Milliseconds(50);
  // Requests are refused that would take memory beyond this part of the limit.
  static constexpr double kRefuseAt = 0.85;
  // What a request of a byte comes to when it is parsed, tokenized and waits.
  static constexpr double kBytesARequestByte = 4;
  // A peak is over when memory has fallen by so much of the calls' bytes.
  static constexpr int64_t kTrimBytes = 64 << 20;

  // Looks once before it returns, and on its own thread from then on, unless
  // `watch` is false: then Look() is called by hand.
  OverloadManager(const Options& options, Metrics* metrics, bool watch = true);
  ~OverloadManager();

  // The process's memory without what is backed by files, and malloc_trim.
  static Options ForThisProcess();

  // Takes room for a request of so many bytes, until Release.
  // RESOURCE_EXHAUSTED with RetryInfo, and no room is taken, where there is
  // none.
  absl::Status AdmitRequest(int64_t bytes);
  void ReleaseRequest(int64_t bytes);

  // Bytes of a response that is on its way, until they are taken.
  void AddResponse(int64_t bytes) { responses_ += bytes; }
  void ReleaseResponse(int64_t bytes) { responses_ -= bytes; }

  // Measures, and trims where a peak is over.
  void Look();

 private:
  void Run();

  const Options options_;
  Metrics* const metrics_;
  std::atomic<int64_t> requests_ = 0;   // bytes
  std::atomic<int64_t> responses_ = 0;  // bytes
  std::atomic<int64_t> memory_ = 0;     // when it last looked
  std::atomic<int64_t> since_ = 0;      // bytes admitted since then
  int64_t peak_ = 0;                    // of held bytes, since the last trim
  LogLimit log_;

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_OVERLOAD_MANAGER_H_
