#include "server/observability/refusal_log.h"

#include <utility>

#include "server/observability/log.h"

namespace trivium {

RefusalLog::RefusalLog()
    : write_([](int64_t calls, const std::string& last) {
        Log(spdlog::level::info, "calls refused",
            {{"calls", calls}, {"last", last}});
      }) {}

RefusalLog::~RefusalLog() {
  MutexLock lock(&mutex_);
  Tell(absl::InfiniteFuture());
}

void RefusalLog::Count(absl::Time now, std::string error) {
  MutexLock lock(&mutex_);
  ++untold_;
  last_ = std::move(error);
  Tell(now);
}

void RefusalLog::Tick(absl::Time now) {
  MutexLock lock(&mutex_);
  Tell(now);
}

void RefusalLog::Tell(absl::Time now) {
  if (untold_ == 0 || now < told_ + absl::Seconds(1)) return;
  write_(std::exchange(untold_, 0), last_);
  told_ = now;
}

}  // namespace trivium
