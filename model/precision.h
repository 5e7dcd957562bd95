#ifndef TRIVIUM_MODEL_PRECISION_H_
#define TRIVIUM_MODEL_PRECISION_H_

#include "absl/status/statusor.h"
#include "base/isa.h"
#include "model/model.h"
#include "model/transformer/formats.h"

namespace trivium {

// What `precision` means at `isa`: kAuto becomes int8 with VNNI, else f32.
// FAILED_PRECONDITION for bf16 on a CPU without its instructions.
absl::StatusOr<Precision> ResolvePrecision(Precision precision, Isa isa);

// What a resolved precision is a name of; a decoder's keys and values are kept
// as `kv_precision` says, kAuto: as the precision does.
Formats FormatsOf(Precision precision, Precision kv_precision);

// What a decoder's keys and values are kept in; never kAuto.
Precision KvPrecisionOf(const Formats& formats);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_PRECISION_H_
