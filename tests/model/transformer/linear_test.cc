#include "model/transformer/linear.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/weights/grouped_row.h"
#include "model/weights/half.h"
#include "model/weights/packed_rows.h"
#include "tests/support/grouped_numbers.h"

namespace trivium {
namespace {

std::vector<float> Finished(const ProductRow& product) {
  std::vector<float> y(product.n);
  FinishRow(product, y.data());
  return y;
}

struct RandomLinear {
  RandomLinear(int out, int in, uint32_t seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    weights.resize(static_cast<size_t>(out) * in);
    for (float& w : weights) w = normal(generator) / std::sqrt(1.0f * in);
    biases.resize(out);
    for (float& b : biases) b = normal(generator);
    weight = {DType::kF32, {out, in}, std::as_bytes(std::span(weights))};
    bias = {DType::kF32, {out}, std::as_bytes(std::span(biases))};
  }
  LinearTensors tensors() const { return {&weight, &bias}; }

  std::vector<float> weights, biases;
  TensorView weight, bias;
};

// Computes int8 by its definition: s8 weights with one scale per output, the u8
// row with a scale and a zero point, exact sums, then back to f32.
std::vector<double> Int8Reference(const RandomLinear& linear, int out, int in,
                                  const float* x) {
  constexpr int kLevels = 255;
  float low = 0, high = 0;
  for (int j = 0; j < in; ++j) {
    low = std::min(low, x[j]);
    high = std::max(high, x[j]);
  }
  const float inverse = kLevels / (high - low);
  const double step = (high - low) / kLevels;
  const int zero = static_cast<int>(std::lrintf(-low * inverse));
  std::vector<double> y(out);
  for (int i = 0; i < out; ++i) {
    const float* w = &linear.weights[static_cast<size_t>(i) * in];
    float most = 0;
    for (int j = 0; j < in; ++j) most = std::max(most, std::fabs(w[j]));
    int64_t sum = 0;
    for (int j = 0; j < in; ++j) {
      const int q = std::clamp<int>(
          static_cast<int>(std::lrintf(x[j] * inverse)) + zero, 0, kLevels);
      sum += (q - zero) * std::lrintf(w[j] * (127 / most));
    }
    y[i] = step * (most / 127) * static_cast<double>(sum) + linear.biases[i];
  }
  return y;
}

TEST(LinearTest, Int8EqualsItsDefinition) {
  for (const auto& [out, in] : std::vector<std::pair<int, int>>{
           {1, 3}, {33, 20}, {256, 64}, {307, 32}, {1024, 256}}) {
    const RandomLinear random(out, in, out);
    const LinearTensors tensors = random.tensors();
    const auto linear = Linear::Create(kInt8Formats, std::span(&tensors, 1));
    ASSERT_TRUE(linear.ok()) << linear.status();
    for (const int rows : {1, 2, 5, 16, 17, 63, 64, 65, 130}) {
      std::mt19937 generator(rows);
      std::normal_distribution<float> normal;
      std::vector<float> x(static_cast<size_t>(rows) * in);
      for (float& v : x) v = normal(generator);
      Operand operand(OperandType::kInt8);
      operand.Resize(rows, in);
      for (int r = 0; r < rows; ++r) operand.Set(r, &x[r * in]);
      Workspace workspace;
      int next = 0;
      ASSERT_TRUE(
          linear
              ->Forward(operand, rows, &workspace,
                        [&](int row, const ProductRow& product, float*) {
                          ASSERT_EQ(row, next++);
                          const std::vector<float> y = Finished(product);
                          const auto expected =
                              Int8Reference(random, out, in, &x[row * in]);
                          for (int i = 0; i < out; ++i) {
                            ASSERT_NEAR(y[i], expected[i], 1e-4);
                          }
                        })
              .ok());
      EXPECT_EQ(next, rows);
    }
  }
}

// Rows that do not use all levels, as other quantizers produce them: quantizing
// them again would change the numbers. x has one nonzero column at a time.
TEST(LinearTest, Int8UsesQuantizedWeightsUnchanged) {
  constexpr int kOut = 5, kIn = 20;
  std::mt19937 generator(3);
  std::vector<int8_t> numbers(kOut * kIn);
  for (int8_t& q : numbers) q = static_cast<int8_t>(generator() % 201) - 100;
  numbers[7] = -128;
  const std::vector<float> scales = {0.5f, 1, 3e-3f, 0.07f, 1e-5f};
  const TensorView scale{
      DType::kF32, {kOut, 1}, std::as_bytes(std::span(scales))};
  const TensorView weight{
      DType::kI8, {kOut, kIn}, std::as_bytes(std::span(numbers)), &scale};
  const LinearTensors tensors = {&weight, nullptr};
  const auto linear = Linear::Create(kInt8Formats, std::span(&tensors, 1));
  ASSERT_TRUE(linear.ok()) << linear.status();
  Operand operand(OperandType::kInt8);
  operand.Resize(kIn, kIn);
  for (int j = 0; j < kIn; ++j) {
    std::vector<float> x(kIn);
    x[j] = 1;
    operand.Set(j, x.data());
  }
  Workspace workspace;
  ASSERT_TRUE(linear
                  ->Forward(operand, kIn, &workspace,
                            [&](int column, const ProductRow& product, float*) {
                              const std::vector<float> y = Finished(product);
                              for (int i = 0; i < kOut; ++i) {
                                const float expected =
                                    scales[i] * numbers[i * kIn + column];
                                EXPECT_NEAR(y[i], expected,
                                            1e-5f * std::fabs(expected));
                              }
                            })
                  .ok());
}

// Blocks of four bits, some of which share a block of columns with weights that
// have none: those are then in eight bits.
TEST(LinearTest, GroupsHaveTheNumbersOfTheFile) {
  constexpr int kIn = 256;
  for (const auto& [first, last] :
       std::vector<std::pair<int, int>>{{64, 70}, {70, 64}}) {
    std::mt19937 generator(first);
    std::vector<std::byte> blocks(static_cast<size_t>(first) * kIn / 32 * 18);
    for (std::byte& byte : blocks) byte = static_cast<std::byte>(generator());
    for (size_t at = 1; at < blocks.size(); at += 18) {
      blocks[at] = std::byte{0x2c};  // scales of 0.06 to 0.12
    }
    const TensorView four = {DType::kQ4_0, {first, kIn}, blocks};
    const RandomLinear random(last, kIn, last);
    const LinearTensors parts[] = {{&four, nullptr}, random.tensors()};
    const auto linear = Linear::Create(kInt4Formats, parts);
    ASSERT_TRUE(linear.ok()) << linear.status();
    std::vector<float> weights(static_cast<size_t>(first) * kIn);
    CopyToF32(four, 0, weights);
    // One number in each group, so that a row is exact.
    std::vector<float> x(kIn);
    for (int i = 0; i < kIn; i += 32) {
      x[i + generator() % 32] = 0.5f * static_cast<float>(generator() % 9) - 2;
    }
    Operand operand(OperandType::kInt8Groups);
    operand.Resize(1, kIn);
    operand.Set(0, x.data());
    Workspace workspace;
    const absl::Status status = linear->Forward(
        operand, 1, &workspace, [&](int, const ProductRow& product, float*) {
          const std::vector<float> y = Finished(product);
          for (int i = 0; i < first; ++i) {
            double sum = 0;
            for (int k = 0; k < kIn; ++k) sum += x[k] * weights[i * kIn + k];
            // The last columns of 70 share a block with others.
            const double error = first == 70 && i >= 64 ? 0.05 : 1e-4;
            EXPECT_NEAR(y[i], sum, error) << i;
          }
        });
    ASSERT_TRUE(status.ok()) << status;
  }
}

// Rows of four bits whose numbers stand in some order of the columns.
class RowsInOrder : public PackedRows {
 public:
  RowsInOrder(int rows, int columns, std::vector<int32_t> order,
              std::mt19937* random)
      : PackedRows(columns, {GroupForm::kZero4, std::move(order)}) {
    for (int i = 0; i < rows; ++i) {
      GroupedRow row;
      ClearGroups(GroupForm::kZero4, columns, &row);
      for (uint8_t& zero : row.zeros) {
        zero = (*random)() % 16;
        row.scales.push_back(F32ToF16(0.01f * (1 + (*random)() % 9)));
      }
      for (int k = 0; k < columns; ++k) row.numbers[k] = (*random)() % 16;
      rows_.push_back(row);
    }
  }
  TensorView tensor() const {
    return {.shape = {static_cast<int64_t>(rows_.size()), columns()},
            .packed = this};
  }
  void ReadGroups(int64_t first, std::span<GroupedRow> rows) const override {
    std::copy_n(rows_.begin() + first, rows.size(), rows.begin());
  }

 private:
  void UnpackRows(int64_t first, int64_t count, float* out) const override {
    for (int64_t row = first; row < first + count; ++row, out += columns()) {
      const std::vector<float> numbers = NumbersOf(rows_[row]);
      for (int64_t i = 0; i < columns(); ++i) {
        out[order().empty() ? i : order()[i]] = numbers[i];
      }
    }
  }

  std::vector<GroupedRow> rows_;
};

std::vector<int32_t> RandomOrder(int size, std::mt19937* random) {
  std::vector<int32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), *random);
  return order;
}

// Of three parts, the first two and the last two share a block of columns,
// which is in eight bits and in the order of the first of both.
TEST(LinearTest, GroupsMayStandInOrdersOfTheirOwn) {
  constexpr int kIn = 100, kRows = 70;
  std::mt19937 random(21);
  const RowsInOrder first(70, kIn, RandomOrder(kIn, &random), &random);
  const RowsInOrder second(160, kIn, RandomOrder(kIn, &random), &random);
  const RowsInOrder third(60, kIn, {}, &random);
  const TensorView tensors[] = {first.tensor(), second.tensor(),
                                third.tensor()};
  const LinearTensors parts[] = {
      {&tensors[0], nullptr}, {&tensors[1], nullptr}, {&tensors[2], nullptr}};
  Formats formats = kInt4Formats;
  formats.operands = OperandType::kOrderedGroups;
  const auto linear = Linear::Create(formats, parts);
  ASSERT_TRUE(linear.ok()) << linear.status();
  std::vector<std::vector<float>> weights;
  int column = 0;
  for (const TensorView& tensor : tensors) {
    std::vector<float> of_file(kIn);
    for (int64_t row = 0; row < tensor.shape[0]; ++row, ++column) {
      CopyToF32(tensor, row * kIn, of_file);
      weights.emplace_back(kIn);
      linear->ReadWeights(column, weights.back().data());
      const bool rounded = column / 64 == 1 || column / 64 == 3;
      for (int i = 0; i < kIn; ++i) {
        EXPECT_NEAR(weights.back()[i], of_file[i], rounded ? 0.01f : 0)
            << column << " " << i;
      }
    }
  }
  std::vector<float> x(kRows * kIn);
  std::normal_distribution<float> normal;
  for (float& value : x) value = normal(random);
  Operand operand(formats);
  operand.Resize(kRows, kIn);
  for (int row = 0; row < kRows; ++row) operand.Set(row, &x[row * kIn]);
  std::vector<std::vector<float>> alone(kRows);
  for (const auto& [threads, at_once] :
       {std::pair(1, 1), {1, kRows}, {3, kRows}, {3, 5}}) {
    Workspace workspace(threads);
    for (int begin = 0; begin + at_once <= kRows; begin += at_once) {
      Operand some(formats);
      some.Resize(at_once, kIn);
      for (int i = 0; i < at_once; ++i) some.CopyFrom(operand, begin + i, i);
      const absl::Status status =
          linear->Forward(some, at_once, &workspace,
                          [&](int i, const ProductRow& product, float*) {
                            std::vector<float>& one = alone[begin + i];
                            const std::vector<float> y = Finished(product);
                            if (one.empty()) one = y;
                            EXPECT_EQ(y, one) << threads << " " << at_once;
                          });
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  for (int row = 0; row < kRows; ++row) {
    for (int out = 0; out < linear->out(); ++out) {
      const int block = out / 64;
      const RowsInOrder& decides = block < 2   ? first
                                   : block < 4 ? second
                                               : third;
      std::vector<int32_t> order(kIn);
      std::iota(order.begin(), order.end(), 0);
      if (!decides.order().empty()) {
        order.assign(decides.order().begin(), decides.order().end());
      }
      double sum = 0, size = 0;
      for (int group = 0; group < kIn; group += 32) {
        const int end = std::min(group + 32, kIn);
        double most = 0;
        for (int i = group; i < end; ++i) {
          most = std::max(most, std::fabs(double{x[row * kIn + order[i]]}));
        }
        for (int i = group; i < end; ++i) {
          const double rounded =
              std::nearbyint(x[row * kIn + order[i]] * (127 / most)) * most /
              127;
          sum += rounded * weights[out][order[i]];
          size += std::fabs(rounded * weights[out][order[i]]);
        }
      }
      // One number may lie so near the middle of two that f32 decides
      // otherwise.
      EXPECT_NEAR(alone[row][out], sum, 1e-5 * size) << row << " " << out;
    }
  }
}

TEST(LinearTest, FourBitsOfAFileAreKeptExactly) {
  constexpr int kOut = 70, kIn = 512;
  std::mt19937 generator(11);
  for (const DType dtype : {DType::kQ4_0, DType::kQ4_1, DType::kQ4K,
                            DType::kIq4Nl, DType::kIq4Xs, DType::kMxfp4}) {
    std::vector<std::byte> blocks(static_cast<size_t>(kOut) * kIn /
                                  BlockElements(dtype) * DTypeSize(dtype));
    for (std::byte& byte : blocks) byte = static_cast<std::byte>(generator());
    for (size_t at = 0; at < blocks.size(); at += DTypeSize(dtype)) {
      if (dtype == DType::kMxfp4) {
        blocks[at] = static_cast<std::byte>(generator() % 252);
        continue;
      }
      blocks[at + 1] &= std::byte{0xbb};  // scales are numbers
      blocks[at + 3] &= std::byte{0xbb};
    }
    const TensorView tensor = {dtype, {kOut, kIn}, blocks};
    const LinearTensors part = {&tensor, nullptr};
    const auto linear = Linear::Create(kInt4Formats, std::span(&part, 1));
    ASSERT_TRUE(linear.ok()) << linear.status();
    EXPECT_LE(linear->bytes(), 128 * kIn * 5 / 8) << DTypeName(dtype);
    std::vector<float> expected(kIn), kept(kIn);
    for (int i = 0; i < kOut; ++i) {
      CopyToF32(tensor, int64_t{i} * kIn, expected);
      linear->ReadWeights(i, kept.data());
      EXPECT_EQ(kept, expected) << DTypeName(dtype) << " " << i;
    }
  }
}

// Each number of a product depends on its own row of weights alone, which is
// packed by some thread.
TEST(LinearTest, LargeMatricesHaveTheBitsOfTheirParts) {
  constexpr int kOut = 1100, kIn = 2304, kPart = 220;
  const RandomLinear random(kOut, kIn, 12);
  const LinearTensors tensors = random.tensors();
  const RandomLinear input(1, kIn, 13);
  for (Formats formats : {kF32Formats, kInt8Formats, kInt4Formats}) {
    formats.hadamard = formats.weights != WeightType::kF32;
    Operand x(formats);
    x.Resize(1, kIn);
    x.Set(0, input.weights.data());
    Workspace workspace;
    const auto multiply = [&](int begin, int count) {
      std::vector<float> y;
      const auto linear =
          Linear::Create(formats, std::span(&tensors, 1), begin, count);
      EXPECT_TRUE(linear.ok()) << linear.status();
      EXPECT_TRUE(linear
                      ->Forward(x, 1, &workspace,
                                [&](int, const ProductRow& product, float*) {
                                  y = Finished(product);
                                })
                      .ok());
      return y;
    };
    const std::vector<float> whole = multiply(0, kOut);
    ASSERT_EQ(whole.size(), size_t{kOut});
    for (int begin = 0; begin < kOut; begin += kPart) {
      const std::vector<float> part = multiply(begin, kPart);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + begin))
          << begin;
    }
  }
}

TEST(LinearTest, Int8IsCloseToF32) {
  const RandomLinear random(200, 256, 1);
  const LinearTensors tensors = random.tensors();
  const auto exact = Linear::Create(kF32Formats, std::span(&tensors, 1));
  const auto coarse = Linear::Create(kInt8Formats, std::span(&tensors, 1));
  ASSERT_TRUE(exact.ok() && coarse.ok());
  std::vector<float> x(256);
  std::mt19937 generator(2);
  std::normal_distribution<float> normal;
  for (float& v : x) v = normal(generator);
  Workspace workspace;
  std::vector<float> y;
  Operand f32(OperandType::kF32), int8(OperandType::kInt8);
  f32.Resize(1, 256);
  int8.Resize(1, 256);
  f32.Set(0, x.data());
  int8.Set(0, x.data());
  ASSERT_TRUE(exact
                  ->Forward(f32, 1, &workspace,
                            [&](int, const ProductRow& row, float*) {
                              y = Finished(row);
                            })
                  .ok());
  ASSERT_TRUE(coarse
                  ->Forward(int8, 1, &workspace,
                            [&](int, const ProductRow& product, float*) {
                              const std::vector<float> row = Finished(product);
                              for (int i = 0; i < 200; ++i) {
                                EXPECT_NEAR(row[i], y[i], 0.08);
                              }
                            })
                  .ok());
}

TEST(LinearTest, StacksPartsAndSelectsRows) {
  const RandomLinear a(5, 8, 1), b(7, 8, 2);
  const std::vector<LinearTensors> parts = {a.tensors(), b.tensors()};
  const auto stacked = Linear::Create(kF32Formats, parts);
  const auto slice =
      Linear::Create(kF32Formats, std::span(parts).subspan(1, 1), 2, 3);
  ASSERT_TRUE(stacked.ok() && slice.ok());
  ASSERT_EQ(stacked->out(), 12);
  ASSERT_EQ(slice->out(), 3);
  Operand x(OperandType::kF32);
  x.Resize(1, 8);
  const std::vector<float> row = {1, -2, 3, 0.5f, 0, 1, 2, -1};
  x.Set(0, row.data());
  Workspace workspace;
  std::vector<float> y;
  ASSERT_TRUE(stacked
                  ->Forward(x, 1, &workspace,
                            [&](int, const ProductRow& row, float*) {
                              y = Finished(row);
                            })
                  .ok());
  ASSERT_TRUE(slice
                  ->Forward(x, 1, &workspace,
                            [&](int, const ProductRow& product, float*) {
                              const std::vector<float> out = Finished(product);
                              for (int i = 0; i < 3; ++i) {
                                EXPECT_NEAR(out[i], y[5 + 2 + i], 1e-5);
                              }
                            })
                  .ok());
}

// Few rows, whose columns threads split, and so many that threads split the
// rows.
TEST(LinearTest, ThreadsDivideRowsOnlyWhereAllowed) {
  constexpr int kOut = 256, kIn = 256;
  const RandomLinear random(kOut, kIn, 5);
  const LinearTensors tensors = random.tensors();
  const auto linear = Linear::Create(kF32Formats, {&tensors, 1});
  ASSERT_TRUE(linear.ok()) << linear.status();
  Workspace workspace(3);
  for (const int rows : {1, 2, 7, 31, 64, 65, 150, 192, 400}) {
    Operand x(OperandType::kF32);
    x.Resize(rows, kIn);
    const std::vector<float> ones(kIn, 1.0f);
    for (int row = 0; row < rows; ++row) x.Set(row, ones.data());
    const auto may_cut = [](int row) { return row % 4 == 0; };
    std::vector<int> calls(rows);
    std::vector<std::thread::id> thread(rows);
    ASSERT_TRUE(linear
                    ->Forward(
                        x, rows, &workspace,
                        [&](int row, const ProductRow&, float*) {
                          ++calls[row];
                          thread[row] = std::this_thread::get_id();
                        },
                        may_cut)
                    .ok());
    EXPECT_EQ(calls, std::vector<int>(rows, 1));
    // A product has at most 64 rows; between two products no thread runs.
    const bool whole = rows <= kMaxMatmulRows || rows >= 3 * kMaxMatmulRows;
    for (int row = 1; whole && row < rows; ++row) {
      EXPECT_TRUE(thread[row] == thread[row - 1] || may_cut(row))
          << row << " of " << rows;
    }
    if (rows >= 64) {
      EXPECT_NE(thread.front(), thread.back()) << rows;
    }
  }
}

}  // namespace
}  // namespace trivium
