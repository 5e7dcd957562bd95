#include "model/kernels/product_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/max_sim.h"

namespace trivium {
namespace {

std::vector<float> NormalRows(int rows, int size, float scale,
                              std::mt19937* generator) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(rows) * size);
  for (float& value : values) value = scale * normal(*generator);
  return values;
}

// A row rounded to bytes, in plain loops: how long its bytes and what they
// leave out are, in steps.
struct SlowRounding {
  SlowRounding(const float* row, int size) {
    for (int k = 0; k < size; ++k) {
      step = std::max(step, std::fabs(double{row[k]}) / 127);
    }
    for (int k = 0; k < size && step > 0; ++k) {
      const double byte = std::nearbyint(row[k] / step);
      length += byte * byte;
      error += (row[k] / step - byte) * (row[k] / step - byte);
      whole_length += row[k] / step * row[k] / step;
    }
    length = std::sqrt(length);
    error = std::sqrt(error);
    whole_length = std::sqrt(whole_length);
  }

  double step = 0;
  double length = 0, error = 0;
  double whole_length = 0;  // of the row itself
};

// The bounds hold for every product, and are no wider than the head of
// product_bounds.cc has it.
void CheckBounds(const std::vector<float>& query_rows,
                 const std::vector<float>& document_rows, int size) {
  const int count = static_cast<int>(query_rows.size()) / size;
  const DocumentRows document = {document_rows.data(),
                                 static_cast<int>(document_rows.size()) / size,
                                 size};
  const std::optional<QueryBytes> query =
      RoundQuery(query_rows.data(), count, size);
  ASSERT_TRUE(query.has_value());
  ProductBounds bounds(*query, document);
  for (int first = 0; first < count; first += kBoundedColumns) {
    ASSERT_TRUE(bounds.Compute(first));
    for (int i = first; i < std::min(count, first + kBoundedColumns); ++i) {
      const float* const q = &query_rows[static_cast<size_t>(i) * size];
      const SlowRounding of_query(q, size);
      double largest = -std::numeric_limits<double>::infinity();
      for (int j = 0; j < document.rows; ++j) {
        const float* const d = &document_rows[static_cast<size_t>(j) * size];
        const SlowRounding of_document(d, size);
        const double product = RowProduct(q, d, size) / of_query.step;
        const double upper =
            bounds
                .upper()[static_cast<size_t>(j) * bounds.columns() + i - first];
        ASSERT_LE(product, upper) << "column " << i << " row " << j;
        const double width = 2 * of_document.step *
                             (of_query.whole_length * std::sqrt(size) / 2 +
                              of_query.error * of_document.length);
        // Bytes of other roundings of halves differ by a step.
        ASSERT_LE(upper, product + 1.05 * width + of_document.step)
            << "column " << i << " row " << j;
        largest = std::max(largest, product);
      }
      ASSERT_GE(largest, bounds.lower()[i - first]) << "column " << i;
    }
    for (int c = std::min(count - first, kBoundedColumns); c < bounds.columns();
         ++c) {
      for (int j = 0; j < document.rows; ++j) {
        const float upper =
            bounds.upper()[static_cast<size_t>(j) * bounds.columns() + c];
        ASSERT_FALSE(upper >= bounds.lower()[c]) << "padding " << c;
      }
    }
  }
}

TEST(ProductBoundsTest, HoldForEveryShape) {
  std::mt19937 generator(1);
  for (const int size : {1, 3, 4, 7, 8, 17, 63, 64, 65, 128, 384, 1000}) {
    for (const int count : {1, 15, 16, 17, 40, 64, 65, 150}) {
      for (const int rows : {1, 4, 11, 12, 13, 29}) {
        SCOPED_TRACE(testing::Message() << "size " << size << " query " << count
                                        << " rows " << rows);
        CheckBounds(NormalRows(count, size, 1, &generator),
                    NormalRows(rows, size, 0.3f, &generator), size);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Rows of one large number and many that are half a step round worst.
TEST(ProductBoundsTest, HoldForRowsThatRoundBadly) {
  for (const int size : {2, 64, 100, 1000}) {
    std::vector<float> query(static_cast<size_t>(20) * size, 1);
    std::vector<float> document(static_cast<size_t>(30) * size, 1);
    for (size_t k = 0; k < query.size(); ++k) {
      const int row = static_cast<int>(k) / size;
      if (static_cast<int>(k) % size == row % size) query[k] = 253;
      if (row % 2 == 1) query[k] *= -1e-3f;
    }
    for (size_t k = 0; k < document.size(); ++k) {
      const int row = static_cast<int>(k) / size;
      if (static_cast<int>(k) % size == row % size) document[k] = -253;
      document[k] *= std::pow(10.0f, static_cast<float>(row % 12 - 6));
    }
    CheckBounds(query, document, size);
  }
}

TEST(ProductBoundsTest, RowsOfZerosHaveZeros) {
  std::mt19937 generator(2);
  constexpr int kSize = 40;
  std::vector<float> document = NormalRows(20, kSize, 1, &generator);
  std::fill_n(document.begin() + 5 * kSize, 2 * kSize, 0.0f);
  const std::vector<float> rows = NormalRows(3, kSize, 1, &generator);
  CheckBounds(rows, document, kSize);
  const std::optional<QueryBytes> query = RoundQuery(rows.data(), 3, kSize);
  ASSERT_TRUE(query.has_value());
  ProductBounds bounds(*query, {document.data(), 20, kSize});
  ASSERT_TRUE(bounds.Compute(0));
  EXPECT_EQ(bounds.upper()[5 * bounds.columns()], 0);
}

TEST(ProductBoundsTest, UnusualNumbersHaveNone) {
  std::mt19937 generator(3);
  constexpr int kSize = 33, kRows = 30;
  const std::vector<float> usual = NormalRows(kRows, kSize, 1, &generator);
  const std::optional<QueryBytes> query =
      RoundQuery(usual.data(), kRows, kSize);
  ASSERT_TRUE(query.has_value());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float unusual : {1e20f, kInfinity, -kInfinity, kNan, -kNan}) {
    for (const int row : {0, 13, kRows - 1}) {
      for (const int k : {0, kSize - 1}) {
        std::vector<float> other = usual;
        other[row * kSize + k] = unusual;
        EXPECT_FALSE(RoundQuery(other.data(), kRows, kSize)) << unusual;
        ProductBounds bounds(*query, {other.data(), kRows, kSize});
        EXPECT_FALSE(bounds.Compute(0)) << unusual;
      }
    }
  }
  std::vector<float> small = usual;
  std::fill_n(small.begin() + kSize, kSize, 1e-30f);
  ProductBounds bounds(*query, {small.data(), kRows, kSize});
  EXPECT_FALSE(bounds.Compute(0));
}

}  // namespace
}  // namespace trivium
