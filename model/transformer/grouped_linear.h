#ifndef TRIVIUM_MODEL_TRANSFORMER_GROUPED_LINEAR_H_
#define TRIVIUM_MODEL_TRANSFORMER_GROUPED_LINEAR_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "model/kernels/grouped_product.h"
#include "model/transformer/description.h"
#include "model/transformer/formats.h"

namespace trivium {

// Packs the weights of stacked layers in groups; parameters are as in
// Linear::Create. `formats.weights` is kGroups or kInt4.
//
// Weights that their file has in groups of four bits keep their numbers and
// scales exactly (GroupFormOf). All others are rounded, to eight bits or, with
// kInt4, to four. A block of columns whose layers have several forms is rounded
// to eight bits.
GroupedWeights PackGroups(const Formats& formats,
                          std::span<const LinearTensors> parts, int64_t begin,
                          int64_t count);

// The same for weights that were packed before, `packed`. INVALID_ARGUMENT if
// they have another size.
absl::StatusOr<GroupedWeights> ReadPackedGroups(
    const Formats& formats, std::span<const LinearTensors> parts, int64_t count,
    RawBuffer packed);

// Returns the bytes of one packed matrix [n, k] of these formats.
int64_t GroupedBytes(const TensorView& weight, WeightType type);

// True if a model has a matrix whose file has it in groups of four bits.
bool HasFourBitWeights(const TransformerDescription& description);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_GROUPED_LINEAR_H_
