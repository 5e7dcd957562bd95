#include "model/tokenizer/interruption.h"

#include <utility>

namespace trivium {
namespace {

constexpr size_t kBytesBetween = 4096;

thread_local InterruptionScope* innermost = nullptr;

}  // namespace

InterruptionScope::InterruptionScope(std::function<bool()> goes_on)
    : goes_on_(std::move(goes_on)), outer_(std::exchange(innermost, this)) {}

InterruptionScope::~InterruptionScope() { innermost = outer_; }

bool Interrupted(size_t bytes) {
  InterruptionScope* const scope = innermost;
  if (scope == nullptr || scope->interrupted_) return scope != nullptr;
  scope->bytes_ += bytes;
  if (scope->bytes_ < kBytesBetween) return false;
  scope->bytes_ = 0;
  // goes_on may have the thread do other work, which this scope must not end.
  innermost = nullptr;
  scope->interrupted_ = scope->goes_on_ && !scope->goes_on_();
  innermost = scope;
  return scope->interrupted_;
}

}  // namespace trivium
