#include "model/families/derived_tensors.h"

#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/weights/packed_rows.h"
#include "tests/support/grouped_numbers.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

// A tensor of 0, 1, 2, ...
class Counting {
 public:
  explicit Counting(std::vector<int64_t> shape) : shape_(std::move(shape)) {
    int64_t elements = 1;
    for (const int64_t size : shape_) elements *= size;
    for (int64_t i = 0; i < elements; ++i) {
      values_.push_back(static_cast<float>(i));
    }
  }
  TensorView view() const {
    return {DType::kF32, shape_, std::as_bytes(std::span(values_))};
  }

 private:
  std::vector<int64_t> shape_;
  std::vector<float> values_;
};

std::vector<float> Values(const TensorView& tensor) {
  std::vector<float> values(tensor.elements());
  CopyToF32(tensor, 0, values);
  return values;
}

// Queries, keys and values one after the other, with fewer keys and values.
TEST(DerivedTensorsTest, SplitsPartsThatFollowEachOther) {
  const Counting joined({4, 2});
  TensorMemory memory;
  const auto parts = SplitRows(joined.view(), /*groups=*/1,
                               std::vector<int64_t>{2, 1, 1}, &memory);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(parts[0]->shape, ElementsAre(2, 2));
  EXPECT_THAT(Values(*parts[0]), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(parts[2]->shape, ElementsAre(1, 2));
  EXPECT_THAT(Values(*parts[1]), ElementsAre(4, 5));
  EXPECT_THAT(Values(*parts[2]), ElementsAre(6, 7));
}

// Two heads, each with one row of a query and two of a key.
TEST(DerivedTensorsTest, SplitsPartsThatAreKeptByHead) {
  const Counting joined({6, 1});
  TensorMemory memory;
  const auto parts = SplitRows(joined.view(), /*groups=*/2,
                               std::vector<int64_t>{1, 2}, &memory);
  EXPECT_THAT(Values(*parts[0]), ElementsAre(0, 3));
  EXPECT_THAT(Values(*parts[1]), ElementsAre(1, 2, 4, 5));
}

TEST(DerivedTensorsTest, SplitsBiasesInTheSameWay) {
  const Counting joined({6});
  TensorMemory memory;
  const auto parts = SplitRows(joined.view(), /*groups=*/2,
                               std::vector<int64_t>{1, 2}, &memory);
  EXPECT_THAT(parts[1]->shape, ElementsAre(4));
  EXPECT_THAT(Values(*parts[1]), ElementsAre(1, 2, 4, 5));
}

// Two heads of five dimensions, of which four are pairs.
TEST(DerivedTensorsTest, PutsEvenRowsOfPairsBeforeOddOnes) {
  const Counting bias({10});
  TensorMemory memory;
  const TensorView* const halves =
      PairsToHalves(bias.view(), /*head_size=*/5, /*pairs=*/2, &memory);
  EXPECT_THAT(Values(*halves), ElementsAre(0, 2, 1, 3, 4, 5, 7, 6, 8, 9));
}

TEST(DerivedTensorsTest, TransposesInTheTensorsOwnType) {
  // Numbers of two bytes.
  const std::vector<uint16_t> values = {0x3f80, 0x4000, 0x4040,
                                        0x4080, 0x40a0, 0x40c0};
  const TensorView tensor = {
      DType::kBf16, {2, 3}, std::as_bytes(std::span(values))};
  TensorMemory memory;
  const TensorView* transposed = Transpose(tensor, &memory);
  EXPECT_EQ(transposed->dtype, DType::kBf16);
  EXPECT_THAT(transposed->shape, ElementsAre(3, 2));
  EXPECT_THAT(Values(*transposed), ElementsAre(1, 4, 2, 5, 3, 6));
}

// Two experts, each [2, 6] with gates and gated values alternating.
TEST(DerivedTensorsTest, ColumnsOfOneMatrixBecomeRows) {
  const Counting joined({2, 2, 6});
  TensorMemory memory;
  const TensorView* odd =
      TransposedColumns(joined.view(), 1, /*first=*/1, /*step=*/2, &memory);
  EXPECT_THAT(odd->shape, ElementsAre(3, 2));
  EXPECT_THAT(Values(*odd), ElementsAre(13, 19, 15, 21, 17, 23));
  const Counting bias({2, 4});
  const TensorView* even =
      TransposedColumns(bias.view(), 1, /*first=*/0, /*step=*/2, &memory);
  EXPECT_THAT(even->shape, ElementsAre(2));
  EXPECT_THAT(Values(*even), ElementsAre(4, 6));
}

// All sixteen numbers, lower halves first, times powers of two.
TEST(DerivedTensorsTest, DecodesMxfp4AsItsFormatSays) {
  std::vector<uint8_t> blocks(2 * 2 * 16), scales = {127, 127, 127, 130};
  for (int i = 0; i < 16; ++i) {
    blocks[3 * 16 + i] = static_cast<uint8_t>(i << 4 | (15 - i));
  }
  const auto bytes = [](std::vector<int64_t> shape,
                        const std::vector<uint8_t>& data) {
    return TensorView{DType::kU8, std::move(shape),
                      std::as_bytes(std::span(data))};
  };
  TensorMemory memory;
  const TensorView* rows =
      Mxfp4Rows(bytes({2, 2, 1, 16}, blocks), bytes({2, 2, 1}, scales),
                /*index=*/1, /*first=*/1, /*step=*/2, &memory);
  EXPECT_THAT(rows->shape, ElementsAre(1, 32));
  const float numbers[] = {0, 0.5f,  1,  1.5f,  2,  3,  4,  6,
                           0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  const std::vector<float> values = Values(*rows);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(values[2 * i], 8 * numbers[15 - i]) << i;
    EXPECT_EQ(values[2 * i + 1], 8 * numbers[i]) << i;
  }
  // They stay in four bits.
  ASSERT_EQ(GroupFormOf(*rows), GroupForm::kFp4);
  GroupedRow row;
  ReadGroups(*rows, 0, std::span(&row, 1));
  EXPECT_EQ(NumbersOf(row), values);
}

// A packed matrix of 0, 1, 2, ...
class CountingRows : public PackedRows {
 public:
  explicit CountingRows(int64_t columns) : PackedRows(columns) {}

 private:
  void UnpackRows(int64_t first, int64_t count, float* out) const override {
    for (int64_t i = 0; i < count * columns(); ++i) {
      out[i] = static_cast<float>(first * columns() + i);
    }
  }
};

// Tensors derived of packed values equal those derived of plain ones, in a type
// that holds them.
TEST(DerivedTensorsTest, PackedTensorsAreLikePlainOnes) {
  const std::vector<int64_t> shape = {12, 3};
  const Counting plain(shape);
  const CountingRows rows(3);
  for (const DType type : {DType::kF32, DType::kF16, DType::kBf16}) {
    TensorView packed{type, shape, {}};
    packed.packed = &rows;
    TensorMemory memory;
    const auto expect_equal = [&](const TensorView* of_packed,
                                  const TensorView* of_plain) {
      EXPECT_EQ(of_packed->shape, of_plain->shape);
      EXPECT_EQ(Values(*of_packed), Values(*of_plain));
    };
    for (const int groups : {1, 2}) {
      const std::vector<int64_t> sizes = groups == 1
                                             ? std::vector<int64_t>{2, 7, 3}
                                             : std::vector<int64_t>{1, 4, 1};
      const auto ours = SplitRows(packed, groups, sizes, &memory);
      const auto theirs = SplitRows(plain.view(), groups, sizes, &memory);
      for (int i = 0; i < 3; ++i) {
        expect_equal(ours[i], theirs[i]);
        // Parts of one group need no memory.
        EXPECT_EQ(ours[i]->packed != nullptr, groups == 1);
      }
      // A part of a part.
      const auto inner = SplitRows(*ours[1], 1, {{sizes[1] * groups}}, &memory);
      expect_equal(inner[0], theirs[1]);
    }
    expect_equal(PairsToHalves(packed, 4, 2, &memory),
                 PairsToHalves(plain.view(), 4, 2, &memory));
    expect_equal(Transpose(packed, &memory), Transpose(plain.view(), &memory));
    expect_equal(Scaled(packed, 3, &memory), Scaled(plain.view(), 3, &memory));
    expect_equal(Extended(packed, {13, 3}, 7, &memory),
                 Extended(plain.view(), {13, 3}, 7, &memory));
    expect_equal(TransposedColumns(packed, 1, 1, 2, &memory),
                 TransposedColumns(plain.view(), 1, 1, 2, &memory));
  }
}

TEST(DerivedTensorsTest, GivesElementsAnotherShape) {
  const Counting tensor({2, 3, 1});
  TensorMemory memory;
  const TensorView* same = Reshaped(tensor.view(), {2, 3}, &memory);
  EXPECT_THAT(same->shape, ElementsAre(2, 3));
  EXPECT_THAT(Values(*same), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(DerivedTensorsTest, JoinsColumns) {
  const Counting left({2, 1}), right({2, 2});
  TensorMemory memory;
  const TensorView* matrix = JoinedColumns(left.view(), right.view(), &memory);
  EXPECT_THAT(matrix->shape, ElementsAre(2, 3));
  EXPECT_THAT(Values(*matrix), ElementsAre(0, 0, 1, 1, 2, 3));
}

TEST(DerivedTensorsTest, PutsBlocksOnADiagonal) {
  const Counting blocks({2, 2, 3});
  TensorMemory memory;
  const TensorView* matrix = BlockDiagonal(blocks.view(), &memory);
  EXPECT_THAT(matrix->shape, ElementsAre(6, 4));
  EXPECT_THAT(Values(*matrix),
              ElementsAre(0, 3, 0, 0, 1, 4, 0, 0, 2, 5, 0, 0,  //
                          0, 0, 6, 9, 0, 0, 7, 10, 0, 0, 8, 11));
}

TEST(DerivedTensorsTest, AddsARowOfAnotherTensorToEach) {
  const Counting tensor({2, 3}), other({2, 3});
  TensorMemory memory;
  const TensorView* sum = PlusRow(tensor.view(), other.view(), 1, &memory);
  EXPECT_THAT(sum->shape, ElementsAre(2, 3));
  EXPECT_THAT(Values(*sum), ElementsAre(3, 5, 7, 6, 8, 10));
}

// The second part: left is (2 3), right is (2 3), each of rank 1.
TEST(DerivedTensorsTest, AddsAProductOfTwoThinParts) {
  const Counting w({2, 2}), left({2, 2, 1}), right({2, 1, 2});
  TensorMemory memory;
  const TensorView* sum = PlusProduct(w.view(), left.view(), right.view(),
                                      /*index=*/1, /*factor=*/2, &memory);
  EXPECT_THAT(sum->shape, ElementsAre(2, 2));
  EXPECT_THAT(Values(*sum), ElementsAre(8, 13, 14, 21));
}

}  // namespace
}  // namespace trivium
