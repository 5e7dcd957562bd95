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

// The memory of pickle's stack machine: the values made so far, the stack of
// their indices with its marks, and the memo. It knows nothing of opcodes; it
// keeps a hostile pickle within bounds, whatever order it calls things in.
//
// A method that cannot do its work sets the error; the first one is kept, and
// the stack means nothing after it. So a caller makes all the calls that an
// opcode needs and asks for error() after them:
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

  // Empty as long as all went well.
  const std::string& error() const { return error_; }
  void Fail(std::string what);

  // A value that was pushed; the reference lives until the next push.
  const PickleValue& at(uint32_t index) const { return values_[index]; }
  std::vector<PickleValue> TakeValues() && { return std::move(values_); }

  // New values on top of the stack.
  void Push(PickleValue value);
  void PushInteger(Kind kind, int64_t integer);
  void PushText(Kind kind, std::string text);
  void PushItems(Kind kind, std::vector<uint32_t> items);
  // A tuple of the `size` topmost values, in place of them.
  void PushTuple(int size);
  // A value that exists already.
  void PushIndex(uint32_t index);
  // The topmost value once more.
  void PushTop();

  // A value above the last mark; nothing to pop is an error.
  std::optional<uint32_t> Pop();

  void Mark();
  // Everything above the last mark, which goes too.
  std::vector<uint32_t> PopToMark();

  // Appends to the container on top of the stack, which must be of `kind`.
  void Extend(Kind kind, const std::vector<uint32_t>& items);

  // The memo: the topmost value under a key, the next free one by default.
  void Memoize(uint64_t key);
  void Memoize() { Memoize(memo_.size()); }
  void Recall(uint64_t key);

  // To be called before items of a container are walked or copied: it bounds
  // the work of a pickle as well as its memory. False after an error.
  bool CountItems(size_t count);

 private:
  std::vector<PickleValue> values_;
  std::vector<uint32_t> stack_;  // indices of values_
  std::vector<size_t> marks_;    // stack sizes
  absl::flat_hash_map<uint64_t, uint32_t> memo_;
  std::string error_;
  size_t items_ = 0;  // that were put into containers, copied or walked
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_PICKLE_STACK_H_
