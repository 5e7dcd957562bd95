// Always:
// - Callers have checked the shapes: here are only assertions.
// - A result owns its bytes or views those of its input, and has no row_scales.
//   Neither its address nor its bytes move when `memory` grows.
// - SplitRows, RowsInOrder, PairsToHalves, Transpose and TransposedColumns move
//   bytes, so they are exact and keep the type. They first make f32 of rows
//   with scales, and a plain tensor of the same type of packed ones, but parts
//   of one group are views of packed tensors, too. Transpose and
//   TransposedColumns also make f32 of blocks, whose elements they move one by
//   one.
// - A tensor without values (imagined weights) gives one without values. Only
//   Mxfp4Rows needs values. It is a view that unpacks rows as they are read.
// - TransposedColumns and Mxfp4Rows leave out a rest that `step` does not
//   divide.
#include "model/families/derived_tensors.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

#include "model/weights/grouped_row.h"
#include "model/weights/half.h"
#include "model/weights/packed_rows.h"
#include "model/weights/tensor_file.h"

namespace trivium {
namespace {

struct OwnedTensor {
  TensorView view;
  std::vector<std::byte> data;
};

// Returns a tensor of this shape that is made of `of`. Its data are still to be
// written if `of` has any (imagined_weights.h).
OwnedTensor* NewTensor(const TensorView& of, std::vector<int64_t> shape,
                       TensorMemory* memory) {
  auto tensor = std::make_shared<OwnedTensor>();
  if (of.has_values()) {
    size_t bytes = DTypeSize(of.dtype);
    for (const int64_t size : shape) bytes *= size;
    tensor->data.resize(bytes / BlockElements(of.dtype));
  }
  tensor->view = {of.dtype, std::move(shape), tensor->data};
  memory->push_back(tensor);
  return tensor.get();
}

// Rows of one of several matrices in MXFP4 (Mxfp4Rows), as a packed tensor.
class ExpertRows : public PackedRows {
 public:
  ExpertRows(const TensorView& blocks, const TensorView& scales, int64_t index,
             int64_t first, int64_t step)
      : PackedRows(kGroupNumbers * blocks.shape[2], {.form = GroupForm::kFp4}),
        blocks_(blocks.data),
        scales_(scales.data),
        groups_(blocks.shape[2]),
        first_(index * blocks.shape[1] + first),
        step_(step) {
    view_ = {DType::kBf16, {blocks.shape[1] / step, columns()}, {}};
    view_.packed = this;
  }

  const TensorView& view() const { return view_; }

  void ReadGroups(int64_t row, std::span<GroupedRow> rows) const override {
    for (GroupedRow& to : rows) {
      ClearGroups(GroupForm::kFp4, columns(), &to);
      const int64_t at = (first_ + row++ * step_) * groups_;
      for (int64_t i = 0; i < columns() / 2; ++i) {
        const int both = Byte(blocks_, at * kBytes + i);
        to.numbers[2 * i] = static_cast<uint8_t>(both & 15);
        to.numbers[2 * i + 1] = static_cast<uint8_t>(both >> 4);
      }
      for (int64_t group = 0; group < groups_; ++group) {
        to.part_scales[group] = static_cast<uint8_t>(Byte(scales_, at + group));
      }
    }
  }

 private:
  static constexpr int64_t kBytes = kGroupNumbers / 2;  // of a group
  // kFp4Numbers, with a zero of either sign.
  static constexpr float kNumbers[] = {0,     1,  2,  3,  4,  6,  8,  12,
                                       -0.0f, -1, -2, -3, -4, -6, -8, -12};

  static int Byte(std::span<const std::byte> bytes, int64_t i) {
    return std::to_integer<int>(bytes[static_cast<size_t>(i)]);
  }
  void UnpackRows(int64_t row, int64_t count, float* out) const override {
    for (; count > 0; --count, ++row) {
      const int64_t at = (first_ + row * step_) * groups_;
      for (int64_t group = at; group < at + groups_; ++group) {
        const float scale =
            Mxfp4Scale(static_cast<uint8_t>(Byte(scales_, group)));
        for (int64_t i = 0; i < kBytes; ++i) {
          const int both = Byte(blocks_, group * kBytes + i);
          *out++ = kNumbers[both & 15] * scale;
          *out++ = kNumbers[both >> 4] * scale;
        }
      }
    }
  }

  const std::span<const std::byte> blocks_, scales_;
  const int64_t groups_;
  const int64_t first_, step_;  // rows of all matrices
  TensorView view_;
};

// Returns a copy of a packed tensor in its type, which holds all its values.
TensorView Unpacked(const TensorView& tensor, TensorMemory* memory) {
  OwnedTensor* const copy = NewTensor(tensor, tensor.shape, memory);
  const int64_t columns = tensor.shape.back();
  const int64_t step = PackedRows::kRowsAtOnce * columns;
  std::vector<float> values(std::min(step, tensor.elements()));
  std::byte* to = copy->data.data();
  const auto put = [&to](auto value) {
    std::memcpy(to, &value, sizeof(value));
    to += sizeof(value);
  };
  for (int64_t begin = 0; begin < tensor.elements(); begin += step) {
    const auto part =
        std::span(values).first(std::min(step, tensor.elements() - begin));
    CopyToF32(tensor, begin, part);
    for (const float value : part) {
      if (tensor.dtype == DType::kF16) {
        put(F32ToF16(value));
      } else if (tensor.dtype == DType::kBf16) {
        put(F32ToBf16(value));
      } else {
        put(value);
      }
    }
  }
  return copy->view;
}

// Returns an f32 tensor of these values; of none if they are imagined.
const TensorView* NewF32(std::span<const float> values,
                         std::vector<int64_t> shape, TensorMemory* memory) {
  const TensorView f32 = {DType::kF32, {}, std::as_bytes(values)};
  OwnedTensor* const result = NewTensor(f32, std::move(shape), memory);
  std::copy(f32.data.begin(), f32.data.end(), result->data.begin());
  return &result->view;
}

// Returns the tensor, or a copy of it if its values are packed, or in f32 if
// its rows have scales or, for `elements`, if its elements cannot be read one
// by one.
TensorView Plain(const TensorView& tensor, bool elements,
                 TensorMemory* memory) {
  if (tensor.packed != nullptr) return Unpacked(tensor, memory);
  if (tensor.row_scales == nullptr &&
      (!elements || BlockElements(tensor.dtype) == 1)) {
    return tensor;
  }
  std::vector<float> values(tensor.elements());
  CopyToF32(tensor, 0, values);
  const TensorView f32 = {DType::kF32, tensor.shape,
                          std::as_bytes(std::span(values))};
  OwnedTensor* const copy = NewTensor(f32, tensor.shape, memory);
  std::copy(f32.data.begin(), f32.data.end(), copy->data.begin());
  return copy->view;
}

// Returns consecutive parts of a tensor's rows, which view its bytes.
std::vector<const TensorView*> ViewRows(const TensorView& tensor,
                                        std::span<const int64_t> rows,
                                        size_t row_bytes,
                                        TensorMemory* memory) {
  std::vector<const TensorView*> parts;
  size_t begin = 0;
  int64_t begin_row = 0;
  for (const int64_t part_rows : rows) {
    auto part = std::make_shared<TensorView>(tensor);
    part->shape.front() = part_rows;
    part->data = tensor.data.subspan(begin, part_rows * row_bytes);
    begin += part->data.size();
    if (tensor.packed != nullptr) {
      part->packed_begin += begin_row * tensor.shape.back();
      begin_row += part_rows;
    }
    parts.push_back(part.get());
    memory->push_back(std::move(part));
  }
  return parts;
}

}  // namespace

std::vector<const TensorView*> SplitRows(const TensorView& tensor,
                                         int64_t groups,
                                         std::span<const int64_t> rows,
                                         TensorMemory* memory) {
  const int64_t group_rows =
      std::accumulate(rows.begin(), rows.end(), int64_t{0});
  if (groups == 1 && tensor.row_scales == nullptr) {
    return ViewRows(tensor, rows, tensor.data.size() / group_rows, memory);
  }
  TensorMemory plain_memory;
  const TensorView joined = Plain(tensor, /*elements=*/false, &plain_memory);
  assert(joined.shape.front() == groups * group_rows);
  const size_t row_bytes = joined.data.size() / (groups * group_rows);
  std::vector<const TensorView*> parts;
  const std::byte* from = joined.data.data();
  for (const int64_t part_rows : rows) {
    std::vector<int64_t> shape = joined.shape;
    shape.front() = groups * part_rows;
    OwnedTensor* const part = NewTensor(joined, std::move(shape), memory);
    parts.push_back(&part->view);
    if (joined.data.empty()) continue;
    const size_t part_bytes = part_rows * row_bytes;
    for (int64_t group = 0; group < groups; ++group) {
      std::memcpy(part->data.data() + group * part_bytes,
                  from + group * group_rows * row_bytes, part_bytes);
    }
    from += part_bytes;
  }
  return parts;
}

const TensorView* RowsInOrder(const TensorView& tensor,
                              std::span<const int64_t> rows,
                              TensorMemory* memory) {
  TensorMemory plain_memory;
  const TensorView plain = Plain(tensor, /*elements=*/false, &plain_memory);
  std::vector<int64_t> shape = plain.shape;
  shape.front() = static_cast<int64_t>(rows.size());
  OwnedTensor* const result = NewTensor(plain, std::move(shape), memory);
  if (plain.data.empty()) return &result->view;
  const size_t row_bytes = plain.data.size() / plain.shape.front();
  std::byte* to = result->data.data();
  for (const int64_t row : rows) {
    std::memcpy(to, plain.data.data() + row * row_bytes, row_bytes);
    to += row_bytes;
  }
  return &result->view;
}

const TensorView* PairsToHalves(const TensorView& tensor, int head_size,
                                int pairs, TensorMemory* memory) {
  std::vector<int64_t> order;
  for (int64_t row = 0; row < tensor.shape.front(); ++row) {
    const int64_t i = row % head_size;
    int64_t from = i;
    if (i < 2 * pairs) from = i < pairs ? 2 * i : 2 * (i - pairs) + 1;
    order.push_back(row - i + from);
  }
  return RowsInOrder(tensor, order, memory);
}

const TensorView* RowsOfPairsToHalves(const TensorView& tensor, int pairs,
                                      TensorMemory* memory) {
  assert(tensor.shape.size() == 2);
  TensorView f32 = tensor;
  f32.dtype = DType::kF32;
  f32.row_scales = nullptr;
  OwnedTensor* const result = NewTensor(f32, tensor.shape, memory);
  if (!tensor.has_values()) return &result->view;
  std::vector<float> values(tensor.elements());
  CopyToF32(tensor, 0, values);
  const int64_t size = tensor.shape[1];
  std::vector<float> row(size);
  for (size_t begin = 0; begin < values.size(); begin += size) {
    std::copy_n(&values[begin], size, row.begin());
    for (int i = 0; i < pairs; ++i) {
      values[begin + i] = row[2 * i];
      values[begin + pairs + i] = row[2 * i + 1];
    }
  }
  std::memcpy(result->data.data(), values.data(), result->data.size());
  return &result->view;
}

const TensorView* StackedRows(const std::vector<const TensorView*>& rows,
                              TensorMemory* memory) {
  const TensorView& first = *rows.front();
  const int64_t size = first.elements();
  TensorView f32 = first;
  f32.dtype = DType::kF32;
  f32.row_scales = nullptr;
  OwnedTensor* const result =
      NewTensor(f32, {static_cast<int64_t>(rows.size()), size}, memory);
  std::vector<float> values(size);
  std::byte* to = result->data.data();
  for (const TensorView* row : rows) {
    assert(row->elements() == size);
    if (!row->has_values() || !first.has_values()) break;
    CopyToF32(*row, 0, values);
    std::memcpy(to, values.data(), values.size() * sizeof(float));
    to += values.size() * sizeof(float);
  }
  return &result->view;
}

const TensorView* Reshaped(const TensorView& tensor, std::vector<int64_t> shape,
                           TensorMemory* memory) {
  auto view =
      std::make_shared<TensorView>(Plain(tensor, /*elements=*/true, memory));
  view->shape = std::move(shape);
  memory->push_back(view);
  return view.get();
}

const TensorView* JoinedColumns(const TensorView& left, const TensorView& right,
                                TensorMemory* memory) {
  const int64_t n = left.shape[0], a = left.shape[1], b = right.shape[1];
  std::vector<float> values;
  if (left.has_values() && right.has_values()) {
    values.resize(n * (a + b));
    for (int64_t i = 0; i < n; ++i) {
      const auto row = std::span(values).subspan(i * (a + b), a + b);
      CopyToF32(left, i * a, row.first(a));
      CopyToF32(right, i * b, row.last(b));
    }
  }
  return NewF32(values, {n, a + b}, memory);
}

const TensorView* BlockDiagonal(const TensorView& blocks,
                                TensorMemory* memory) {
  const int64_t groups = blocks.shape[0], m = blocks.shape[1];
  const int64_t n = blocks.shape[2], columns = m * groups;
  std::vector<float> values;
  if (blocks.has_values()) {
    std::vector<float> given(blocks.elements());
    CopyToF32(blocks, 0, given);
    values.resize(given.size() * groups);
    for (int64_t i = 0; i < blocks.elements(); ++i) {
      const int64_t group = i / (m * n), row = i / n % m, column = i % n;
      values[(group * n + column) * columns + group * m + row] = given[i];
    }
  }
  return NewF32(values, {n * groups, columns}, memory);
}

const TensorView* Scaled(const TensorView& tensor, float factor,
                         TensorMemory* memory) {
  TensorView f32 = tensor;
  f32.dtype = DType::kF32;
  f32.row_scales = nullptr;
  OwnedTensor* const scaled = NewTensor(f32, tensor.shape, memory);
  if (!tensor.has_values()) return &scaled->view;
  std::vector<float> values(tensor.elements());
  CopyToF32(tensor, 0, values);
  for (float& value : values) value *= factor;
  std::memcpy(scaled->data.data(), values.data(), scaled->data.size());
  return &scaled->view;
}

const TensorView* PlusRow(const TensorView& tensor, const TensorView& other,
                          int64_t row, TensorMemory* memory) {
  const int64_t columns = tensor.shape.back();
  std::vector<float> values;
  if (tensor.has_values() && other.has_values()) {
    values.resize(tensor.elements());
    CopyToF32(tensor, 0, values);
    std::vector<float> added(columns);
    CopyToF32(other, row * columns, added);
    for (size_t i = 0; i < values.size(); ++i) values[i] += added[i % columns];
  }
  return NewF32(values, tensor.shape, memory);
}

const TensorView* PlusProduct(const TensorView& w, const TensorView& left,
                              const TensorView& right, int64_t index,
                              float factor, TensorMemory* memory) {
  if (!w.has_values() || !left.has_values() || !right.has_values()) {
    return NewF32({}, w.shape, memory);
  }
  const int64_t m = w.shape[0], n = w.shape[1], rank = left.shape[2];
  TensorView f32 = w;
  f32.dtype = DType::kF32;
  f32.row_scales = nullptr;
  OwnedTensor* const sum = NewTensor(f32, w.shape, memory);
  std::vector<float> l(m * rank), r(rank * n), row(n);
  CopyToF32(left, index * m * rank, l);
  CopyToF32(right, index * rank * n, r);
  // A table of embeddings takes a gigabyte, so there is no second copy of it.
  std::byte* to = sum->data.data();
  for (int64_t i = 0; i < m; ++i) {
    CopyToF32(w, i * n, row);
    for (int64_t k = 0; k < rank; ++k) {
      const float share = factor * l[i * rank + k];
      for (int64_t j = 0; j < n; ++j) row[j] += share * r[k * n + j];
    }
    std::memcpy(to, row.data(), n * sizeof(float));
    to += n * sizeof(float);
  }
  return &sum->view;
}

const TensorView* Extended(const TensorView& tensor, std::vector<int64_t> shape,
                           float value, TensorMemory* memory) {
  std::vector<float> values;
  if (tensor.has_values() || tensor.elements() == 0) {
    values.resize(ElementCount(shape).value_or(0), value);
    CopyToF32(tensor, 0, std::span(values).first(tensor.elements()));
  }
  return NewF32(values, std::move(shape), memory);
}

const TensorView* Transpose(const TensorView& matrix, TensorMemory* memory) {
  assert(matrix.shape.size() == 2);
  TensorMemory plain_memory;
  const TensorView tensor = Plain(matrix, /*elements=*/true, &plain_memory);
  const int64_t m = tensor.shape[0], n = tensor.shape[1];
  OwnedTensor* const result = NewTensor(tensor, {n, m}, memory);
  if (tensor.data.empty()) return &result->view;
  const size_t size = DTypeSize(tensor.dtype);
  std::byte* to = result->data.data();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j, to += size) {
      std::memcpy(to, tensor.data.data() + (j * n + i) * size, size);
    }
  }
  return &result->view;
}

const TensorView* TransposedColumns(const TensorView& of, int64_t index,
                                    int64_t first, int64_t step,
                                    TensorMemory* memory) {
  TensorMemory plain_memory;
  const TensorView tensor = Plain(of, /*elements=*/true, &plain_memory);
  const bool matrix = tensor.shape.size() == 3;
  const int64_t m = matrix ? tensor.shape[1] : 1;
  const int64_t columns = tensor.shape.back();
  std::vector<int64_t> shape = {columns / step};
  if (matrix) shape.push_back(m);
  OwnedTensor* const result = NewTensor(tensor, std::move(shape), memory);
  if (tensor.data.empty()) return &result->view;
  const size_t size = DTypeSize(tensor.dtype);
  const std::byte* from = tensor.data.data() + index * m * columns * size;
  std::byte* to = result->data.data();
  for (int64_t column = first; column < columns / step * step; column += step) {
    for (int64_t j = 0; j < m; ++j, to += size) {
      std::memcpy(to, from + (j * columns + column) * size, size);
    }
  }
  return &result->view;
}

const TensorView* Mxfp4Rows(const TensorView& blocks, const TensorView& scales,
                            int64_t index, int64_t first, int64_t step,
                            TensorMemory* memory) {
  const auto rows =
      std::make_shared<ExpertRows>(blocks, scales, index, first, step);
  memory->push_back(rows);
  return &rows->view();
}

}  // namespace trivium
