#ifndef TRIVIUM_MODEL_PRECISION_H_
#define TRIVIUM_MODEL_PRECISION_H_

#include "absl/status/statusor.h"
#include "base/isa.h"
#include "model/model.h"
#include "model/transformer/formats.h"

namespace trivium {

// Resolves `precision` at `isa`: kAuto becomes int8, on Arm f32. A model
// whose file has weights in four bits becomes kInt4 instead
// (model/folder.cc). FAILED_PRECONDITION for bf16 on a CPU without its
// instructions.
absl::StatusOr<Precision> ResolvePrecision(Precision precision, Isa isa);

// Returns the formats that a resolved precision stands for. `kv_precision` sets
// the format of a decoder's keys and values; kAuto: that of the precision.
Formats FormatsOf(Precision precision, Precision kv_precision);

// Returns the format of a decoder's keys and values; never kAuto.
Precision KvPrecisionOf(const Formats& formats);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_PRECISION_H_
