// Invariants: live_ is the sum of `bytes` of the adopted objects that are
// alive; an object that would exceed the limit is never kept. work_ only grows.
#include "model/jinja/heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/status.h"
#include "base/utf8.h"

namespace trivium::jinja {

namespace {

constexpr int64_t kWorkBetweenQuestions = int64_t{1} << 20;
constexpr size_t kObjectBytes = 96;
constexpr size_t kMostOfReason = 200;  // bytes

// Returns one more than the depth of the deepest value.
absl::StatusOr<int> DepthAround(std::span<const Value> values) {
  int depth = 0;
  for (const Value& value : values) {
    if (value.object != nullptr) depth = std::max(depth, value.object->depth);
  }
  if (depth >= kMaxValueDepth) {
    return absl::ResourceExhaustedError(
        fmt::format("values are nested deeper than {} levels", kMaxValueDepth));
  }
  return depth + 1;
}

Value Wrap(Kind kind, std::shared_ptr<Object> object) {
  Value value = Value::Of(kind);
  value.object = std::move(object);
  return value;
}

}  // namespace

Heap::~Heap() {
  for (const auto& each : namespaces_) each->values.clear();
}

void Heap::AddInput(size_t characters) {
  limits_.work += limits_.work_per_input * static_cast<int64_t>(characters);
  limits_.bytes += limits_.bytes_per_input * characters;
}

absl::Status Heap::Spend(size_t work) {
  work_ += static_cast<int64_t>(std::min<size_t>(work, size_t{1} << 60));
  if (work_ > limits_.work || work_ < 0) {
    work_ = limits_.work + 1;
    return absl::ResourceExhaustedError(
        "the template does more work than is allowed for such a request");
  }
  if (wanted_ != nullptr && work_ >= next_question_) {
    next_question_ = work_ + kWorkBetweenQuestions;
    return wanted_();
  }
  return absl::OkStatus();
}

absl::Status Heap::Room(size_t characters) {
  if (characters > limits_.bytes / sizeof(char32_t) ||
      live_ + characters * sizeof(char32_t) > limits_.bytes) {
    return absl::ResourceExhaustedError(fmt::format(
        "the template needs more than {} MiB of memory", limits_.bytes >> 20));
  }
  return Spend(characters);
}

absl::Status Heap::Adopt(Object* object, size_t bytes) {
  bytes += kObjectBytes;
  if (bytes > limits_.bytes || live_ + bytes > limits_.bytes) {
    return absl::ResourceExhaustedError(fmt::format(
        "the template needs more than {} MiB of memory", limits_.bytes >> 20));
  }
  object->heap = this;
  object->bytes = bytes;
  live_ += bytes;
  return absl::OkStatus();
}

absl::StatusOr<Value> Heap::NewText(Text text, bool markup) {
  TRIVIUM_RETURN_IF_ERROR(Spend(text.size()));
  auto object = std::make_shared<TextObject>();
  object->text = std::move(text);
  object->markup = markup;
  TRIVIUM_RETURN_IF_ERROR(
      Adopt(object.get(), object->text.capacity() * sizeof(char32_t)));
  return Wrap(Kind::kText, std::move(object));
}

absl::StatusOr<Value> Heap::NewText(std::string_view ascii) {
  return NewText(TextFromUtf8(ascii, /*from_data=*/false));
}

absl::StatusOr<Value> Heap::NewList(std::vector<Value> items, Kind kind,
                                    std::string name) {
  TRIVIUM_RETURN_IF_ERROR(Spend(items.size()));
  auto object = std::make_shared<ListObject>();
  TRIVIUM_ASSIGN_OR_RETURN(object->depth, DepthAround(items));
  object->items = std::move(items);
  object->name = std::move(name);
  TRIVIUM_RETURN_IF_ERROR(
      Adopt(object.get(), object->items.capacity() * sizeof(Value)));
  return Wrap(kind, std::move(object));
}

absl::StatusOr<Value> Heap::NewDict(
    std::vector<std::pair<Value, Value>> entries) {
  TRIVIUM_RETURN_IF_ERROR(Spend(4 * entries.size()));
  for (const auto& [key, value] : entries) {
    if (!IsKey(key)) {
      return absl::InvalidArgumentError(
          fmt::format("a {} cannot be the key of a dict", TypeName(key)));
    }
  }
  std::vector<uint32_t> sorted(entries.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
    return CompareKeys(entries[a].first, entries[b].first) < 0;
  });
  // The first of equal keys gets the last one's value.
  std::vector<bool> repeated(entries.size(), false);
  bool any = false;
  for (size_t i = 1, first = 0; i < sorted.size(); ++i) {
    if (CompareKeys(entries[sorted[first]].first, entries[sorted[i]].first) !=
        0) {
      first = i;
      continue;
    }
    entries[sorted[first]].second = entries[sorted[i]].second;
    repeated[sorted[i]] = true;
    any = true;
  }
  if (any) {
    std::vector<std::pair<Value, Value>> kept;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!repeated[i]) kept.push_back(std::move(entries[i]));
    }
    return NewDict(std::move(kept));
  }
  auto object = std::make_shared<DictObject>();
  int depth = 0;
  for (const auto& entry : entries) {
    TRIVIUM_ASSIGN_OR_RETURN(const int around, DepthAround({&entry.second, 1}));
    depth = std::max(depth, around);
  }
  object->depth = depth;
  object->entries = std::move(entries);
  object->sorted = std::move(sorted);
  TRIVIUM_RETURN_IF_ERROR(Adopt(
      object.get(),
      object->entries.capacity() * (2 * sizeof(Value) + sizeof(uint32_t))));
  return Wrap(Kind::kDict, std::move(object));
}

absl::StatusOr<Value> Heap::NewGenerator(
    std::span<const Value> holds,
    std::function<absl::StatusOr<std::vector<Value>>()> make) {
  auto object = std::make_shared<GeneratorObject>();
  TRIVIUM_ASSIGN_OR_RETURN(object->depth, DepthAround(holds));
  object->make = std::move(make);
  TRIVIUM_RETURN_IF_ERROR(Adopt(object.get(), 0));
  return Wrap(Kind::kGenerator, std::move(object));
}

absl::StatusOr<Value> Heap::NewGenerator(std::vector<Value> items) {
  TRIVIUM_ASSIGN_OR_RETURN(Value list, NewList(std::move(items)));
  TRIVIUM_ASSIGN_OR_RETURN(Value value, NewGenerator({&list, 1}, nullptr));
  value.As<GeneratorObject>().rest = std::move(list);
  return value;
}

absl::StatusOr<Value> Heap::NewMethod(const Value& self,
                                      std::string_view name) {
  auto object = std::make_shared<MethodObject>();
  TRIVIUM_ASSIGN_OR_RETURN(object->depth, DepthAround({&self, 1}));
  object->self = self;
  object->name = name;
  TRIVIUM_RETURN_IF_ERROR(Adopt(object.get(), 0));
  return Wrap(Kind::kMethod, std::move(object));
}

Value Heap::NewUndefined(std::string why) {
  auto object = std::make_shared<UndefinedObject>();
  if (why.size() > kMostOfReason) {
    why.resize(WholeSize(std::string_view(why).substr(0, kMostOfReason)));
  }
  object->why = std::move(why);
  return Wrap(Kind::kUndefined, std::move(object));
}

absl::StatusOr<Value> Heap::NewNamespace() {
  auto object = std::make_unique<NamespaceObject>();
  TRIVIUM_RETURN_IF_ERROR(Adopt(object.get(), 0));
  Value value = Value::Of(Kind::kNamespace);
  value.object = std::shared_ptr<Object>(std::shared_ptr<void>(), object.get());
  namespaces_.push_back(std::move(object));
  return value;
}

}  // namespace trivium::jinja
