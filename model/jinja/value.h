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

// What a value is; Python's types, as far as templates meet them.
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
  kGenerator,  // what filters like map return: can be gone through once
  kDict,
  kNamespace,
  kLoop,
  kMacro,
  kFunction,  // of the environment: range, namespace, ...
  kMethod,    // of a value: text.strip
};

// What a value of more than a number consists of. Values share their objects,
// which do not change but for namespaces, loops and generators. Their memory is
// counted in the Heap that they are from.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object();

  int depth = 0;  // of values in values, so that functions may recurse
  Heap* heap = nullptr;
  size_t bytes = 0;
};

struct Value {
  Kind kind = Kind::kUndefined;
  // Of a number, boolean or none: whether it came with the request; characters
  // know that themselves.
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
  // A function of the environment, by its number there.
  static Value Function(int64_t index);
  static Value Of(Kind kind) {
    Value value;
    value.kind = kind;
    return value;
  }

  bool Is(Kind other) const { return kind == other; }
  bool IsNumber() const {  // as in Python, booleans are
    return kind == Kind::kInteger || kind == Kind::kReal ||
           kind == Kind::kBoolean;
  }
  bool IsWhole() const {
    return kind == Kind::kInteger || kind == Kind::kBoolean;
  }
  // Of IsWhole() and IsNumber() values.
  int64_t whole() const {
    return kind == Kind::kBoolean ? (boolean ? 1 : 0) : integer;
  }
  double number() const {
    return kind == Kind::kReal ? real : static_cast<double>(whole());
  }

  // Of kText.
  TextView text() const;
  bool markup() const;
  // Of kList, kTuple, kRange and kView.
  const std::vector<Value>& items() const;
  // The object as what its kind says that it is.
  template <typename T>
  T& As() const {
    return static_cast<T&>(*object);
  }
};

struct TextObject : Object {
  Text text;
  // Python's markupsafe.Markup, which the filter `safe` makes: what is added to
  // it with + is escaped for HTML.
  bool markup = false;
};

struct ListObject : Object {
  std::vector<Value> items;
  std::string name;  // of a view "dict_keys", of a range what it prints as
};

struct DictObject : Object {
  std::vector<std::pair<Value, Value>> entries;  // in the order of insertion
  std::vector<uint32_t> sorted;                  // entries by CompareKeys

  const Value* Find(const Value& key) const;  // nullptr: none
  const Value* Find(std::string_view key) const;
};

struct GeneratorObject : Object {
  std::function<absl::StatusOr<std::vector<Value>>()>
      make;    // until it is asked
  Value rest;  // a list of what is to come; undefined: nothing
};

// What namespace() makes: the one thing that {% set space.name = ... %}
// changes.
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

// What can be a key: text, a number, a boolean, none. Equal ones, 1, 1.0 and
// True among them, compare as equal.
bool IsKey(const Value& value);
int CompareKeys(const Value& left, const Value& right);

// "'str object'", as error messages name a value's type.
std::string_view TypeName(const Value& value);

// Python's bool(value).
bool IsTrue(const Value& value);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_VALUE_H_
