// Memory is looked at now and then, and requests come between two looks; so
// what is expected is
//   expected = memory at the last look + kBytesARequestByte x bytes admitted
//   since,
// and a request is refused where expected with it exceeds kRefuseAt x limit.
#include "server/rpc/overload_manager.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/cpu_limits.h"
#include "server/handlers/status.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

constexpr absl::Duration kComeBack = absl::Seconds(1);

// Resident memory without what is shared, which is files of models mostly and
// can be read again.
int64_t PrivateMemory() {
  long total = 0, resident = 0, shared = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const int fields =
      std::fscanf(file, "%ld %ld %ld", &total, &resident, &shared);
  std::fclose(file);
  return fields == 3 ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

OverloadManager::Options OverloadManager::ForThisProcess() {
  return {UsableMemory(), PrivateMemory, [] { malloc_trim(0); }};
}

OverloadManager::OverloadManager(const Options& options, Metrics* metrics,
                                 bool watch)
    : options_(options), metrics_(metrics) {
  Look();
  if (watch) thread_ = std::thread([this] { Run(); });
}

OverloadManager::~OverloadManager() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.SignalAll();
  if (thread_.joinable()) thread_.join();
}

absl::Status OverloadManager::AdmitRequest(int64_t bytes) {
  const int64_t since = since_.fetch_add(bytes) + bytes;
  const double expected =
      static_cast<double>(memory_) + kBytesARequestByte * since;
  if (expected > kRefuseAt * options_.limit_bytes) {
    since_ -= bytes;
    log_.Log(spdlog::level::warn,
             "requests are refused: too little memory is left",
             {{"memory", memory_.load()}, {"limit", options_.limit_bytes}});
    return WithRetry(
        absl::ResourceExhaustedError(fmt::format(
            "the server has no memory for a request of {} bytes now", bytes)),
        kComeBack);
  }
  requests_ += bytes;
  return absl::OkStatus();
}

void OverloadManager::ReleaseRequest(int64_t bytes) { requests_ -= bytes; }

void OverloadManager::Look() {
  since_ = 0;
  memory_ = options_.memory();
  const int64_t held = requests_ + responses_;
  peak_ = std::max(peak_, held);
  if (peak_ - held >= kTrimBytes) {
    peak_ = held;
    options_.trim();
    memory_ = options_.memory();
  }
  metrics_->OnHeldBytes(requests_, responses_);
}

void OverloadManager::Run() {
  while (true) {
    {
      MutexLock lock(&mutex_);
      if (!stopping_) {
        changed_.WaitFor(&mutex_, absl::ToChronoNanoseconds(kInterval));
      }
      if (stopping_) return;
    }
    Look();
  }
}

}  // namespace trivium
