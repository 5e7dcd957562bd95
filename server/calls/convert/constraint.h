#ifndef TRIVIUM_SERVER_CALLS_CONVERT_CONSTRAINT_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_CONSTRAINT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/constraint_cache.h"
#include "server/batching/served_model.h"
#include "trivium/v1/common.pb.h"

namespace trivium {

// Reads a constraint without compiling it. INVALID_ARGUMENT names the field
// below `path`.
absl::StatusOr<ConstraintText> ReadConstraint(const v1::Constraint& in,
                                              const std::string& path);

// Compiles a constraint of the field `path` for a model that has a tokenizer,
// or returns the one that the model keeps. Errors name the field below `path`
// and, with JSON pointer, line or byte, the place in it.
absl::StatusOr<std::shared_ptr<const Constraint>> CompileConstraint(
    const ConstraintText& text, const std::string& path,
    const ServedModel& served, std::span<const int32_t> end_ids,
    const AliveCheck& check_alive);

// INVALID_ARGUMENT names the input `field` if the answer after `prompt` would
// not be its tokens' bytes joined: where no text comes before them, some
// tokenizers drop a space.
absl::Status CheckJoins(const Constraint& constraint,
                        const Tokenizer& tokenizer,
                        std::span<const int32_t> prompt,
                        const std::string& field);

// The status of a search that was given up, about the field `path` if its
// constraint is the reason.
absl::Status AboutConstraint(const absl::Status& status,
                             const std::string& path);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_CONSTRAINT_H_
