#ifndef TRIVIUM_TESTS_MODEL_GRAMMAR_JSON_VALIDATOR_H_
#define TRIVIUM_TESTS_MODEL_GRAMMAR_JSON_VALIDATOR_H_

#include <string>

#include "nlohmann/json.hpp"

namespace trivium {

// Validates a value against a schema, keyword by keyword as the specification
// says, with the standard library's regular expressions (so patterns and the
// strings that they see must be ASCII). `root` is what references point into.
bool IsValid(const nlohmann::json& value, const nlohmann::json& schema,
             const nlohmann::json& root);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_GRAMMAR_JSON_VALIDATOR_H_
