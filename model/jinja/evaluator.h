#ifndef TRIVIUM_MODEL_JINJA_EVALUATOR_H_
#define TRIVIUM_MODEL_JINJA_EVALUATOR_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/jinja/environment.h"
#include "model/jinja/heap.h"
#include "model/jinja/scope.h"
#include "model/jinja/syntax.h"

namespace trivium::jinja {

// Renders a template's trees once. Errors begin with the line.
class Evaluator {
 public:
  // `variables` are the names that the template finds besides those it sets.
  // They and the heap must outlive the evaluator.
  Evaluator(Heap& heap, const Scope& variables,
            const Surroundings& surroundings)
      : heap_(heap), variables_(variables), surroundings_(surroundings) {}

  absl::StatusOr<Text> Render(const Body& body);

 private:
  enum class Flow { kOn, kBreak, kContinue };
  using ScopePointer = std::shared_ptr<Scope>;

  // Run statements; their output is appended to `out`.
  absl::StatusOr<Flow> Run(const Body& body, const ScopePointer& scope,
                           Text* out);
  absl::StatusOr<Flow> Execute(const Statement& statement,
                               const ScopePointer& scope, Text* out);
  absl::StatusOr<Flow> ExecuteIf(const Statement& statement,
                                 const ScopePointer& scope, Text* out);
  absl::StatusOr<Flow> ExecuteFor(const Statement& statement,
                                  const ScopePointer& scope, Text* out);
  absl::StatusOr<Flow> ExecuteWith(const Statement& statement,
                                   const ScopePointer& scope, Text* out);
  absl::StatusOr<Value> LoopOf(const Statement& statement,
                               const ScopePointer& scope);
  // Returns a body's text, rendered in a scope of its own and passed through
  // `filter` if it is set.
  absl::StatusOr<Value> Block(const Body& body, const Expression* filter,
                              const ScopePointer& scope);
  absl::Status Assign(const Expression& target, Value value, Scope& scope);
  absl::Status Print(const Value& value, Text* out);
  absl::StatusOr<Value> NewMacro(
      std::shared_ptr<const MacroDefinition> definition,
      const ScopePointer& scope);

  // Evaluate expressions.
  absl::StatusOr<Value> Evaluate(const Expression& node,
                                 const ScopePointer& scope);
  absl::StatusOr<Value> EvaluateNode(const Expression& node,
                                     const ScopePointer& scope);
  absl::StatusOr<Value> EvaluateAccess(const Expression& node,
                                       const ScopePointer& scope);
  absl::StatusOr<Value> EvaluateLogic(const Expression& node,
                                      const ScopePointer& scope);
  absl::StatusOr<Value> EvaluateCompare(const Expression& node,
                                        const ScopePointer& scope);
  absl::StatusOr<Value> EvaluateCollection(const Expression& node,
                                           const ScopePointer& scope);
  absl::StatusOr<Value> EvaluateCall(const Expression& node,
                                     const ScopePointer& scope,
                                     const Value* caller);
  absl::StatusOr<Value> Filtered(const Expression& node, const Value* input,
                                 const ScopePointer& scope);
  absl::StatusOr<Value> CallMacro(const Value& macro, Arguments arguments,
                                  const Value* caller);
  absl::StatusOr<Arguments> EvaluateArguments(const Expression& node,
                                              const ScopePointer& scope);
  absl::StatusOr<Value> Find(std::string_view name, const Scope* scope);

  // Adds the innermost line to an error that has none yet.
  absl::Status Located(absl::Status status, int line);

  Heap& heap_;
  const Scope& variables_;
  const Surroundings surroundings_;
  int depth_ = 0;         // nesting of Execute and Evaluate
  bool located_ = false;  // the current error names its line already
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_EVALUATOR_H_
