#ifndef TRIVIUM_MODEL_WEIGHTS_QUANTIZED_PACKED_INTS_H_
#define TRIVIUM_MODEL_WEIGHTS_QUANTIZED_PACKED_INTS_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "model/weights/packed_rows.h"
#include "model/weights/quantized/numbers.h"
#include "model/weights/quantized/scaled_rows.h"
#include "model/weights/weights.h"

namespace trivium {

// Integers of `bits` bits that fill the words of each row from the lowest bits
// on, as compressed-tensors packs them: `codes` [out, words] i32 are the
// integers plus 2^(bits - 1).
//   value = (code - zero) * scale, rounded to the type of the scales
struct PackedInts {
  const TensorView* codes = nullptr;
  int bits = 4;
  int64_t columns = 0;
  // One row of scales for each row, or one scale in all. Zeros are i8, or i32
  // [words, grid_columns]: packed as codes are, but along the rows.
  ScaleGrid grid;
  // The group of each column; empty: columns are in the order of their groups.
  std::vector<int32_t> groups;
};

class PackedIntRows : public PackedRows {
 public:
  explicit PackedIntRows(PackedInts ints)
      : PackedRows(ints.columns,
                   FormOfCodes(ints.bits, ints.groups, ints.grid.block_columns,
                               ints.columns, *ints.grid.scales)),
        ints_(std::move(ints)) {}

  void ReadGroups(int64_t first, std::span<GroupedRow> rows) const override;

 private:
  void UnpackRows(int64_t first, int64_t count, float* out) const override;
  // Returns the zero of a row's group, as a code.
  int ZeroAt(int64_t row, int64_t group) const;

  const PackedInts ints_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_QUANTIZED_PACKED_INTS_H_
