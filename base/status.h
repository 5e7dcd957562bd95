#ifndef TRIVIUM_BASE_STATUS_H_
#define TRIVIUM_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the expression's status from the calling function if it is an error.
#define TRIVIUM_RETURN_IF_ERROR(expression)                                 \
  do {                                                                      \
    if (absl::Status trivium_status = (expression); !trivium_status.ok()) { \
      return trivium_status;                                                \
    }                                                                       \
  } while (false)

// TRIVIUM_ASSIGN_OR_RETURN(auto x, F()) sets x to F()'s value, or returns F()'s
// error from the calling function.
#define TRIVIUM_ASSIGN_OR_RETURN(declaration, expression)           \
  TRIVIUM_ASSIGN_OR_RETURN_AT_(TRIVIUM_CONCAT_(trivium_, __LINE__), \
                               declaration, expression)

#define TRIVIUM_CONCAT_(a, b) TRIVIUM_CONCAT_INNER_(a, b)
#define TRIVIUM_CONCAT_INNER_(a, b) a##b
#define TRIVIUM_ASSIGN_OR_RETURN_AT_(variable, declaration, expression) \
  auto variable = (expression);                                         \
  if (!variable.ok()) return std::move(variable).status();              \
  declaration = *std::move(variable)

#endif  // TRIVIUM_BASE_STATUS_H_
