#ifndef TRIVIUM_MODEL_GRAMMAR_SCHEMA_NAMES_H_
#define TRIVIUM_MODEL_GRAMMAR_SCHEMA_NAMES_H_

#include <string_view>

#include "absl/status/status.h"
#include "model/grammar/schema_document.h"
#include "model/grammar/work_budget.h"

namespace trivium {

// Replaces references by name with pointers from the root: "#leaf" of an
// $anchor, "Node" of an $id, "https://a.example/tree#/$defs/leaf". Those inside
// a schema with an $id of its own mean its parts, and are replaced, too; then
// the $id is taken away. $dynamicRef and $recursiveRef become $ref where only
// one schema can be meant. References to names that nothing here has, or
// several schemas have, stay as they are.
//
// `text` is the schema as it was read: most have no names.
absl::Status PointReferences(std::string_view text, WorkBudget* work,
                             Schema* root);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_SCHEMA_NAMES_H_
