#ifndef TRIVIUM_MODEL_KERNELS_MATMUL_H_
#define TRIVIUM_MODEL_KERNELS_MATMUL_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernels/buffer.h"

namespace trivium {

// The storage format of weights.
enum class WeightType {
  kF32,
  kBf16,
  kInt8,  // s8; the scale per output is not part of the product
  // Groups of four or eight bits with scales (grouped_row.h): numbers that
  // their file has in four bits as they are, all others in eight.
  kGroups,
  // The same, but others are rounded to four bits; packed, they are kGroups.
  kInt4,
};

constexpr bool InGroups(WeightType type) {
  return type == WeightType::kGroups || type == WeightType::kInt4;
}

// The format of a product's input.
enum class OperandType {
  kF32,
  kBf16,
  kInt8,  // u8, with a scale and a zero point per row (RowScale)
  // s8, with a scale for each group (grouped_product.h); for kGroups and kInt4.
  kInt8Groups,
  // f32, which PackedMatrix::Prepare brings into the order of the weights and
  // rounds as kInt8Groups.
  kOrderedGroups,
};

// Bytes of one number; of groups, at most.
int SizeOf(WeightType type);
// Bytes of a row of k numbers.
size_t RowBytes(OperandType type, int k);

class GroupedWeights;

// Columns of y whose weights stand in an order of their own.
struct OrderedColumns {
  int begin, end;  // multiples of GroupedWeights::kColumns; `end` may be N
  // The number of x that each weight is multiplied by, [K]; empty: in order.
  std::vector<int32_t> order;
};

// The properties that all products y = x W^T of one W share. x is [rows, K], y
// is [rows, N]. y is s32 and exact for kInt8 operands, else f32.
struct MatmulShape {
  WeightType weights;
  OperandType operands;
  int n, k;  // W is [N, K]

  size_t weight_row_bytes() const {
    return static_cast<size_t>(k) * SizeOf(weights);
  }
  size_t operand_row_bytes() const { return RowBytes(operands, k); }
  auto operator<=>(const MatmulShape&) const = default;
};

// The most rows of one product; the caller divides larger inputs.
inline constexpr int kMaxMatmulRows = 64;

// The scratchpad and oneDNN handles with which one thread runs products. The
// matrices it is used with must outlive it. Not thread-safe.
class MatmulWorkspace {
 public:
  MatmulWorkspace();
  ~MatmulWorkspace();

  // Scratch memory of one product.
  Buffer<char>* scratchpad() { return &scratchpad_; }

 private:
  friend class DnnlMatrix;
  struct Rep;
  Buffer<char> scratchpad_;
  std::unique_ptr<Rep> rep_;
};

// Weights packed for the fastest product: AMX tiles (tile_product.h), panels
// (panel_product.h), groups (grouped_product.h) or oneDNN (dnnl_matrix.h).
class PackedMatrix {
 public:
  // `weights` is row-major [N, K] of type shape.weights (bf16 as uint16_t).
  // Returns INVALID_ARGUMENT if no product multiplies these weights and
  // operands; today both must be f32, both bf16 or both int8.
  static absl::StatusOr<std::unique_ptr<PackedMatrix>> Create(
      const MatmulShape& shape, const void* weights);
  // Takes weights that were packed before: packed() of a matrix of this shape,
  // made by the same program on the same CPU. INVALID_ARGUMENT if their size is
  // another.
  static absl::StatusOr<std::unique_ptr<PackedMatrix>> Create(
      const MatmulShape& shape, RawBuffer packed);
  // Takes weights in groups. The operands are kInt8Groups, or kOrderedGroups,
  // with which columns may be ordered: `ordered` are then those of all columns,
  // else none.
  static std::unique_ptr<PackedMatrix> Create(
      GroupedWeights weights, OperandType operands = OperandType::kInt8Groups,
      std::vector<OrderedColumns> ordered = {});
  virtual ~PackedMatrix() = default;
  PackedMatrix(const PackedMatrix&) = delete;
  PackedMatrix& operator=(const PackedMatrix&) = delete;

  const MatmulShape& shape() const { return shape_; }
  int64_t bytes() const { return static_cast<int64_t>(packed().size()); }
  // The weights as they are packed.
  virtual std::span<const std::byte> packed() const = 0;
  // Name of the implementation for the log: "trivium:tiles",
  // "trivium:panels", "trivium:groups", or oneDNN's, such as "brg:avx2".
  virtual std::string implementation() const = 0;

  // MultiplyColumns reads rows of x as Prepare makes them. Bytes of such a row;
  // 0: it reads x itself.
  virtual size_t prepared_row_bytes() const { return 0; }
  // Makes rows [rows, prepared_row_bytes()] of x.
  virtual void Prepare(const void* x, int rows, void* prepared) const {}

  // True if each row of a product has the same bits for every row count and
  // every place among the rows.
  virtual bool batch_invariant() const = 0;

  // Rows that a product of `rows` rows actually computes.
  virtual int ComputedRows(int rows) const = 0;

  // Computes y = x W^T. x [rows, K] and y [rows, N] are contiguous, and 1 <=
  // rows <= kMaxMatmulRows. x must be readable and y writable for
  // kMaxMatmulRows rows: rows up to ComputedRows(rows) are computed from
  // whatever x holds.
  absl::Status Multiply(const void* x, int rows, void* y,
                        MatmulWorkspace* workspace) const;

  // A product may be divided into blocks of this many columns, which threads
  // with one workspace each may multiply concurrently; N if it is indivisible.
  // Bits do not depend on the division.
  virtual int column_block() const = 0;

  // Reads the weights of a column of y, [K], as they are multiplied. Only
  // weights in groups can be read back.
  virtual void ReadWeights(int column, float* w) const {}

  // Computes columns [begin, end) of the same y [rows, N], of prepared rows of
  // x if there are such, and leaves other columns unchanged. `begin` is a
  // multiple of column_block(); `end` is one, too, or N.
  virtual absl::Status MultiplyColumns(const void* x, int rows, int begin,
                                       int end, void* y,
                                       MatmulWorkspace* workspace) const = 0;

 protected:
  explicit PackedMatrix(const MatmulShape& shape) : shape_(shape) {}

 private:
  const MatmulShape shape_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_MATMUL_H_
