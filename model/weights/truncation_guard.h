#ifndef TRIVIUM_MODEL_WEIGHTS_TRUNCATION_GUARD_H_
#define TRIVIUM_MODEL_WEIGHTS_TRUNCATION_GUARD_H_

#include <cstddef>

namespace trivium {

// Lets a process survive that reads a mapped file while somebody cuts it short.
// The system answers such a read with SIGBUS, which ends the process; while a
// guard lives, its mapping reads as zeros instead from the first page that is
// gone, and cut_short() tells. (As libwayland does for memory that its clients
// share.) A SIGBUS from elsewhere goes to whoever handled it before.
//
// Why not a copy: weights are gigabytes, read once, and packed into another
// form; the pages of a mapping are the system's to drop, those of a copy are
// not.
class TruncationGuard {
 public:
  // Of a mapping that begins at a page's begin and outlives the guard.
  TruncationGuard(void* begin, size_t size);
  ~TruncationGuard();
  TruncationGuard(const TruncationGuard&) = delete;
  TruncationGuard& operator=(const TruncationGuard&) = delete;

  // From now on no guard of the process handles signals: a read of what is gone
  // ends it, or is handled by whoever else handles SIGBUS. For programs that
  // have this one's parts inside. Before the first guard.
  static void LeaveSignalsAlone();

  // False where there are as many guards already as there can be (1024): the
  // mapping must not be read.
  bool active() const { return slot_ >= 0; }
  bool cut_short() const;

 private:
  int slot_ = -1;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_TRUNCATION_GUARD_H_
