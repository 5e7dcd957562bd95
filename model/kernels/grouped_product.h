#ifndef TRIVIUM_MODEL_KERNELS_GROUPED_PRODUCT_H_
#define TRIVIUM_MODEL_KERNELS_GROUPED_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/kernels/buffer.h"
#include "model/weights/grouped_row.h"

namespace trivium {

// Products y = x W^T of weights in groups of kGroupNumbers (grouped_row.h) and
// rows x that are rounded to signed bytes with a scale for each group. The sum
// over a group's integers is exact. y is the f32 sum over the groups, in their
// order, of
//   (scale of x) (scale of w) (sum of x q)
// and of the minimum of w times the sum of x, where w has one. So a row's bits
// are the same on every CPU and for any other rows.

// Returns the bytes of a row x of k numbers: signed bytes [groups,
// kGroupNumbers]; scales, f32 [groups]; scale times the sum of the group's
// bytes, f32 [groups]; that sum, int32 [groups].
size_t GroupedOperandBytes(int k);
// Rounds x [k] to such a row, aligned to 4 bytes. A group that has a number
// that is not finite makes all products NaN.
void QuantizeGroups(const float* x, int k, void* row);
// The same for x in another order: number i is x[order[i]]. An empty `order`
// leaves x as it is.
void QuantizeGroups(const float* x, std::span<const int32_t> order, int k,
                    void* row);

// Packed weights W [N, K]. They are read in blocks of columns of y; a block's
// columns have one form.
class GroupedWeights {
 public:
  // A product may be divided at multiples of this many columns.
  static constexpr int kColumns = 64;

  // `forms` has one form for each kColumns columns. K is a multiple of 256
  // where a form has parts (HasParts).
  GroupedWeights(int n, int k, std::vector<GroupForm> forms);
  // The same, with columns that were packed before: packed() of weights with
  // these sizes and forms.
  GroupedWeights(int n, int k, std::vector<GroupForm> forms, RawBuffer packed);

  // Returns the bytes of the packed weights of all columns.
  static size_t PackedBytes(int k, std::span<const GroupForm> forms);
  // Returns the bytes of weights [n, k] of one form.
  static size_t PackedBytes(int n, int k, GroupForm form);

  int n() const { return n_; }
  int k() const { return k_; }
  size_t bytes() const { return bytes_; }
  std::span<const std::byte> packed() const {
    return {static_cast<const std::byte*>(packed_.data()), bytes_};
  }
  GroupForm form(int column) const { return forms_[column / kColumns]; }

  // Packs the weights of a column of y; `row` has the form of its block.
  // Threads may set different columns at the same time.
  void Set(int column, const GroupedRow& row);
  // Reads the weights of a column back, to w [k].
  void Get(int column, float* w) const;

  // Computes columns [begin, end) of y [rows, N]. `begin` is a multiple of
  // kColumns; `end` is one, too, or N. Rows of x are `row_bytes` apart.
  void Multiply(const void* x, size_t row_bytes, int rows, int begin, int end,
                float* y) const;

 private:
  const int n_, k_;
  const std::vector<GroupForm> forms_;
  std::vector<size_t> begin_;  // of each block, in packed_
  size_t bytes_ = 0;
  RawBuffer packed_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_GROUPED_PRODUCT_H_
