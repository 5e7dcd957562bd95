#ifndef TRIVIUM_MODEL_TOKENIZER_INTERRUPTION_H_
#define TRIVIUM_MODEL_TOKENIZER_INTERRUPTION_H_

#include <cstddef>
#include <functional>

namespace trivium {

// Lets long work on a thread be stopped early. During the scope's life, the
// thread's work calls `goes_on` (null: always true) every few KiB of text,
// which takes a few milliseconds. Scopes nest: only the innermost is asked.
// While `goes_on` runs no scope is active, since the thread may do other work
// there. (This header has no Abseil, because Abseil's headers conflict with
// SentencePiece's.)
class InterruptionScope {
 public:
  explicit InterruptionScope(std::function<bool()> goes_on);
  ~InterruptionScope();
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  friend bool Interrupted(size_t bytes);

  const std::function<bool()> goes_on_;
  InterruptionScope* const outer_;
  size_t bytes_ = 0;  // bytes of work since goes_on was last called
  bool interrupted_ = false;
};

// Called by work before it continues with `bytes` bytes of a text. True if the
// work must end now, with the result it has.
bool Interrupted(size_t bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_INTERRUPTION_H_
