#include "model/weights/pickle_stack.h"

#include <fmt/format.h>

#include <utility>

namespace trivium {
namespace {

// A state dict needs about 15 values per tensor, so this allows 30,000 tensors.
// A value takes 80 bytes.
constexpr size_t kMaxValues = 1 << 19;
// Items of all containers together, counted each time they are copied or
// walked, plus places on the stack. It bounds time and memory of a pickle that
// refers to its own parts repeatedly.
constexpr size_t kMaxItems = 1 << 23;

}  // namespace

void PickleStack::Fail(std::string what) {
  if (error_.empty()) error_ = std::move(what);
}

bool PickleStack::CountItems(size_t count) {
  items_ += count;
  if (items_ > kMaxItems) Fail("it has more items than any model needs");
  return items_ <= kMaxItems;
}

void PickleStack::PushIndex(uint32_t index) {
  if (stack_.size() >= kMaxItems) {
    return Fail("it has more items than any model needs");
  }
  stack_.push_back(index);
}

void PickleStack::PushTop() {
  if (stack_.empty()) return Fail("the stack is empty");
  PushIndex(stack_.back());
}

void PickleStack::Push(PickleValue value) {
  if (values_.size() >= kMaxValues) {
    return Fail("it has more values than any model needs");
  }
  PushIndex(static_cast<uint32_t>(values_.size()));
  values_.push_back(std::move(value));
}

void PickleStack::PushInteger(Kind kind, int64_t integer) {
  PickleValue value;
  value.kind = kind;
  value.integer = integer;
  Push(std::move(value));
}

void PickleStack::PushText(Kind kind, std::string text) {
  PickleValue value;
  value.kind = kind;
  value.text = std::move(text);
  Push(std::move(value));
}

void PickleStack::PushItems(Kind kind, std::vector<uint32_t> items) {
  if (!CountItems(items.size())) return;
  PickleValue value;
  value.kind = kind;
  value.items = std::move(items);
  Push(std::move(value));
}

void PickleStack::PushTuple(int size) {
  std::vector<uint32_t> items(size);
  for (int i = size - 1; i >= 0; --i) {
    const std::optional<uint32_t> value = Pop();
    if (!value) return;
    items[i] = *value;
  }
  PushItems(Kind::kTuple, std::move(items));
}

std::optional<uint32_t> PickleStack::Pop() {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) {
    Fail("the stack is empty");
    return std::nullopt;
  }
  const uint32_t value = stack_.back();
  stack_.pop_back();
  return value;
}

void PickleStack::Mark() {
  if (marks_.size() >= kMaxItems) return Fail("it has too many marks");
  marks_.push_back(stack_.size());
}

std::vector<uint32_t> PickleStack::PopToMark() {
  if (marks_.empty()) {
    Fail("there is no mark");
    return {};
  }
  std::vector<uint32_t> items(stack_.begin() + marks_.back(), stack_.end());
  stack_.resize(marks_.back());
  marks_.pop_back();
  return items;
}

void PickleStack::Extend(Kind kind, const std::vector<uint32_t>& items) {
  if (!error_.empty()) return;
  if (stack_.empty() || values_[stack_.back()].kind != kind) {
    return Fail("it adds to something that is not a container");
  }
  if (kind == Kind::kDict && items.size() % 2 != 0) {
    return Fail("a dictionary has a key without a value");
  }
  if (!CountItems(items.size())) return;
  std::vector<uint32_t>& to = values_[stack_.back()].items;
  to.insert(to.end(), items.begin(), items.end());
}

void PickleStack::Memoize(uint64_t key) {
  if (stack_.empty()) return Fail("the stack is empty");
  if (memo_.size() >= kMaxValues) {
    return Fail("it remembers more values than any model needs");
  }
  memo_[key] = stack_.back();
}

void PickleStack::Recall(uint64_t key) {
  const auto found = memo_.find(key);
  if (found == memo_.end()) {
    return Fail(fmt::format("nothing was remembered as {}", key));
  }
  PushIndex(found->second);
}

}  // namespace trivium
