#ifndef TRIVIUM_SERVER_LIMITS_BYTE_ACCOUNT_H_
#define TRIVIUM_SERVER_LIMITS_BYTE_ACCOUNT_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "server/observability/held.h"

namespace trivium {

// Counts all bytes that the process holds for clients. Thread-safe.
class ByteAccount {
 public:
  void Add(Held kind, int64_t bytes) {
    bytes_[static_cast<int>(kind)] += bytes;
  }
  int64_t bytes(Held kind) const { return bytes_[static_cast<int>(kind)]; }
  int64_t total() const {
    int64_t sum = 0;
    for (const auto& bytes : bytes_) sum += bytes;
    return sum;
  }

 private:
  std::array<std::atomic<int64_t>, kHeldKinds> bytes_{};
};

// A call's part of the account. Nothing counts after Close, so that a handler
// may outlive the account. Thread-safe.
class CallBytes {
 public:
  explicit CallBytes(ByteAccount* account) : account_(account) {}
  CallBytes(const CallBytes&) = delete;
  CallBytes& operator=(const CallBytes&) = delete;

  void Add(Held kind, int64_t bytes) {
    MutexLock lock(&mutex_);
    AddLocked(kind, bytes);
  }
  // Replaces the current value.
  void Set(Held kind, int64_t bytes) {
    MutexLock lock(&mutex_);
    AddLocked(kind, bytes - bytes_[static_cast<int>(kind)]);
  }
  // Removes all of it from the account, for good.
  void Close() {
    MutexLock lock(&mutex_);
    for (int i = 0; i < kHeldKinds; ++i) {
      AddLocked(static_cast<Held>(i), -bytes_[i]);
    }
    account_ = nullptr;
  }

  int64_t bytes(Held kind) const {
    MutexLock lock(&mutex_);
    return bytes_[static_cast<int>(kind)];
  }

 private:
  void AddLocked(Held kind, int64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (account_ == nullptr) return;
    bytes_[static_cast<int>(kind)] += bytes;
    account_->Add(kind, bytes);
  }

  mutable Mutex mutex_;
  ByteAccount* account_ ABSL_GUARDED_BY(mutex_);  // null: closed
  std::array<int64_t, kHeldKinds> bytes_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_BYTE_ACCOUNT_H_
