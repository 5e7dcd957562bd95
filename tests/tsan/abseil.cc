// Shows the thread sanitizer what the distribution's Abseil, which is not
// built for it, does: the locks that gRPC hands our objects over with, and the
// reference count of a Status. Defined in a program, these functions take the
// place of the shared library's for everyone in the process. Only in programs
// of the tsan build.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace absl {
namespace {

// The library's own function of that (mangled) name.
template <typename Function>
Function* Original(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define TRIVIUM_ABSEIL(rest) "_ZN4absl7debian3" rest

void Mutex::Lock() {
  static auto* const lock =
      Original<void(Mutex*)>(TRIVIUM_ABSEIL("5Mutex4LockEv"));
  lock(this);
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  static auto* const unlock =
      Original<void(Mutex*)>(TRIVIUM_ABSEIL("5Mutex6UnlockEv"));
  __tsan_release(this);
  unlock(this);
}

bool Mutex::TryLock() {
  static auto* const try_lock =
      Original<bool(Mutex*)>(TRIVIUM_ABSEIL("5Mutex7TryLockEv"));
  const bool locked = try_lock(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void CondVar::Wait(Mutex* mutex) {
  static auto* const wait = Original<void(CondVar*, Mutex*)>(
      TRIVIUM_ABSEIL("7CondVar4WaitEPNS0_5MutexE"));
  __tsan_release(mutex);
  wait(this, mutex);
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static auto* const wait = Original<bool(CondVar*, Mutex*, Duration)>(
      TRIVIUM_ABSEIL("7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE"));
  __tsan_release(mutex);
  const bool timed_out = wait(this, mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static auto* const wait = Original<bool(CondVar*, Mutex*, Time)>(
      TRIVIUM_ABSEIL("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE"));
  __tsan_release(mutex);
  const bool timed_out = wait(this, mutex, deadline);
  __tsan_acquire(mutex);
  return timed_out;
}

#undef TRIVIUM_ABSEIL

void Status::UnrefNonInlined(uintptr_t rep) {
  status_internal::StatusRep* const counted = RepToPointer(rep);
  if (counted->ref.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete counted;
  }
}

}  // namespace absl
