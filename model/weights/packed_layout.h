// The head of a packed file (packed_file.h), as its reader and writer see it.
#ifndef TRIVIUM_MODEL_WEIGHTS_PACKED_LAYOUT_H_
#define TRIVIUM_MODEL_WEIGHTS_PACKED_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace trivium {

struct PackedHead {
  uint64_t magic, key_high, key_low;
  uint64_t size;    // of the file
  uint64_t pieces;  // their entries follow
  uint64_t data;    // offset
};
struct PackedEntry {
  uint64_t id, offset, size;
};

inline constexpr uint64_t kPackedMagic = 0x314b434150565254;  // "TRVPACK1"
inline constexpr size_t kPackedPage = 4096;
inline constexpr size_t kPackedLine = 64;

constexpr size_t RoundUpTo(size_t unit, size_t bytes) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_PACKED_LAYOUT_H_
