#ifndef TRIVIUM_MODEL_WEIGHTS_TRUNCATION_GUARD_H_
#define TRIVIUM_MODEL_WEIGHTS_TRUNCATION_GUARD_H_

#include <cstddef>

namespace trivium {

// Lets a process survive the truncation of a mapped file that it reads. The
// system answers such a read with SIGBUS, which ends the process. While a guard
// lives, its mapping reads as zeros instead, from the first missing page on,
// and cut_short() is true. (libwayland does the same for memory that its
// clients share.) A SIGBUS from elsewhere is passed to the previous handler.
//
// Why not a copy: weights are gigabytes, read once, and packed into another
// form. The system can drop the pages of a mapping, but not those of a copy.
class TruncationGuard {
 public:
  // The mapping must begin at a page and outlive the guard.
  TruncationGuard(void* begin, size_t size);
  ~TruncationGuard();
  TruncationGuard(const TruncationGuard&) = delete;
  TruncationGuard& operator=(const TruncationGuard&) = delete;

  // Disables signal handling by all guards of the process: a read of missing
  // pages ends the process or is handled by another SIGBUS handler. For
  // programs that embed the library. Call it before the first guard.
  static void LeaveSignalsAlone();

  // True if a living guard has all of [begin, begin + size).
  static bool Guards(const void* begin, size_t size);

  // False if the limit of guards (1024) is reached: the mapping must not be
  // read.
  bool active() const { return slot_ >= 0; }
  bool cut_short() const;

 private:
  int slot_ = -1;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_TRUNCATION_GUARD_H_
