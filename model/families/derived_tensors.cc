#include "model/families/derived_tensors.h"

#include <cassert>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

namespace trivium {
namespace {

struct OwnedTensor {
  TensorView view;
  std::vector<std::byte> data;
};

// A tensor of that type and shape whose data are still to be written.
OwnedTensor* NewTensor(DType dtype, std::vector<int64_t> shape,
                       TensorMemory* memory) {
  auto tensor = std::make_shared<OwnedTensor>();
  size_t bytes = DTypeSize(dtype);
  for (const int64_t size : shape) bytes *= size;
  tensor->data.resize(bytes);
  tensor->view = {dtype, std::move(shape), tensor->data};
  memory->push_back(tensor);
  return tensor.get();
}

}  // namespace

std::vector<const TensorView*> SplitRows(const TensorView& joined,
                                         int64_t groups,
                                         std::span<const int64_t> rows,
                                         TensorMemory* memory) {
  const int64_t group_rows =
      std::accumulate(rows.begin(), rows.end(), int64_t{0});
  assert(joined.shape.front() == groups * group_rows);
  const size_t row_bytes = joined.data.size() / (groups * group_rows);
  std::vector<const TensorView*> parts;
  const std::byte* from = joined.data.data();
  for (const int64_t part_rows : rows) {
    std::vector<int64_t> shape = joined.shape;
    shape.front() = groups * part_rows;
    OwnedTensor* const part = NewTensor(joined.dtype, std::move(shape), memory);
    const size_t part_bytes = part_rows * row_bytes;
    for (int64_t group = 0; group < groups; ++group) {
      std::memcpy(part->data.data() + group * part_bytes,
                  from + group * group_rows * row_bytes, part_bytes);
    }
    from += part_bytes;
    parts.push_back(&part->view);
  }
  return parts;
}

const TensorView* Transpose(const TensorView& tensor, TensorMemory* memory) {
  assert(tensor.shape.size() == 2);
  const int64_t m = tensor.shape[0], n = tensor.shape[1];
  OwnedTensor* const result = NewTensor(tensor.dtype, {n, m}, memory);
  const size_t size = DTypeSize(tensor.dtype);
  std::byte* to = result->data.data();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j, to += size) {
      std::memcpy(to, tensor.data.data() + (j * n + i) * size, size);
    }
  }
  return &result->view;
}

}  // namespace trivium
