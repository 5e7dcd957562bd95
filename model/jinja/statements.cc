// Executes statements by the rules of Jinja's scopes. `if` has no scope of its
// own. A round of a loop, a macro's call, `with`, and the blocks of set, filter
// and generation have one, so names set there are gone afterwards. A namespace
// outlives them.
//
// A statement returns how to continue: break and continue pass through ifs and
// scopes up to their loop. A loop first collects all its items, so nothing that
// its body does changes its length.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "model/jinja/evaluator.h"
#include "model/jinja/operators.h"
#include "model/jinja/python_text.h"

namespace trivium::jinja {

absl::StatusOr<Text> Evaluator::Render(const Body& body) {
  Text text;
  const auto scope = std::make_shared<Scope>(nullptr);
  TRIVIUM_RETURN_IF_ERROR(Run(body, scope, &text).status());
  return text;
}

absl::StatusOr<Evaluator::Flow> Evaluator::Run(const Body& body,
                                               const ScopePointer& scope,
                                               Text* out) {
  for (const Statement& statement : body) {
    TRIVIUM_RETURN_IF_ERROR(heap_.Spend(kStepWork));
    if (++depth_ > heap_.limits().depth) {
      return Located(absl::ResourceExhaustedError(fmt::format(
                         "blocks and macros are nested deeper than {} "
                         "levels",
                         heap_.limits().depth)),
                     statement.line);
    }
    absl::StatusOr<Flow> flow = Execute(statement, scope, out);
    --depth_;
    if (!flow.ok()) return Located(std::move(flow).status(), statement.line);
    if (*flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

absl::Status Evaluator::Print(const Value& value, Text* out) {
  if (value.Is(Kind::kText)) {  // adds only its characters: `out` may be long
    TRIVIUM_RETURN_IF_ERROR(heap_.Room(value.text().size()));
    if (out->size() + value.text().size() >
        heap_.limits().bytes / (2 * sizeof(char32_t))) {
      return absl::ResourceExhaustedError("the rendered text is too long");
    }
    *out += value.text();
    return absl::OkStatus();
  }
  TRIVIUM_ASSIGN_OR_RETURN(const Value text, TextOf(heap_, value));
  return Print(text, out);
}

absl::StatusOr<Evaluator::Flow> Evaluator::Execute(const Statement& statement,
                                                   const ScopePointer& scope,
                                                   Text* out) {
  using Kind = Statement::Kind;
  switch (statement.kind) {
    case Kind::kText:
      TRIVIUM_RETURN_IF_ERROR(Print(statement.constant, out));
      break;
    case Kind::kPrint: {
      TRIVIUM_ASSIGN_OR_RETURN(const Value value,
                               Evaluate(*statement.expression, scope));
      TRIVIUM_RETURN_IF_ERROR(Print(value, out));
      break;
    }
    case Kind::kIf:
      return ExecuteIf(statement, scope, out);
    case Kind::kFor:
      return ExecuteFor(statement, scope, out);
    case Kind::kSet: {
      TRIVIUM_ASSIGN_OR_RETURN(Value value,
                               Evaluate(*statement.expression, scope));
      TRIVIUM_RETURN_IF_ERROR(
          Assign(*statement.target, std::move(value), *scope));
      break;
    }
    case Kind::kSetBlock: {
      TRIVIUM_ASSIGN_OR_RETURN(
          Value value,
          Block(statement.bodies[0], statement.expression.get(), scope));
      TRIVIUM_RETURN_IF_ERROR(
          Assign(*statement.target, std::move(value), *scope));
      break;
    }
    case Kind::kMacro: {
      TRIVIUM_ASSIGN_OR_RETURN(Value macro, NewMacro(statement.macro, scope));
      scope->Set(statement.macro->name, std::move(macro));
      break;
    }
    case Kind::kCallBlock: {
      TRIVIUM_ASSIGN_OR_RETURN(const Value caller,
                               NewMacro(statement.macro, scope));
      TRIVIUM_ASSIGN_OR_RETURN(
          const Value text,
          EvaluateCall(*statement.expression, scope, &caller));
      TRIVIUM_RETURN_IF_ERROR(Print(text, out));
      break;
    }
    case Kind::kFilterBlock: {
      TRIVIUM_ASSIGN_OR_RETURN(
          const Value text,
          Block(statement.bodies[0], statement.expression.get(), scope));
      TRIVIUM_RETURN_IF_ERROR(Print(text, out));
      break;
    }
    case Kind::kWith:
      return ExecuteWith(statement, scope, out);
    case Kind::kScope:
      return Run(statement.bodies[0], std::make_shared<Scope>(scope), out);
    case Kind::kBreak:
      return Flow::kBreak;
    case Kind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kOn;
}

absl::StatusOr<Value> Evaluator::NewMacro(
    std::shared_ptr<const MacroDefinition> definition,
    const ScopePointer& scope) {
  auto object = std::make_shared<MacroObject>();
  object->definition = std::move(definition);
  object->scope = scope;
  TRIVIUM_RETURN_IF_ERROR(heap_.Adopt(object.get(), 0));
  Value macro = Value::Of(Kind::kMacro);
  macro.object = std::move(object);
  return macro;
}

absl::StatusOr<Value> Evaluator::Block(const Body& body,
                                       const Expression* filter,
                                       const ScopePointer& scope) {
  Text text;
  const auto inner = std::make_shared<Scope>(scope);
  TRIVIUM_RETURN_IF_ERROR(Run(body, inner, &text).status());
  TRIVIUM_ASSIGN_OR_RETURN(Value value, heap_.NewText(std::move(text)));
  if (filter == nullptr) return value;
  return Filtered(*filter, &value, inner);
}

absl::Status Evaluator::Assign(const Expression& target, Value value,
                               Scope& scope) {
  switch (target.kind) {
    case Expression::Kind::kName:
      TRIVIUM_RETURN_IF_ERROR(heap_.Spend(scope.values.size()));
      scope.Set(target.name, std::move(value));
      return absl::OkStatus();
    case Expression::Kind::kAttribute: {
      TRIVIUM_ASSIGN_OR_RETURN(const Value space,
                               Find(target.parts[0]->name, &scope));
      if (!space.Is(Kind::kNamespace)) {
        return absl::InvalidArgumentError(
            fmt::format("'{}' is not a namespace, so its '{}' cannot be set",
                        target.parts[0]->name, target.name));
      }
      auto& object = space.As<NamespaceObject>();
      TRIVIUM_RETURN_IF_ERROR(heap_.Spend(object.values.size()));
      object.Set(target.name, std::move(value));
      return absl::OkStatus();
    }
    default:
      break;
  }
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Value> items, ItemsOf(heap_, value));
  if (items.size() != target.parts.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} values are assigned to {} names", items.size(),
                    target.parts.size()));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    TRIVIUM_RETURN_IF_ERROR(
        Assign(*target.parts[i], std::move(items[i]), scope));
  }
  return absl::OkStatus();
}

absl::StatusOr<Evaluator::Flow> Evaluator::ExecuteIf(const Statement& statement,
                                                     const ScopePointer& scope,
                                                     Text* out) {
  for (size_t i = 0; i < statement.conditions.size(); ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(const Value condition,
                             Evaluate(*statement.conditions[i], scope));
    if (IsTrue(condition)) return Run(statement.bodies[i], scope, out);
  }
  if (statement.bodies.size() == statement.conditions.size()) return Flow::kOn;
  return Run(statement.bodies.back(), scope, out);
}

absl::StatusOr<Value> Evaluator::LoopOf(const Statement& statement,
                                        const ScopePointer& scope) {
  TRIVIUM_ASSIGN_OR_RETURN(const Value over,
                           Evaluate(*statement.expression, scope));
  auto loop = std::make_shared<LoopObject>();
  TRIVIUM_ASSIGN_OR_RETURN(loop->items, ItemsOf(heap_, over));
  if (statement.conditions[0] != nullptr) {
    std::vector<Value> kept;
    for (Value& item : loop->items) {
      const auto inner = std::make_shared<Scope>(scope);
      TRIVIUM_RETURN_IF_ERROR(Assign(*statement.target, item, *inner));
      TRIVIUM_ASSIGN_OR_RETURN(const Value is,
                               Evaluate(*statement.conditions[0], inner));
      if (IsTrue(is)) kept.push_back(std::move(item));
    }
    loop->items = std::move(kept);
  }
  loop->depth = 1;
  for (const Value& item : loop->items) {
    if (item.object == nullptr) continue;
    loop->depth = std::max(loop->depth, item.object->depth + 1);
  }
  if (loop->depth > kMaxValueDepth) {
    return absl::ResourceExhaustedError(
        "loops over loops are nested too deeply");
  }
  TRIVIUM_RETURN_IF_ERROR(
      heap_.Adopt(loop.get(), loop->items.capacity() * sizeof(Value)));
  Value value = Value::Of(Kind::kLoop);
  value.object = std::move(loop);
  return value;
}

absl::StatusOr<Evaluator::Flow> Evaluator::ExecuteFor(
    const Statement& statement, const ScopePointer& scope, Text* out) {
  TRIVIUM_ASSIGN_OR_RETURN(const Value value, LoopOf(statement, scope));
  auto& loop = value.As<LoopObject>();
  if (loop.items.empty()) {
    return Run(statement.bodies[1], std::make_shared<Scope>(scope), out);
  }
  for (loop.index = 0; loop.index < loop.items.size(); ++loop.index) {
    const auto round = std::make_shared<Scope>(scope);
    round->Set("loop", value);
    TRIVIUM_RETURN_IF_ERROR(
        Assign(*statement.target, loop.items[loop.index], *round));
    TRIVIUM_ASSIGN_OR_RETURN(const Flow flow,
                             Run(statement.bodies[0], round, out));
    if (flow == Flow::kBreak) break;
  }
  return Flow::kOn;
}

absl::StatusOr<Evaluator::Flow> Evaluator::ExecuteWith(
    const Statement& statement, const ScopePointer& scope, Text* out) {
  const auto inner = std::make_shared<Scope>(scope);
  for (size_t i = 0; i < statement.targets.size(); ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(Value value,
                             Evaluate(*statement.conditions[i], scope));
    TRIVIUM_RETURN_IF_ERROR(
        Assign(*statement.targets[i], std::move(value), *inner));
  }
  return Run(statement.bodies[0], inner, out);
}

}  // namespace trivium::jinja
