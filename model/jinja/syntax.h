#ifndef TRIVIUM_MODEL_JINJA_SYNTAX_H_
#define TRIVIUM_MODEL_JINJA_SYNTAX_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/jinja/environment.h"
#include "model/jinja/operators.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// A template as trees. Their depth is bounded by the parser.
struct Expression;
struct Statement;
using ExpressionPointer = std::unique_ptr<Expression>;
using Body = std::vector<Statement>;

struct Expression {
  enum class Kind : uint8_t {
    kConstant,
    kName,
    kTuple,
    kList,
    kDict,       // key, value, key, value, ...
    kAttribute,  // parts[0].name
    kItem,       // parts[0][parts[1]]
    kSlice,      // parts[0][parts[1]:parts[2]:parts[3]], some nullptr
    kCall,       // parts[0](parts[1], ..., named...)
    kFilter,     // parts[0] | name(parts[1], ..., named...); parts[0] is
                 // nullptr in a filter block
    kTest,       // parts[0] is name(parts[1], ..., named...)
    kNegate,
    kPlus,
    kNot,
    kAnd,
    kOr,
    kArithmetic,   // parts[0] operators[0] parts[1]
    kCompare,      // parts[0] operators[0] parts[1] operators[1] parts[2] ...
    kConcatenate,  // ~
    kConditional,  // parts[0] if parts[1] else parts[2], which may be nullptr
  };

  Kind kind = Kind::kConstant;
  int line = 0;
  int depth = 0;
  Value constant;
  std::string name;
  Filter filter = nullptr;
  Test test = nullptr;
  std::vector<ExpressionPointer> parts;
  std::vector<std::pair<std::string, ExpressionPointer>> named;
  std::vector<Operator> operators;
};

// A macro, or the body of a call block, which its macro calls as `caller`.
struct MacroDefinition {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExpressionPointer> defaults;  // defaults of the last parameters
  std::shared_ptr<const Body> body;
};

struct Statement {
  enum class Kind : uint8_t {
    kText,       // constant
    kPrint,      // expression
    kIf,         // conditions and bodies; an additional body is the else
    kFor,        // target, expression, condition or nullptr; body, else
    kSet,        // target = expression
    kSetBlock,   // target = body, passed through the filter `expression` if set
    kMacro,      // macro
    kCallBlock,  // calls `expression` with `macro` as caller
    kFilterBlock,  // body, passed through the filter `expression`
    kWith,         // targets = conditions, then body
    kScope,        // body in a scope of its own (generation)
    kBreak,
    kContinue,
  };

  Kind kind = Kind::kText;
  int line = 0;
  Value constant;
  ExpressionPointer expression;
  ExpressionPointer target;
  std::vector<ExpressionPointer> targets;
  std::vector<ExpressionPointer> conditions;
  std::vector<Body> bodies;
  std::shared_ptr<const MacroDefinition> macro;
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_SYNTAX_H_
