#ifndef TRIVIUM_MODEL_JINJA_SCOPE_H_
#define TRIVIUM_MODEL_JINJA_SCOPE_H_

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "model/jinja/syntax.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// The names of a template, a round of a loop, a macro's call, ... A name that
// is set in a scope is visible there and in the scopes inside it.
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

  const std::shared_ptr<Scope> parent;  // nullptr: the template's own scope
  // The names live in the template's trees.
  std::vector<std::pair<std::string_view, Value>> values;
};

// A macro and the scope of its definition. The reference is weak because that
// scope holds the macro.
struct MacroObject : Object {
  std::shared_ptr<const MacroDefinition> definition;
  std::weak_ptr<Scope> scope;
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_SCOPE_H_
