#include "model/kernels/matmul.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

TEST(MatmulTest, Int8IsExactForEveryRowCount) {
  std::mt19937 generator(7);
  for (const auto& [n, k] : std::vector<std::pair<int, int>>{
           {1, 1}, {7, 5}, {16, 64}, {307, 32}, {96, 100}, {1000, 256}}) {
    std::vector<int8_t> w(static_cast<size_t>(n) * k);
    for (int8_t& x : w) x = static_cast<int8_t>(generator() % 255 - 127);
    std::vector<uint8_t> x(static_cast<size_t>(kMaxMatmulRows) * k);
    for (uint8_t& v : x) v = static_cast<uint8_t>(generator() % 256);
    const auto matrix = PackedMatrix::Create(
        {WeightType::kInt8, OperandType::kInt8, n, k}, w.data());
    ASSERT_TRUE(matrix.ok()) << matrix.status();
    EXPECT_TRUE((*matrix)->batch_invariant());
    MatmulWorkspace workspace;
    std::vector<int32_t> y(static_cast<size_t>(kMaxMatmulRows) * n);
    for (int rows = 1; rows <= kMaxMatmulRows; ++rows) {
      ASSERT_TRUE(
          (*matrix)->Multiply(x.data(), rows, y.data(), &workspace).ok());
      for (int r = 0; r < rows; ++r) {
        for (int i = 0; i < n; ++i) {
          int32_t sum = 0;
          for (int j = 0; j < k; ++j) sum += x[r * k + j] * w[i * k + j];
          ASSERT_EQ(y[r * n + i], sum) << (*matrix)->implementation() << " n "
                                       << n << " k " << k << " rows " << rows;
        }
      }
    }
  }
}

TEST(MatmulTest, F32RowsDoNotDependOnTheirCount) {
  std::mt19937 generator(8);
  std::normal_distribution<float> normal;
  for (const auto& [n, k] : std::vector<std::pair<int, int>>{
           {7, 5}, {307, 32}, {512, 512}, {256, 1024}}) {
    std::vector<float> w(static_cast<size_t>(n) * k);
    for (float& v : w) v = normal(generator);
    std::vector<float> x(static_cast<size_t>(kMaxMatmulRows) * k);
    for (float& v : x) v = normal(generator);
    const auto matrix = PackedMatrix::Create(
        {WeightType::kF32, OperandType::kF32, n, k}, w.data());
    ASSERT_TRUE(matrix.ok()) << matrix.status();
    // On the machines tested so far, products of one fixed row count keep the
    // promise where the buckets do not.
    EXPECT_TRUE((*matrix)->batch_invariant()) << (*matrix)->implementation();
    MatmulWorkspace workspace;
    std::vector<float> all(static_cast<size_t>(kMaxMatmulRows) * n);
    ASSERT_TRUE((*matrix)
                    ->Multiply(x.data(), kMaxMatmulRows, all.data(), &workspace)
                    .ok());
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int j = 0; j < k; ++j)
        sum += static_cast<double>(x[j]) * w[i * k + j];
      EXPECT_NEAR(all[i], sum, 1e-4 * std::sqrt(k));
    }
    std::vector<float> some(static_cast<size_t>(kMaxMatmulRows) * n);
    for (int rows = 1; rows <= kMaxMatmulRows; ++rows) {
      ASSERT_TRUE(
          (*matrix)->Multiply(x.data(), rows, some.data(), &workspace).ok());
      ASSERT_EQ(std::memcmp(some.data(), all.data(), sizeof(float) * rows * n),
                0)
          << (*matrix)->implementation() << " n " << n << " k " << k << " rows "
          << rows;
    }
  }
}

TEST(MatmulTest, RefusesWeightsAndOperandsWithoutAProduct) {
  const std::vector<float> w(12, 1);
  const absl::Status status =
      PackedMatrix::Create({WeightType::kInt8, OperandType::kF32, 4, 3},
                           w.data())
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

// On one thread per block of columns, each with its own workspace.
TEST(MatmulTest, BlocksOfColumnsHaveTheBitsOfTheWhole) {
  std::mt19937 generator(9);
  std::normal_distribution<float> normal;
  for (const auto& [n, k] :
       std::vector<std::pair<int, int>>{{7, 5}, {64, 32}, {307, 32}}) {
    std::vector<float> w(static_cast<size_t>(n) * k);
    for (float& v : w) v = normal(generator);
    std::vector<float> x(static_cast<size_t>(kMaxMatmulRows) * k);
    for (float& v : x) v = normal(generator);
    const auto matrix = PackedMatrix::Create(
        {WeightType::kF32, OperandType::kF32, n, k}, w.data());
    ASSERT_TRUE(matrix.ok()) << matrix.status();
    MatmulWorkspace workspace;
    std::vector<float> whole(static_cast<size_t>(kMaxMatmulRows) * n);
    ASSERT_TRUE(
        (*matrix)->Multiply(x.data(), 9, whole.data(), &workspace).ok());
    std::vector<float> y(whole.size(), NAN);
    const int block = (*matrix)->column_block();
    std::vector<std::thread> threads;
    for (int begin = 0; begin < n; begin += block) {
      threads.emplace_back([&, begin] {
        MatmulWorkspace own;
        EXPECT_TRUE((*matrix)
                        ->MultiplyColumns(x.data(), 9, begin,
                                          std::min(begin + block, n), y.data(),
                                          &own)
                        .ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::memcmp(y.data(), whole.data(), sizeof(float) * 9 * n), 0)
        << (*matrix)->implementation() << " n " << n << " k " << k;
  }
}

}  // namespace
}  // namespace trivium
