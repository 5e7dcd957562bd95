#ifndef TRIVIUM_MODEL_PRECISION_H_
#define TRIVIUM_MODEL_PRECISION_H_

#include "absl/status/statusor.h"
#include "base/isa.h"
#include "model/model.h"
#include "model/transformer/formats.h"

namespace trivium {

// What `precision` means at `isa`: kAuto becomes int8 where its products do
// not saturate (VNNI), else f32. FAILED_PRECONDITION for bf16 on a CPU without
// its instructions.
absl::StatusOr<Precision> ResolvePrecision(Precision precision, Isa isa);

// What a resolved precision is a name of.
const Formats& FormatsOf(Precision precision);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_PRECISION_H_
