#include "model/transformer/product_order.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

std::vector<std::unique_ptr<PackedMatrix>> Matrices(int count) {
  const std::vector<float> weights(4);
  std::vector<std::unique_ptr<PackedMatrix>> matrices;
  for (int i = 0; i < count; ++i) {
    matrices.push_back(*PackedMatrix::Create(
        {WeightType::kF32, OperandType::kF32, 2, 2}, weights.data()));
  }
  return matrices;
}

TEST(ProductOrderTest, KnowsWhatFollowedTwice) {
  const auto matrices = Matrices(3);
  ProductOrder order;
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < 3; ++i) {
      const PackedMatrix* next = order.Follow(matrices[i].get());
      const bool known = step >= 2;
      EXPECT_EQ(next, known ? matrices[(i + 1) % 3].get() : nullptr)
          << "step " << step << ", product " << i;
    }
  }
}

TEST(ProductOrderTest, GuessesNothingAfterAnotherSuccessor) {
  const auto matrices = Matrices(3);
  ProductOrder order;
  for (const int i : {0, 1, 0, 1, 0, 2}) order.Follow(matrices[i].get());
  EXPECT_EQ(order.Follow(matrices[0].get()), nullptr);
  order.Follow(matrices[2].get());
  EXPECT_EQ(order.Follow(matrices[0].get()), matrices[2].get());
}

}  // namespace
}  // namespace trivium
