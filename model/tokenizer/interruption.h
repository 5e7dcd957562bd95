#ifndef TRIVIUM_MODEL_TOKENIZER_INTERRUPTION_H_
#define TRIVIUM_MODEL_TOKENIZER_INTERRUPTION_H_

#include <cstddef>
#include <functional>

namespace trivium {

// Lets long work on a thread be ended before it is done: for the scope's life,
// the thread's work asks `goes_on` (null: always true) every few KiB of text,
// which is a few milliseconds. Scopes may be nested; the innermost is asked,
// and none is of what the thread does meanwhile. (Its header has no Abseil,
// which SentencePiece's cannot be beside.)
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
  size_t bytes_ = 0;  // worked on since it was asked
  bool interrupted_ = false;
};

// Asked by work that is about to go on with so many bytes of a text: whether it
// shall end, with whatever it has.
bool Interrupted(size_t bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_INTERRUPTION_H_
