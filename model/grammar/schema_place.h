#ifndef TRIVIUM_MODEL_GRAMMAR_SCHEMA_PLACE_H_
#define TRIVIUM_MODEL_GRAMMAR_SCHEMA_PLACE_H_

#include "absl/status/status.h"
#include "model/grammar/schema_document.h"

namespace trivium {

// Returns a schema's error with a pointer that leads to a part of `root`. The
// error of schemas that were joined names their keyword where the joined schema
// would have it: "#/pattern: ..." of {"allOf": [{}, {"pattern": "a"}]}. That
// becomes "#/allOf/1/pattern: ...". If the keyword is not found, the pointer
// leads to what is around it.
absl::Status WithPlaceIn(const Schema& root, const absl::Status& error);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_SCHEMA_PLACE_H_
