#include "model/jinja/value.h"

#include <algorithm>
#include <compare>

#include "model/jinja/heap.h"

namespace trivium::jinja {

namespace {

// Orders numbers before texts before none.
int KeyClass(const Value& key) {
  if (key.IsNumber()) return 0;
  return key.Is(Kind::kText) ? 1 : 2;
}

}  // namespace

Object::~Object() {
  if (heap != nullptr) heap->Release(bytes);
}

Value Value::Boolean(bool value) {
  Value result = Of(Kind::kBoolean);
  result.boolean = value;
  return result;
}

Value Value::Integer(int64_t value, bool from_data) {
  Value result = Of(Kind::kInteger);
  result.integer = value;
  result.from_data = from_data;
  return result;
}

Value Value::Real(double value, bool from_data) {
  Value result = Of(Kind::kReal);
  result.real = value;
  result.from_data = from_data;
  return result;
}

Value Value::Function(int64_t index) {
  Value result = Of(Kind::kFunction);
  result.integer = index;
  return result;
}

TextView Value::text() const { return As<TextObject>().text; }
bool Value::markup() const { return As<TextObject>().markup; }
const std::vector<Value>& Value::items() const {
  return As<ListObject>().items;
}

bool IsKey(const Value& value) {
  return value.IsNumber() || value.Is(Kind::kText) || value.Is(Kind::kNone);
}

int CompareKeys(const Value& left, const Value& right) {
  const int left_class = KeyClass(left);
  const int right_class = KeyClass(right);
  if (left_class != right_class) return left_class < right_class ? -1 : 1;
  if (left_class == 1) return Compare(left.text(), right.text());
  if (left_class == 2) return 0;
  if (left.IsWhole() && right.IsWhole()) {
    if (left.whole() == right.whole()) return 0;
    return left.whole() < right.whole() ? -1 : 1;
  }
  const auto order = std::strong_order(left.number() + 0.0,
                                       right.number() + 0.0);  // -0.0 is 0.0
  if (order == 0) return 0;
  return order < 0 ? -1 : 1;
}

const Value* DictObject::Find(const Value& key) const {
  const auto found =
      std::lower_bound(sorted.begin(), sorted.end(), key,
                       [&](uint32_t entry, const Value& wanted) {
                         return CompareKeys(entries[entry].first, wanted) < 0;
                       });
  if (found == sorted.end() || CompareKeys(entries[*found].first, key) != 0) {
    return nullptr;
  }
  return &entries[*found].second;
}

const Value* DictObject::Find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name.Is(Kind::kText) && Utf8Of(name.text()) == key) return &value;
  }
  return nullptr;
}

Value* NamespaceObject::Find(std::string_view name) {
  for (auto& [known, value] : values) {
    if (known == name) return &value;
  }
  return nullptr;
}

void NamespaceObject::Set(std::string_view name, Value value) {
  if (Value* known = Find(name); known != nullptr) {
    *known = std::move(value);
  } else {
    values.emplace_back(name, std::move(value));
  }
}

std::string_view TypeName(const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
      return "undefined value";
    case Kind::kNone:
      return "None";
    case Kind::kBoolean:
      return "boolean";
    case Kind::kInteger:
      return "integer";
    case Kind::kReal:
      return "float";
    case Kind::kText:
      return "string";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kRange:
      return "range";
    case Kind::kView:
      return "view of a dict";
    case Kind::kGenerator:
      return "generator";
    case Kind::kDict:
      return "dict";
    case Kind::kNamespace:
      return "namespace";
    case Kind::kLoop:
      return "loop";
    case Kind::kMacro:
      return "macro";
    case Kind::kFunction:
      return "function";
    case Kind::kMethod:
      return "method";
  }
  return "";
}

bool IsTrue(const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBoolean:
      return value.boolean;
    case Kind::kInteger:
      return value.integer != 0;
    case Kind::kReal:
      return value.real != 0;
    case Kind::kText:
      return !value.text().empty();
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kView:
      return !value.items().empty();
    case Kind::kDict:
      return !value.As<DictObject>().entries.empty();
    default:
      return true;
  }
}

}  // namespace trivium::jinja
