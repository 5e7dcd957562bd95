#ifndef TRIVIUM_MODEL_WEIGHTS_UNPICKLER_H_
#define TRIVIUM_MODEL_WEIGHTS_UNPICKLER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// The values that a pickle may contain here: plain data, storages and tensors.
// Values refer to one another by index, so that neither depth nor cycles can
// hurt.
struct PickleValue {
  enum class Kind {
    kNone,
    kBool,     // integer
    kInteger,  // integer
    kBytes,    // text: integers beyond 64 bits and byte strings, little-endian
    kFloat,    // real
    kString,   // text
    kTuple,    // items
    kList,     // items
    kDict,     // items: key, value, key, value...; OrderedDict too
    kGlobal,   // text: "module.name", one of the allowed ones
    kStorage,  // items: of the persistent id ("storage", type, key, ...)
    kTensor,   // items: arguments of _rebuild_tensor: storage, offset, size,
               // stride, ...
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<uint32_t> items;
};

struct Pickle {
  std::vector<PickleValue> values;
  uint32_t root = 0;
  size_t size = 0;  // bytes read, including the final STOP

  const PickleValue& at(uint32_t index) const { return values[index]; }
  // Returns null if `dict` has no such key.
  const PickleValue* Find(const PickleValue& dict, std::string_view key) const;
};

// Reads one pickle from the start of `bytes` (protocols 2 to 5, as Python's
// torch.save writes them). It knows no classes: a global must be in a fixed
// list of names, calling one creates a dict or a tensor description, and
// everything else is refused by name. The error tells the position.
absl::StatusOr<Pickle> Unpickle(std::span<const std::byte> bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_UNPICKLER_H_
