#ifndef TRIVIUM_MODEL_JINJA_ARGUMENTS_H_
#define TRIVIUM_MODEL_JINJA_ARGUMENTS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// The arguments of a call of a function, filter, test, method or macro.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// The arguments of a call, ordered by the names of the parameters:
//
//   TRIVIUM_ASSIGN_OR_RETURN(
//       const Bound bound, Bind(arguments, {"default_value", "boolean"}));
//   if (bound.IsTrue(1)) ...
class Bound {
 public:
  explicit Bound(std::vector<const Value*> values)
      : values_(std::move(values)) {}

  const Value* operator[](size_t i) const { return values_[i]; }
  bool IsTrue(size_t i, bool unset = false) const {
    return values_[i] == nullptr ? unset : jinja::IsTrue(*values_[i]);
  }
  // True if argument i is given and is not none.
  bool IsGiven(size_t i) const {
    return values_[i] != nullptr && !values_[i]->Is(Kind::kNone);
  }
  // Return argument i; INVALID_ARGUMENT if it is given and has another type.
  absl::StatusOr<int64_t> Whole(size_t i, int64_t unset) const;
  absl::StatusOr<std::optional<TextView>> Text(size_t i) const;

 private:
  std::vector<const Value*> values_;
};

// Matches arguments to parameters. INVALID_ARGUMENT if there are too many, a
// name is unknown, one is given twice, or one of the first `required` is
// missing. `arguments` must outlive the result.
absl::StatusOr<Bound> Bind(const Arguments& arguments,
                           std::initializer_list<std::string_view> names,
                           size_t required = 0);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_ARGUMENTS_H_
