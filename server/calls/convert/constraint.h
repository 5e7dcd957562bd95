#ifndef TRIVIUM_SERVER_CALLS_CONVERT_CONSTRAINT_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_CONSTRAINT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

// The field of v1::Constraint that has a form.
std::string_view NameOf(ConstraintText::Form form);

// The field `name` asks to hold texts to a form. INVALID_ARGUMENT if other
// options are against it; FAILED_PRECONDITION if the model is.
absl::Status CheckConstraint(const v1::DecodingOptions& in,
                             const std::string& name,
                             const DecodingOptions& out, const Model& model);

// Compiles a constraint of the field `path` for a model that has a tokenizer,
// or returns the one that the model keeps. Errors name the field below `path`
// and, with JSON pointer, line or byte, the place in it.
absl::StatusOr<std::shared_ptr<const Constraint>> CompileConstraint(
    const ConstraintText& text, const std::string& path,
    const ServedModel& served, std::span<const int32_t> end_ids,
    const AliveCheck& check_alive);

// A status of compiling a constraint of the field `path`, with the field's
// name.
absl::Status AboutCompiling(const absl::Status& status,
                            const ConstraintText& text,
                            const std::string& path);

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
