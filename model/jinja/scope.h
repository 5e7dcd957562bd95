#ifndef TRIVIUM_MODEL_JINJA_SCOPE_H_
#define TRIVIUM_MODEL_JINJA_SCOPE_H_

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "model/jinja/syntax.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// The names of a template, a loop's round, a macro's call, ...: what is set in
// it is seen in it and in the scopes inside.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> around) : parent(std::move(around)) {}

  const Value* FindHere(std::string_view name) const {
    for (const auto& [known, value] : values) {
      if (known == name) return &value;
    }
    return nullptr;
  }
  void Set(std::string_view name, Value value) {
    for (auto& [known, place] : values) {
      if (known == name) {
        place = std::move(value);
        return;
      }
    }
    values.emplace_back(name, std::move(value));
  }

  const std::shared_ptr<Scope> parent;  // nullptr: the template's own
  // The names live in the template's trees.
  std::vector<std::pair<std::string_view, Value>> values;
};

// A macro where it was defined. It does not keep its scope, which holds it.
struct MacroObject : Object {
  std::shared_ptr<const MacroDefinition> definition;
  std::weak_ptr<Scope> scope;
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_SCOPE_H_
