#ifndef TRIVIUM_MODEL_WEIGHTS_PICKLE_GLOBALS_H_
#define TRIVIUM_MODEL_WEIGHTS_PICKLE_GLOBALS_H_

#include <optional>
#include <string_view>

#include "model/weights/weights.h"

namespace trivium {

// The names that a pickle may call: each builds plain data.
inline constexpr std::string_view kOrderedDict = "collections.OrderedDict";
inline constexpr std::string_view kRebuildTensor =
    "torch._utils._rebuild_tensor";
inline constexpr std::string_view kRebuildTensorV2 =
    "torch._utils._rebuild_tensor_v2";
inline constexpr std::string_view kRebuildParameter =
    "torch._utils._rebuild_parameter";

// True if a pickle may name `global` ("module.name"): the four above and
// torch's storage classes. This is a list, not a pattern: whatever is not
// needed to read tensors is refused.
bool IsAllowedGlobal(std::string_view global);

// Returns the element type of an allowed storage class; nullopt for types that
// no tensor here supports (double, short, char).
std::optional<DType> StorageDType(std::string_view global);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_PICKLE_GLOBALS_H_
