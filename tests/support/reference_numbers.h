#ifndef TRIVIUM_TESTS_SUPPORT_REFERENCE_NUMBERS_H_
#define TRIVIUM_TESTS_SUPPORT_REFERENCE_NUMBERS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "model/transformer/description.h"
#include "model/transformer/formats.h"
#include "model/weights/grouped_row.h"

namespace trivium {

// Row-major [rows, columns].
struct Matrix {
  Matrix() = default;
  Matrix(int rows, int columns)
      : rows(rows),
        columns(columns),
        data(static_cast<size_t>(rows) * columns) {}

  double* row(int i) { return data.data() + static_cast<size_t>(i) * columns; }
  const double* row(int i) const {
    return data.data() + static_cast<size_t>(i) * columns;
  }

  int rows = 0;
  int columns = 0;
  std::vector<double> data;
};

namespace reference {

std::vector<float> Values(const TensorView* tensor);

// y = x W^T + b. x [rows, in], W [out, in], b [out] or null.
Matrix Linear(const Matrix& x, const LinearTensors& tensors);

// In what the numbers of a reference stack are kept, as in Formats.
// - Products: of bf16 weights and rows; or of integers, weights s8 with a scale
//   for each output, and each row u8 with a scale and a zero point; or of
//   groups of integers, weights and rows with a scale for each group. Token
//   embeddings are then bf16.
// - Attention, but for relative attention, which is exact: keys and values are
//   bf16; or each token's key and value, and each query, are s8 with a scale
//   for each head, and each weight, times its value's scale, is a share of the
//   greatest in 16 bits.
struct Numbers {
  OperandType operands = OperandType::kF32;
  KvType kv = KvType::kF32;
  // Whether attention over bf16 rounds queries and weights, too; that depends
  // on the CPU (RoundsQueries).
  bool rounds_queries = false;
  // Whether products of integers read rotated rows (HadamardRow).
  bool hadamard = false;
  // How weights in groups are rounded.
  GroupForm form = GroupForm::kScale4;
  // Factors of the inputs of products of integers, by weight.
  std::map<const TensorView*, std::vector<float>> smoothing;

  // Where a number to be rounded lies between two others, f32 may decide
  // otherwise than double precision. If not null, becomes the least distance
  // from the middle of two that was seen, as a share of their distance; and
  // apart from it, that of numbers that come of an encoder's states alone. Not
  // of 16-bit weights, of which one is worth little.
  double* closest_tie = nullptr;
  double* closest_source_tie = nullptr;
  // If not null, numbers are not rounded to the nearest of two but to either,
  // with the chance of its nearness (bf16 only).
  std::mt19937* random = nullptr;
  // A weight as products of integers read it.
  struct Rounded {
    std::vector<float> weight;
    std::vector<double> scale;  // of each output; empty for groups
  };
  // If not null, weights are rounded once: a test multiplies by the same few
  // thousands of times. By the form of groups, the columns and the numbers
  // before. Copies share them.
  using Kept =
      std::map<std::tuple<GroupForm, int, std::vector<float>>, Rounded>;
  std::shared_ptr<Kept> kept = nullptr;

  // Linear(), or its product of rounded numbers.
  Matrix Product(const Matrix& input, const LinearTensors& tensors) const;
  // A token's embedding as it is kept.
  double Embedding(float value) const;
  // What attention of so many heads reads of keys or values `x`, and of
  // queries.
  Matrix KeyOrValue(Matrix x, int heads, bool relative) const;
  Matrix Query(Matrix x, int heads, bool relative) const;
  // What the values [begin, begin + size) of the rows of `values` from `first`
  // on are multiplied with, of weights before they are divided by their sum.
  std::vector<double> Weights(std::vector<double> weights, int first,
                              const Matrix& values, int begin, int size,
                              bool relative) const;

 private:
  // To an integer, and to bf16.
  double Round(double x) const;
  double Bf16(double x) const;
  // Of what is stored as f32, which f32 rounds as double precision does.
  double StoredBf16(float x) const;
  Matrix Bf16Product(const Matrix& input, const LinearTensors& tensors) const;
  Matrix Int8Product(const Matrix& input, const LinearTensors& tensors) const;
  Matrix GroupedProduct(const Matrix& input,
                        const LinearTensors& tensors) const;
  // Those of `kept`, or as the two below make them.
  Rounded RoundedWeight(std::vector<float> weight, int columns) const;
  Rounded RoundedToBytes(std::vector<float> weight, int columns) const;
  Rounded RoundedToGroups(std::vector<float> weight, int columns) const;
  // s8 with a scale for each head of each row.
  Matrix Int8Heads(Matrix x, int heads) const;
};

}  // namespace reference
}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_REFERENCE_NUMBERS_H_
