#include "model/weights/quantized/packed_ints.h"

namespace trivium {

int PackedIntRows::ZeroAt(int64_t row, int64_t group) const {
  const int middle = 1 << (ints_.bits - 1);
  const TensorView* const zeros = ints_.grid.zeros;
  if (zeros == nullptr) return middle;
  const int64_t groups = ints_.grid.grid_columns;
  if (zeros->dtype == DType::kI32) {
    return static_cast<int>(
        BitsAt(*zeros, group, groups, row * ints_.bits, ints_.bits));
  }
  const int64_t at = row / ints_.grid.block_rows * groups + group;
  return static_cast<int8_t>(ByteAt(*zeros, at)) + middle;
}

void PackedIntRows::ReadGroups(int64_t first,
                               std::span<GroupedRow> rows) const {
  const ScaleGrid& grid = ints_.grid;
  const int64_t words = WordsOf(columns(), ints_.bits);
  for (GroupedRow& to : rows) {
    ClearGroups(GroupForm::kZero4, columns(), &to);
    const auto codes =
        std::span(to.numbers).first(static_cast<size_t>(columns()));
    ReadCodes(*ints_.codes, first * words, 1, ints_.bits, codes);
    PutInOrder(order(), codes);
    const int64_t grid_row = first / grid.block_rows * grid.grid_columns;
    for (int64_t group = 0; group < grid.grid_columns; ++group) {
      AddGroups(grid.block_columns, NumberAt(*grid.scales, grid_row + group),
                ZeroAt(first, group), &to);
    }
    ++first;
  }
}

void PackedIntRows::UnpackRows(int64_t first, int64_t count, float* out) const {
  const ScaleGrid& grid = ints_.grid;
  const int64_t words = WordsOf(columns(), ints_.bits);
  CodeValues values(grid.scales->dtype, ints_.bits, grid.grid_columns,
                    columns());
  std::vector<uint8_t> codes(static_cast<size_t>(columns()));
  for (int64_t row = first; row < first + count; ++row, out += columns()) {
    const int64_t grid_row = row / grid.block_rows * grid.grid_columns;
    for (int64_t group = 0; group < grid.grid_columns; ++group) {
      values.SetGroup(group, NumberAt(*grid.scales, grid_row + group),
                      ZeroAt(row, group));
    }
    ReadCodes(*ints_.codes, row * words, 1, ints_.bits, codes);
    values.GetRow(ints_.groups, grid.block_columns, codes, out);
  }
}

}  // namespace trivium
