#ifndef TRIVIUM_MODEL_WEIGHTS_PICKLE_STACK_H_
#define TRIVIUM_MODEL_WEIGHTS_PICKLE_STACK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "model/weights/unpickler.h"

namespace trivium {

// The memory of pickle's stack machine: the values created so far, the stack of
// their indices with its marks, and the memo. It knows nothing of opcodes, and
// it keeps a hostile pickle within bounds, whatever the order of calls.
//
// A method that fails sets the error. The first error is kept, and the stack is
// meaningless after it. So a caller makes all the calls of an opcode and checks
// error() afterwards:
//
//   PickleStack stack;
//   stack.PushInteger(PickleValue::Kind::kInteger, 1);
//   stack.PushInteger(PickleValue::Kind::kInteger, 2);
//   stack.PushTuple(2);
//   const std::optional<uint32_t> root = stack.Pop();
//   if (!stack.error().empty()) return ...;
//   std::vector<PickleValue> values = std::move(stack).TakeValues();
class PickleStack {
 public:
  using Kind = PickleValue::Kind;

  // Empty if nothing has failed.
  const std::string& error() const { return error_; }
  void Fail(std::string what);

  // Returns a pushed value; the reference is valid until the next push.
  const PickleValue& at(uint32_t index) const { return values_[index]; }
  std::vector<PickleValue> TakeValues() && { return std::move(values_); }

  // Push a new value on the stack.
  void Push(PickleValue value);
  void PushInteger(Kind kind, int64_t integer);
  void PushText(Kind kind, std::string text);
  void PushItems(Kind kind, std::vector<uint32_t> items);
  // Replaces the `size` topmost values by a tuple of them.
  void PushTuple(int size);
  // Pushes an existing value.
  void PushIndex(uint32_t index);
  // Pushes the topmost value again.
  void PushTop();

  // Pops a value above the last mark; fails if there is none.
  std::optional<uint32_t> Pop();

  void Mark();
  // Pops everything above the last mark, and the mark.
  std::vector<uint32_t> PopToMark();

  // Appends to the container on top of the stack, which must be of `kind`.
  void Extend(Kind kind, const std::vector<uint32_t>& items);

  // Store the topmost value in the memo, under a key or under the next free
  // one.
  void Memoize(uint64_t key);
  void Memoize() { Memoize(memo_.size()); }
  void Recall(uint64_t key);

  // Must be called before the items of a container are walked or copied: it
  // bounds the time of a pickle as well as its memory. Returns false after an
  // error.
  bool CountItems(size_t count);

 private:
  std::vector<PickleValue> values_;
  std::vector<uint32_t> stack_;  // indices of values_
  std::vector<size_t> marks_;    // stack sizes
  absl::flat_hash_map<uint64_t, uint32_t> memo_;
  std::string error_;
  size_t items_ = 0;  // items added to containers, copied or walked
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_PICKLE_STACK_H_
