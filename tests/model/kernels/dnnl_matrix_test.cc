// oneDNN's products, for all that our own products leave to it on other CPUs.
#include "model/kernels/dnnl_matrix.h"

#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

TEST(DnnlMatrixTest, BytesAreExact) {
  constexpr int kN = 37, kK = 50;
  std::mt19937 generator(1);
  std::vector<int8_t> w(kN * kK);
  for (int8_t& v : w) v = static_cast<int8_t>(generator() % 255 - 127);
  // Without VNNI, oneDNN's sums of two products saturate at 16 bits; seven-bit
  // numbers do not reach that.
  std::vector<uint8_t> x(kMaxMatmulRows * kK);
  for (uint8_t& v : x) v = static_cast<uint8_t>(generator() % 128);
  const auto matrix = DnnlMatrix::Create(
      {WeightType::kInt8, OperandType::kInt8, kN, kK}, w.data());
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_TRUE((*matrix)->batch_invariant());
  MatmulWorkspace workspace;
  std::vector<int32_t> y(kMaxMatmulRows * kN);
  for (int rows = 1; rows <= kMaxMatmulRows; ++rows) {
    ASSERT_TRUE((*matrix)->Multiply(x.data(), rows, y.data(), &workspace).ok());
    for (int row = 0; row < rows; ++row) {
      for (int i = 0; i < kN; ++i) {
        int32_t sum = 0;
        for (int j = 0; j < kK; ++j) sum += x[row * kK + j] * w[i * kK + j];
        ASSERT_EQ(y[row * kN + i], sum) << "rows " << rows;
      }
    }
  }
}

TEST(DnnlMatrixTest, F32RowsDoNotDependOnTheirCount) {
  constexpr int kN = 307, kK = 96;
  std::mt19937 generator(2);
  std::normal_distribution<float> normal;
  std::vector<float> w(kN * kK), x(kMaxMatmulRows * kK);
  for (float& v : w) v = normal(generator);
  for (float& v : x) v = normal(generator);
  const auto matrix = DnnlMatrix::Create(
      {WeightType::kF32, OperandType::kF32, kN, kK}, w.data());
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  ASSERT_TRUE((*matrix)->batch_invariant());
  MatmulWorkspace workspace;
  std::vector<float> all(kMaxMatmulRows * kN), y(kMaxMatmulRows * kN);
  ASSERT_TRUE((*matrix)
                  ->Multiply(x.data(), kMaxMatmulRows, all.data(), &workspace)
                  .ok());
  for (int rows = 1; rows < kMaxMatmulRows; ++rows) {
    ASSERT_TRUE((*matrix)->Multiply(x.data(), rows, y.data(), &workspace).ok());
    ASSERT_EQ(std::memcmp(y.data(), all.data(), sizeof(float) * rows * kN), 0)
        << "rows " << rows;
  }
}

TEST(DnnlMatrixTest, ComputesTheNextRowCount) {
  const std::vector<int8_t> w(12, 1);
  const auto matrix = DnnlMatrix::Create(
      {WeightType::kInt8, OperandType::kInt8, 4, 3}, w.data());
  ASSERT_TRUE(matrix.ok());
  EXPECT_EQ((*matrix)->ComputedRows(1), 1);
  EXPECT_EQ((*matrix)->ComputedRows(3), 4);
  EXPECT_EQ((*matrix)->ComputedRows(9), 12);
  EXPECT_EQ((*matrix)->ComputedRows(33), 36);
  EXPECT_EQ((*matrix)->ComputedRows(64), 64);
}

}  // namespace
}  // namespace trivium
