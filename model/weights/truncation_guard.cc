// The signal handler runs in the thread whose read failed, in the middle of any
// code. So it neither locks nor allocates: it searches a fixed table of atomics
// and calls mmap, and the read continues. A slot of the table is published by
// its size, which is set last and cleared first.
#include "model/weights/truncation_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace trivium {
namespace {

struct Slot {
  std::atomic<bool> taken = false;
  std::atomic<bool> cut_short = false;
  std::atomic<uintptr_t> begin = 0;
  std::atomic<size_t> size = 0;  // 0: unused
};

std::array<Slot, 1024> slots;
struct sigaction before;
uintptr_t page_size = 4096;
std::atomic<bool> leaves_signals_alone = false;

// Replaces the rest of a guarded mapping, from the failed page to its end, by
// zeros.
bool Replace(uintptr_t address) {
  for (Slot& slot : slots) {
    const size_t size = slot.size.load(std::memory_order_acquire);
    const uintptr_t begin = slot.begin.load(std::memory_order_relaxed);
    if (address < begin || address - begin >= size) continue;
    const uintptr_t page = address & ~(page_size - 1);
    // Calls the system directly, because the thread sanitizer considers mmap a
    // write that races with the reads of other threads. These find the file's
    // bytes or zeros, as intended.
    const long zeros =
        syscall(SYS_mmap, page, begin + size - page, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, off_t{0});
    slot.cut_short.store(true, std::memory_order_release);
    return zeros != -1;
  }
  return false;
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool replaced = info->si_code == BUS_ADRERR &&
                        Replace(reinterpret_cast<uintptr_t>(info->si_addr));
  errno = error;
  if (replaced) return;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    // The read is repeated and ends the process, as it would have.
    ::signal(SIGBUS, SIG_DFL);
  }
}

void InstallHandler() {
  if (leaves_signals_alone) return;
  static std::once_flag once;
  std::call_once(once, [] {
    page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = OnBusError;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
  });
}

}  // namespace

TruncationGuard::TruncationGuard(void* begin, size_t size) {
  InstallHandler();
  for (size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots[i];
    if (slot.taken.exchange(true)) continue;
    slot.cut_short = false;
    slot.begin.store(reinterpret_cast<uintptr_t>(begin),
                     std::memory_order_relaxed);
    slot.size.store(size, std::memory_order_release);
    slot_ = static_cast<int>(i);
    return;
  }
}

bool TruncationGuard::Guards(const void* begin, size_t size) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
  for (const Slot& slot : slots) {
    const size_t guarded = slot.size.load(std::memory_order_acquire);
    const uintptr_t first = slot.begin.load(std::memory_order_relaxed);
    if (address >= first && address - first < guarded &&
        size <= guarded - (address - first)) {
      return true;
    }
  }
  return false;
}

void TruncationGuard::LeaveSignalsAlone() { leaves_signals_alone = true; }

TruncationGuard::~TruncationGuard() {
  if (slot_ < 0) return;
  slots[slot_].size = 0;
  slots[slot_].taken = false;
}

bool TruncationGuard::cut_short() const {
  return slot_ >= 0 && slots[slot_].cut_short;
}

}  // namespace trivium
