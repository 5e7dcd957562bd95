// Evaluates expressions; statements.cc executes statements.
//
// The trees are immutable and may be rendered by several threads; everything
// that changes belongs to the evaluator and its heap. Every node and statement
// counts work in the heap before it runs, and depth_ counts nested nodes,
// statements and macros, so neither time, memory nor the C++ stack grows
// without limit.
//
// Names are looked up from the innermost scope outwards, then among the
// variables, then among the functions. An unknown name, attribute or item is an
// undefined value, not an error; only its use is. Filters, tests and methods
// are known to exist, because the parser refused all others. An error gets the
// line of the innermost node once (located_); the way out leaves it unchanged.
#include "model/jinja/evaluator.h"

#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "model/jinja/attributes.h"
#include "model/jinja/lexer.h"
#include "model/jinja/operators.h"
#include "model/jinja/python_text.h"

namespace trivium::jinja {

absl::Status Evaluator::Located(absl::Status status, int line) {
  if (status.ok() || located_) return status;
  located_ = true;
  return absl::Status(
      status.code(),
      fmt::format("line {}: {}", line, std::string(status.message())));
}

absl::StatusOr<Value> Evaluator::Evaluate(const Expression& node,
                                          const ScopePointer& scope) {
  TRIVIUM_RETURN_IF_ERROR(heap_.Spend(kStepWork));
  if (node.kind == Expression::Kind::kConstant) return node.constant;
  if (++depth_ > heap_.limits().depth) {
    return Located(
        absl::ResourceExhaustedError(fmt::format(
            "macros and expressions are nested deeper than {} levels",
            heap_.limits().depth)),
        node.line);
  }
  absl::StatusOr<Value> result = EvaluateNode(node, scope);
  --depth_;
  if (!result.ok()) return Located(std::move(result).status(), node.line);
  return result;
}

absl::StatusOr<Value> Evaluator::EvaluateNode(const Expression& node,
                                              const ScopePointer& scope) {
  using Kind = Expression::Kind;
  switch (node.kind) {
    case Kind::kConstant:
      return node.constant;
    case Kind::kName:
      return Find(node.name, scope.get());
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kDict:
    case Kind::kConcatenate:
      return EvaluateCollection(node, scope);
    case Kind::kAttribute:
    case Kind::kItem:
    case Kind::kSlice:
      return EvaluateAccess(node, scope);
    case Kind::kCall:
      return EvaluateCall(node, scope, nullptr);
    case Kind::kFilter:
      return Filtered(node, nullptr, scope);
    case Kind::kNot:
    case Kind::kAnd:
    case Kind::kOr:
    case Kind::kConditional:
    case Kind::kTest:
      return EvaluateLogic(node, scope);
    case Kind::kCompare:
      return EvaluateCompare(node, scope);
    case Kind::kNegate:
    case Kind::kPlus: {
      TRIVIUM_ASSIGN_OR_RETURN(const Value value,
                               Evaluate(*node.parts[0], scope));
      TRIVIUM_ASSIGN_OR_RETURN(const Value negative, Negate(value));
      return node.kind == Kind::kNegate ? negative : Negate(negative);
    }
    case Kind::kArithmetic: {
      TRIVIUM_ASSIGN_OR_RETURN(const Value left,
                               Evaluate(*node.parts[0], scope));
      TRIVIUM_ASSIGN_OR_RETURN(const Value right,
                               Evaluate(*node.parts[1], scope));
      return Arithmetic(heap_, node.operators[0], left, right);
    }
  }
  return Value();
}

absl::StatusOr<Value> Evaluator::EvaluateCollection(const Expression& node,
                                                    const ScopePointer& scope) {
  std::vector<Value> values;
  for (const ExpressionPointer& part : node.parts) {
    TRIVIUM_ASSIGN_OR_RETURN(Value value, Evaluate(*part, scope));
    values.push_back(std::move(value));
  }
  if (node.kind == Expression::Kind::kTuple) {
    return heap_.NewList(std::move(values), Kind::kTuple);
  }
  if (node.kind == Expression::Kind::kList) {
    return heap_.NewList(std::move(values));
  }
  if (node.kind == Expression::Kind::kConcatenate) {
    Text text;
    for (const Value& value : values) {
      TRIVIUM_RETURN_IF_ERROR(AppendText(heap_, value, &text));
    }
    return heap_.NewText(std::move(text));
  }
  std::vector<std::pair<Value, Value>> entries;
  for (size_t i = 0; i + 1 < values.size(); i += 2) {
    entries.emplace_back(std::move(values[i]), std::move(values[i + 1]));
  }
  return heap_.NewDict(std::move(entries));
}

absl::StatusOr<Value> Evaluator::EvaluateAccess(const Expression& node,
                                                const ScopePointer& scope) {
  TRIVIUM_ASSIGN_OR_RETURN(const Value value, Evaluate(*node.parts[0], scope));
  if (node.kind == Expression::Kind::kAttribute) {
    return Attribute(heap_, value, node.name);
  }
  if (node.kind == Expression::Kind::kItem) {
    TRIVIUM_ASSIGN_OR_RETURN(const Value key, Evaluate(*node.parts[1], scope));
    return Item(heap_, value, key);
  }
  Value bounds[3];
  const Value* given[3] = {nullptr, nullptr, nullptr};
  for (size_t i = 0; i < 3; ++i) {
    if (node.parts[i + 1] == nullptr) continue;
    TRIVIUM_ASSIGN_OR_RETURN(bounds[i], Evaluate(*node.parts[i + 1], scope));
    given[i] = &bounds[i];
  }
  return Slice(heap_, value, given[0], given[1], given[2]);
}

absl::StatusOr<Value> Evaluator::EvaluateLogic(const Expression& node,
                                               const ScopePointer& scope) {
  using Kind = Expression::Kind;
  if (node.kind == Kind::kConditional) {
    TRIVIUM_ASSIGN_OR_RETURN(const Value condition,
                             Evaluate(*node.parts[1], scope));
    if (IsTrue(condition)) return Evaluate(*node.parts[0], scope);
    if (node.parts[2] != nullptr) return Evaluate(*node.parts[2], scope);
    return heap_.NewUndefined("an `if` without `else` was not true");
  }
  TRIVIUM_ASSIGN_OR_RETURN(Value value, Evaluate(*node.parts[0], scope));
  switch (node.kind) {
    case Kind::kNot:
      return Value::Boolean(!IsTrue(value));
    case Kind::kAnd:
      return IsTrue(value) ? Evaluate(*node.parts[1], scope)
                           : absl::StatusOr<Value>(std::move(value));
    case Kind::kOr:
      return IsTrue(value) ? absl::StatusOr<Value>(std::move(value))
                           : Evaluate(*node.parts[1], scope);
    default: {
      TRIVIUM_ASSIGN_OR_RETURN(const Arguments arguments,
                               EvaluateArguments(node, scope));
      TRIVIUM_ASSIGN_OR_RETURN(const bool is,
                               node.test(heap_, value, arguments));
      return Value::Boolean(is);
    }
  }
}

absl::StatusOr<Value> Evaluator::EvaluateCompare(const Expression& node,
                                                 const ScopePointer& scope) {
  TRIVIUM_ASSIGN_OR_RETURN(Value left, Evaluate(*node.parts[0], scope));
  for (size_t i = 0; i < node.operators.size(); ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(Value right, Evaluate(*node.parts[i + 1], scope));
    TRIVIUM_ASSIGN_OR_RETURN(const bool is,
                             Compares(heap_, node.operators[i], left, right));
    if (!is) return Value::Boolean(false);
    left = std::move(right);
  }
  return Value::Boolean(true);
}

absl::StatusOr<Value> Evaluator::Find(std::string_view name,
                                      const Scope* scope) {
  for (; scope != nullptr; scope = scope->parent.get()) {
    TRIVIUM_RETURN_IF_ERROR(heap_.Spend(scope->values.size()));
    if (const Value* found = scope->FindHere(name)) return *found;
  }
  if (const Value* found = variables_.FindHere(name)) return *found;
  const int function = FindFunction(name);
  if (function >= 0) return Value::Function(function);
  return heap_.NewUndefined(fmt::format("'{}' is undefined", name));
}

absl::StatusOr<Arguments> Evaluator::EvaluateArguments(
    const Expression& node, const ScopePointer& scope) {
  Arguments arguments;
  for (size_t i = 1; i < node.parts.size(); ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(Value value, Evaluate(*node.parts[i], scope));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& [name, part] : node.named) {
    TRIVIUM_ASSIGN_OR_RETURN(Value value, Evaluate(*part, scope));
    arguments.named.emplace_back(name, std::move(value));
  }
  return arguments;
}

absl::StatusOr<Value> Evaluator::Filtered(const Expression& node,
                                          const Value* input,
                                          const ScopePointer& scope) {
  Value value;
  if (node.parts[0] == nullptr) {
    value = *input;
  } else if (input != nullptr) {  // filters after the block's first one
    TRIVIUM_ASSIGN_OR_RETURN(value, Filtered(*node.parts[0], input, scope));
  } else {
    TRIVIUM_ASSIGN_OR_RETURN(value, Evaluate(*node.parts[0], scope));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const Arguments arguments,
                           EvaluateArguments(node, scope));
  return node.filter(heap_, value, arguments);
}

absl::StatusOr<Value> Evaluator::EvaluateCall(const Expression& node,
                                              const ScopePointer& scope,
                                              const Value* caller) {
  TRIVIUM_ASSIGN_OR_RETURN(const Value function,
                           Evaluate(*node.parts[0], scope));
  TRIVIUM_ASSIGN_OR_RETURN(Arguments arguments, EvaluateArguments(node, scope));
  switch (function.kind) {
    case Kind::kMacro:
      return CallMacro(function, std::move(arguments), caller);
    case Kind::kFunction:
      return CallFunction(heap_, function.integer, arguments, surroundings_);
    case Kind::kMethod:
      return CallMethod(heap_, function, arguments);
    case Kind::kUndefined:
      return UndefinedError(function);
    default:
      return absl::InvalidArgumentError(
          fmt::format("a {} cannot be called", TypeName(function)));
  }
}

absl::StatusOr<Value> Evaluator::CallMacro(const Value& macro,
                                           Arguments arguments,
                                           const Value* caller) {
  const auto& object = macro.As<MacroObject>();
  const MacroDefinition& definition = *object.definition;
  const auto around = object.scope.lock();
  if (around == nullptr) {
    return absl::InvalidArgumentError(fmt::format(
        "the macro '{}' is called outside of its scope", definition.name));
  }
  const auto scope = std::make_shared<Scope>(around);
  if (arguments.positional.size() > definition.parameters.size()) {
    return absl::InvalidArgumentError(
        fmt::format("the macro '{}' takes at most {} arguments",
                    definition.name, definition.parameters.size()));
  }
  std::vector<bool> used(arguments.named.size(), false);
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    const std::string& name = definition.parameters[i];
    Value value = heap_.NewUndefined(
        fmt::format("the parameter '{}' was not given", name));
    bool given = i < arguments.positional.size();
    if (given) value = std::move(arguments.positional[i]);
    for (size_t j = 0; !given && j < arguments.named.size(); ++j) {
      if (arguments.named[j].first != name) continue;
      value = std::move(arguments.named[j].second);
      used[j] = given = true;
    }
    const size_t required =
        definition.parameters.size() - definition.defaults.size();
    if (!given && i >= required) {
      TRIVIUM_ASSIGN_OR_RETURN(
          value, Evaluate(*definition.defaults[i - required], scope));
    }
    scope->Set(name, std::move(value));
  }
  for (size_t j = 0; j < arguments.named.size(); ++j) {
    if (used[j]) continue;
    return absl::InvalidArgumentError(
        fmt::format("the macro '{}' has no free parameter '{}'",
                    definition.name, arguments.named[j].first));
  }
  if (caller != nullptr) scope->Set("caller", *caller);
  Text text;
  TRIVIUM_RETURN_IF_ERROR(Run(*definition.body, scope, &text).status());
  return heap_.NewText(std::move(text));
}

}  // namespace trivium::jinja
