#ifndef TRIVIUM_MODEL_WEIGHTS_PACKED_ROWS_H_
#define TRIVIUM_MODEL_WEIGHTS_PACKED_ROWS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/weights/grouped_row.h"

namespace trivium {

// The exact form of rows in groups (grouped_row.h), if they have one.
struct RowsInGroups {
  std::optional<GroupForm> form = std::nullopt;
  std::vector<int32_t> order = {};  // as PackedRows::order
};

// A matrix that its file stores packed, in a format of a quantizing program
// (quantized/). Rows are unpacked when they are read, so that memory never
// holds an unpacked copy, unless a family reorders it. Views the file's bytes.
// Threads may read at the same time.
class PackedRows {
 public:
  // The rows that are best read together: some formats store as many side by
  // side.
  static constexpr int64_t kRowsAtOnce = 8;

  virtual ~PackedRows() = default;

  // Unpacks the elements [begin, begin + out.size()), which must exist.
  void Read(int64_t begin, std::span<float> out) const;

  // The form that holds the rows' numbers and scales exactly (grouped_row.h);
  // nullopt if none does.
  std::optional<GroupForm> form() const { return groups_.form; }
  // The column of each number of such a row; empty: they are in order.
  std::span<const int32_t> order() const { return groups_.order; }
  // Reads the rows [first, first + rows.size()) in that form, which exists.
  virtual void ReadGroups(int64_t first, std::span<GroupedRow> rows) const {}

 protected:
  explicit PackedRows(int64_t columns, RowsInGroups groups = {})
      : columns_(columns), groups_(std::move(groups)) {}

  int64_t columns() const { return columns_; }
  // Unpacks the rows [first, first + count) to out [count, columns()].
  virtual void UnpackRows(int64_t first, int64_t count, float* out) const = 0;

 private:
  const int64_t columns_;
  const RowsInGroups groups_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_PACKED_ROWS_H_
