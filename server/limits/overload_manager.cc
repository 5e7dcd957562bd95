// Memory is measured now and then, and requests arrive in between. So the
// memory is estimated:
//
//   expected = memory as last measured
//            + bytes of messages that may arrive (incoming)
//            + kBytesARequestByte x bytes of requests admitted since then
//
// A request takes its memory little by little, as it is tokenized. So the first
// two lines are at least the memory of an idle server and kForeseenBytes x the
// bytes of all requests that are held; not for small requests (Foreseen).
//
// The bytes of `incoming` that have arrived are in the measured memory too, so
// they count twice. MayComeIn also counts the bytes that have arrived since the
// last measurement, because they may not have been admitted yet.
//
// A message of b bytes may be read if
//
//   expected + b <= kPauseAt x limit
//
// or if it is the only one since the last measurement and stays below kShedAt.
// So large requests are served one by one, or refused, however little memory is
// left.
//
// A request of b bytes is admitted if
//
//   expected + kBytesARequestByte x b <= kRefuseAt x limit
//
// and a small one up to kRefuseAllAt, so that a few large requests do not shut
// out the many small ones.
//
// Calls are shed while memory > kShedAt x limit: the largest first, among
// equals the youngest, until their bytes add up to memory - kRefuseAt x limit.
#include "server/limits/overload_manager.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/cpu_limits.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr absl::Duration kComeBack = absl::Seconds(1);
// Time between two trims while memory is short, and while calls are ended for
// it: then what they free must count before small requests are refused.
constexpr absl::Duration kTrimInterval = absl::Seconds(1);
constexpr absl::Duration kTrimIntervalWhileShedding = absl::Milliseconds(200);

// Returns the bytes that ending the call would free.
int64_t Weight(const CallBytes& held) {
  return OverloadManager::kBytesARequestByte * held.bytes(Held::kRequests) +
         held.bytes(Held::kResults) + held.bytes(Held::kOutbox) +
         held.bytes(Held::kResponses);
}

}  // namespace

absl::Status AsShed(absl::Status status) {
  if (!absl::IsCancelled(status)) return status;
  return WithRetry(
      absl::ResourceExhaustedError("the call was ended because the server "
                                   "has almost no memory left"),
      kComeBack);
}

OverloadManager::Options OverloadManager::ForThisProcess(int64_t limit_bytes) {
  return {limit_bytes > 0 ? limit_bytes : UsableMemory(), PrivateMemory,
          [] { malloc_trim(0); }};
}

OverloadManager::OverloadManager(const Options& options, Metrics* metrics,
                                 bool watch)
    : options_(options), metrics_(metrics) {
  Look();
  if (stage_ != Stage::kNormal) {
    Log(spdlog::level::warn,
        "the server uses most of its memory before any call; give it more "
        "memory, or fewer workers, fewer models or a lower --kv-cache-bytes",
        {{"memory", memory_.load()}, {"limit", options_.limit_bytes}});
  }
  if (watch) watching_.emplace(kInterval, [this] { Look(); });
}

void OverloadManager::Add(AccountedCall* call) {
  MutexLock lock(&calls_mutex_);
  calls_.emplace(call, Entry{calls_seen_++});
}

void OverloadManager::Remove(AccountedCall* call) {
  MutexLock lock(&calls_mutex_);
  calls_.erase(call);
  paused_.erase(call);
}

bool OverloadManager::MayRead(AccountedCall* call) {
  if (ReadsStreams()) return true;
  MutexLock lock(&calls_mutex_);
  paused_.insert(call);
  metrics_->OnOverload("paused");
  return false;
}

bool OverloadManager::MayComeIn(int64_t bytes, int64_t incoming) {
  const int64_t others = incoming + came_;
  const double expected = static_cast<double>(
      std::max(memory_ + kBytesARequestByte * since_, Foreseen()) + others +
      bytes);
  const auto limit = static_cast<double>(options_.limit_bytes);
  return expected <= kPauseAt * limit ||
         (others == 0 && expected <= kShedAt * limit);
}

absl::Status OverloadManager::AdmitRequest(int64_t bytes, int64_t times) {
  const int64_t counted = times * bytes;
  const int64_t since = since_.fetch_add(counted) + counted;
  const auto expected = static_cast<double>(
      std::max(memory_ + kBytesARequestByte * since,
               bytes <= kSmallRequest
                   ? 0
                   : Foreseen() + kBytesARequestByte * counted) +
      account_.bytes(Held::kIncoming));
  const double part = bytes <= kSmallRequest ? kRefuseAllAt : kRefuseAt;
  if (expected > part * static_cast<double>(options_.limit_bytes)) {
    since_ -= counted;
    metrics_->OnOverload("refused");
    refused_log_.Log(
        spdlog::level::warn, "requests are refused: too little memory is left",
        {{"memory", memory_.load()}, {"limit", options_.limit_bytes}});
    return WithRetry(
        absl::ResourceExhaustedError(fmt::format(
            "the server has no memory for a request of {} bytes now", bytes)),
        kComeBack);
  }
  return absl::OkStatus();
}

int64_t OverloadManager::Foreseen() const {
  return std::max(
      memory_.load(),
      idle_memory_ + kForeseenBytes * account_.bytes(Held::kRequests));
}

void OverloadManager::Look() {
  came_ = 0;
  since_ = 0;
  memory_ = options_.memory();
  TrimWhereItHelps();
  if (account_.total() < kAlwaysHeld) idle_memory_ = memory_.load();
  const int64_t memory = memory_;
  const double part =
      static_cast<double>(memory) / static_cast<double>(options_.limit_bytes);
  stage_ = part > kShedAt     ? Stage::kShedding
           : part > kRefuseAt ? Stage::kRefusing
           : part > kPauseAt  ? Stage::kPausing
                              : Stage::kNormal;
  if (ReadsStreams()) {
    MutexLock lock(&calls_mutex_);
    for (AccountedCall* call : std::exchange(paused_, {})) {
      call->ResumeReading();
    }
  }
  if (stage_ == Stage::kShedding) {
    Shed(memory - static_cast<int64_t>(
                      kRefuseAt * static_cast<double>(options_.limit_bytes)));
  }
  for (int i = 0; i < kHeldKinds; ++i) {
    const auto kind = static_cast<Held>(i);
    metrics_->OnHeldBytes(kind, account_.bytes(kind));
  }
  metrics_->OnMemory(memory, options_.limit_bytes,
                     static_cast<int>(stage_.load()));
}

void OverloadManager::TrimWhereItHelps() {
  const absl::Time now = options_.now();
  const int64_t held = account_.total();
  if (held < held_) {
    freed_ += held_ - held;
    freed_at_ = now;
  }
  held_ = held;
  peak_ = std::max(peak_, held);
  const bool peak_is_over = peak_ - held >= kTrimBytes;
  const bool at_rest = freed_ >= kTrimAtRestBytes && now - freed_at_ >= kRest;
  const double part =
      static_cast<double>(memory_) / static_cast<double>(options_.limit_bytes);
  const bool short_of_memory =
      part > kPauseAt &&
      now - trimmed_at_ >=
          (part > kShedAt ? kTrimIntervalWhileShedding : kTrimInterval);
  if (!peak_is_over && !at_rest && !short_of_memory) return;
  peak_ = held;
  if (at_rest) freed_ = 0;
  trimmed_at_ = now;
  options_.trim();
  memory_ = options_.memory();
}

void OverloadManager::Shed(int64_t bytes) {
  struct Candidate {
    int64_t weight;
    uint64_t number;
    AccountedCall* call;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  MutexLock lock(&calls_mutex_);
  for (const auto& [call, entry] : calls_) {
    const int64_t weight = Weight(call->held());
    if (entry.shed) {
      bytes -= weight;  // about to be freed
    } else if (weight >= kLeastToShed) {
      candidates.push_back({weight, entry.number, call});
    }
  }
  std::sort(candidates.rbegin(), candidates.rend());
  for (const Candidate& candidate : candidates) {
    if (bytes <= 0) return;
    bytes -= candidate.weight;
    calls_.at(candidate.call).shed = true;
    metrics_->OnOverload("shed");
    shed_log_.Log(spdlog::level::warn,
                  "a call is ended: almost no memory is left",
                  {{"held", candidate.weight},
                   {"memory", memory_.load()},
                   {"limit", options_.limit_bytes}});
    candidate.call->Shed();
  }
}

}  // namespace trivium
