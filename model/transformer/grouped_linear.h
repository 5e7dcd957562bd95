#ifndef TRIVIUM_MODEL_TRANSFORMER_GROUPED_LINEAR_H_
#define TRIVIUM_MODEL_TRANSFORMER_GROUPED_LINEAR_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "model/kernels/buffer.h"
#include "model/kernels/matmul.h"
#include "model/transformer/description.h"
#include "model/transformer/formats.h"

namespace trivium {

// Packs the weights of stacked layers in groups; parameters are as in
// Linear::Create. `formats.weights` is kGroups or kInt4.
//
// Weights that their file has in groups of four bits keep their numbers and
// scales exactly (GroupFormOf), in their order. All others are rounded, to
// eight bits or, with kInt4, to four. A block of columns whose layers have
// several forms or orders is rounded to eight bits.
std::unique_ptr<PackedMatrix> PackGroups(const Formats& formats,
                                         std::span<const LinearTensors> parts,
                                         int64_t begin, int64_t count);

// The same for weights that were packed before, `packed`. INVALID_ARGUMENT if
// they have another size.
absl::StatusOr<std::unique_ptr<PackedMatrix>> ReadPackedGroups(
    const Formats& formats, std::span<const LinearTensors> parts, int64_t count,
    RawBuffer packed);

// Returns the bytes of one packed matrix [n, k] of these formats.
int64_t GroupedBytes(const TensorView& weight, WeightType type);

// True if a model has a matrix whose file has it in groups of four bits.
bool HasFourBitWeights(const TransformerDescription& description);
// True if a model has a matrix whose groups are not in the order of its columns
// (NumberOrderOf).
bool HasOrderedWeights(const TransformerDescription& description);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_GROUPED_LINEAR_H_
