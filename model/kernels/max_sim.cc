#include "model/kernels/max_sim.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/max_sim.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/vector-inl.h"

#ifndef TRIVIUM_MODEL_KERNELS_MAX_SIM_CC_
#define TRIVIUM_MODEL_KERNELS_MAX_SIM_CC_
namespace trivium {

// Products that are computed side by side, as each sum waits for the one before
// it.
inline constexpr int kPairsAtOnce = 4;

}  // namespace trivium
#endif

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The order of each sum is that of RowProduct.
template <int kPairs>
HWY_INLINE void ProductsOf(const float* const* a, const float* const* b,
                           int size, float* products) {
  constexpr int kSums = 8;
  const hn::CappedTag<float, kSums> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kVectors = kSums / kLanes;
  hn::Vec<decltype(d)> at[kPairs][kVectors];
  for (auto& of_pair : at) {
    for (auto& one : of_pair) one = hn::Zero(d);
  }
  int k = 0;
  for (; k + kSums <= size; k += kSums) {
    HWY_UNROLL(4)  // or the sums are kept in memory
    for (int p = 0; p < kPairs; ++p) {
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        const int i = k + v * kLanes;
        at[p][v] = hn::Add(
            at[p][v], hn::Mul(hn::LoadU(d, a[p] + i), hn::LoadU(d, b[p] + i)));
      }
    }
  }
  for (int p = 0; p < kPairs; ++p) {
    HWY_ALIGN float sums[kSums];
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(at[p][v], d, sums + v * kLanes);
    }
    float rest = 0;
    for (int i = k; i < size; ++i) rest += a[p][i] * b[p][i];
    products[p] = ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
                  ((sums[2] + sums[6]) + (sums[3] + sums[7])) + rest;
  }
}

float ProductOfRows(const float* a, const float* b, int size) {
  float product;
  ProductsOf<1>(&a, &b, size, &product);
  return product;
}

// Raises best[i] to the products of row i of `query` with those document rows
// that are its candidates. A candidate is document row * kBoundedColumns + i.
// The array of `count` has room for kPairsAtOnce more.
HWY_INLINE void CompareCandidates(int32_t* candidates, int count,
                                  const DocumentRows& document,
                                  const float* query, float* best) {
  if (count == 0) return;
  // The last one may be compared again, which changes nothing.
  std::fill_n(candidates + count, kPairsAtOnce, candidates[count - 1]);
  for (int i = 0; i < count; i += kPairsAtOnce) {
    int column[kPairsAtOnce];
    const float* of_query[kPairsAtOnce];
    const float* of_document[kPairsAtOnce];
    for (int p = 0; p < kPairsAtOnce; ++p) {
      column[p] = candidates[i + p] % kBoundedColumns;
      const int row = candidates[i + p] / kBoundedColumns;
      of_query[p] = query + static_cast<size_t>(column[p]) * document.size;
      of_document[p] =
          document.values + static_cast<size_t>(row) * document.size;
    }
    float products[kPairsAtOnce];
    ProductsOf<kPairsAtOnce>(of_query, of_document, document.size, products);
    for (int p = 0; p < kPairsAtOnce; ++p) {
      best[column[p]] = std::max(best[column[p]], products[p]);
    }
  }
}

// Sets best[i] to the largest product of row i of `query`, of those that may be
// the largest by their bounds.
void BestProducts(const ProductBounds& bounds, const DocumentRows& document,
                  const float* query, float* best) {
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // So many, and those of one row more.
  constexpr int kCandidates = 512;
  int32_t candidates[kCandidates + kBoundedColumns + kPairsAtOnce];
  int count = 0;
  for (int row = 0; row < document.rows; ++row) {
    const float* const upper =
        bounds.upper() + static_cast<size_t>(row) * bounds.columns();
    uint64_t possible = 0;  // a bit for each column
    for (int c = 0; c < bounds.columns(); c += lanes) {
      const auto mask =
          hn::Ge(hn::LoadU(d, upper + c), hn::LoadU(d, bounds.lower() + c));
      uint16_t bits = 0;
      hn::StoreMaskBits(d, mask, reinterpret_cast<uint8_t*>(&bits));
      possible |= uint64_t{bits} << c;
    }
    const auto add = [&]() HWY_ATTR {
      candidates[count] = row * kBoundedColumns + std::countr_zero(possible);
      count += possible != 0;
      possible &= possible - 1;
    };
    // Without a branch, which a CPU could not foresee; more than one are rare.
    add();
    while (possible != 0) add();
    if (count >= kCandidates) {
      CompareCandidates(candidates, count, document, query, best);
      count = 0;
    }
  }
  CompareCandidates(candidates, count, document, query, best);
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(ProductOfRows);
HWY_EXPORT(BestProducts);

namespace {

// Numbers of more candidates might not fit into 32 bits.
constexpr int kMostRows = std::numeric_limits<int32_t>::max() / kBoundedColumns;

}  // namespace

float RowProduct(const float* a, const float* b, int size) {
  return HWY_DYNAMIC_DISPATCH(ProductOfRows)(a, b, size);
}

MaxSimQuery::MaxSimQuery(const float* rows, int count, int size)
    : count_(count),
      size_(size),
      rows_(rows, rows + static_cast<size_t>(count) * size),
      bytes_(RoundQuery(rows, count, size)) {}

double MaxSimQuery::ComparePlainly(const DocumentRows& document) const {
  double sum = 0;
  for (int i = 0; i < count_; ++i) {
    const float* const row = &rows_[static_cast<size_t>(i) * size_];
    float best = RowProduct(row, document.values, size_);
    for (int j = 1; j < document.rows; ++j) {
      best = std::max(
          best,
          RowProduct(row, document.values + static_cast<size_t>(j) * size_,
                     size_));
    }
    sum += best;
  }
  return sum;
}

double MaxSimQuery::Compare(const float* values, int rows) const {
  if (count_ == 0 || rows == 0) return 0;
  const DocumentRows document = {values, rows, size_};
  // A few rows are compared as quickly as they are rounded.
  if (!bytes_ || rows < 4 || rows > kMostRows) return ComparePlainly(document);
  ProductBounds bounds(*bytes_, document);
  std::vector<float> best(count_, -std::numeric_limits<float>::infinity());
  for (int first = 0; first < count_; first += kBoundedColumns) {
    if (!bounds.Compute(first)) return ComparePlainly(document);
    HWY_DYNAMIC_DISPATCH(BestProducts)
    (bounds, document, &rows_[static_cast<size_t>(first) * size_],
     &best[first]);
  }
  double sum = 0;
  for (const float one : best) sum += one;
  return sum;
}

}  // namespace trivium
#endif  // HWY_ONCE
