#ifndef TRIVIUM_MODEL_JINJA_VALUE_H_
#define TRIVIUM_MODEL_JINJA_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/jinja/text.h"

namespace trivium::jinja {

class Heap;
struct Value;

// The kind of a value: Python's types, as far as templates meet them.
enum class Kind : uint8_t {
  kUndefined,
  kNone,
  kBoolean,
  kInteger,
  kReal,
  kText,
  kList,
  kTuple,
  kRange,
  kView,       // dict.keys(), .values(), .items()
  kGenerator,  // result of filters like map; can be iterated once
  kDict,
  kNamespace,
  kLoop,
  kMacro,
  kFunction,  // function of the environment: range, namespace, ...
  kMethod,    // method of a value: text.strip
};

// The data of a value that is more than a number. Values share objects. Objects
// are immutable, except namespaces, loops and generators. Their memory is
// counted in their Heap.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object();

  int depth = 0;  // nesting of values, bounded so that functions may recurse
  Heap* heap = nullptr;
  size_t bytes = 0;
};

struct Value {
  Kind kind = Kind::kUndefined;
  // True if a number, boolean or none came with the request; characters carry
  // their own marks.
  bool from_data = false;
  union {
    bool boolean;
    int64_t integer = 0;
    double real;
  };
  std::shared_ptr<Object> object;

  static Value None() { return Of(Kind::kNone); }
  static Value Boolean(bool value);
  static Value Integer(int64_t value, bool from_data = false);
  static Value Real(double value, bool from_data = false);
  // A function of the environment, by its index.
  static Value Function(int64_t index);
  static Value Of(Kind kind) {
    Value value;
    value.kind = kind;
    return value;
  }

  bool Is(Kind other) const { return kind == other; }
  bool IsNumber() const {  // booleans are numbers, as in Python
    return kind == Kind::kInteger || kind == Kind::kReal ||
           kind == Kind::kBoolean;
  }
  bool IsWhole() const {
    return kind == Kind::kInteger || kind == Kind::kBoolean;
  }
  // For IsWhole() and IsNumber() values.
  int64_t whole() const {
    return kind == Kind::kBoolean ? (boolean ? 1 : 0) : integer;
  }
  double number() const {
    return kind == Kind::kReal ? real : static_cast<double>(whole());
  }

  // For kText.
  TextView text() const;
  bool markup() const;
  // For kList, kTuple, kRange and kView.
  const std::vector<Value>& items() const;
  // The object as the type that belongs to the kind.
  template <typename T>
  T& As() const {
    return static_cast<T&>(*object);
  }
};

struct TextObject : Object {
  Text text;
  // True for Python's markupsafe.Markup, which the filter `safe` makes: a text
  // that is added to it with + is escaped for HTML.
  bool markup = false;
};

struct ListObject : Object {
  std::vector<Value> items;
  std::string name;  // "dict_keys" of a view; the printed form of a range
};

struct DictObject : Object {
  std::vector<std::pair<Value, Value>> entries;  // in the order of insertion
  std::vector<uint32_t> sorted;  // indices of entries, ordered by CompareKeys

  const Value* Find(const Value& key) const;  // nullptr: none
  const Value* Find(std::string_view key) const;
};

struct GeneratorObject : Object {
  std::function<absl::StatusOr<std::vector<Value>>()>
      make;    // unset once it has been called
  Value rest;  // list of the items to come; undefined: none
};

// The result of namespace(), the only value that a template can change, with {%
// set space.name = ... %}.
struct NamespaceObject : Object {
  std::vector<std::pair<std::string, Value>> values;

  Value* Find(std::string_view name);  // nullptr: none
  void Set(std::string_view name, Value value);
};

// The `loop` of a for.
struct LoopObject : Object {
  std::vector<Value> items;
  size_t index = 0;  // from 0
};

struct UndefinedObject : Object {
  std::string why;
};

struct MethodObject : Object {
  Value self;
  std::string name;
};

// Values that can be keys: text, numbers, booleans, none. Equal ones compare as
// equal, such as 1, 1.0 and True.
bool IsKey(const Value& value);
int CompareKeys(const Value& left, const Value& right);

// Returns a value's type as error messages name it: "'str object'".
std::string_view TypeName(const Value& value);

// Python's bool(value).
bool IsTrue(const Value& value);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_VALUE_H_
