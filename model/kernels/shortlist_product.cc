// Order of the loops, because W is far greater than the caches and its chosen
// rows follow no pattern:
//
//   for each chunk of listed rows that stays in the L1 cache   (kChunkBytes)
//     for 4, 2 or 1 queries
//       for four rows of W at a time: multiply, while rows kAhead later
//         are prefetched
//
// So each row of W is read from memory once. A sum's order is the same in every
// such loop, so it does not depend on the chunk or the queries.
//
// A Chunk is `count` of the listed rows and as many queries as the function is
// instantiated for.
#include "model/kernels/shortlist_product.h"

#include <algorithm>
#include <cstddef>

#include "model/kernels/runtime.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/shortlist_product.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "model/kernels/byte_dots-inl.h"
#include "model/kernels/vector-inl.h"

#ifndef TRIVIUM_MODEL_KERNELS_SHORTLIST_PRODUCT_CC_
#define TRIVIUM_MODEL_KERNELS_SHORTLIST_PRODUCT_CC_
namespace trivium {

template <typename W, typename X, typename Y>
struct ShortlistChunk {
  const W* w;
  size_t stride;
  const int32_t* rows;
  int count;
  const X* x;
  Y* y;
  size_t y_stride;

  // Returns listed row i + j of W; beyond the last one, the last one again.
  const W* Row(int i, int j) const {
    return w + static_cast<size_t>(rows[std::min(i + j, count - 1)]) * stride;
  }
};
using Int8Chunk = ShortlistChunk<int8_t, uint8_t, int32_t>;
using F32Chunk = ShortlistChunk<float, float, float>;

}  // namespace trivium
#endif

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Returns the sum of the vector's blocks of four lanes.
template <class D>
HWY_INLINE auto SumBlocks(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return SumBlocks(half,
                     hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// Sets y[j] to the sum of the lanes of v[j], for four vectors, in one order for
// all.
template <class D>
HWY_INLINE void StoreSums(D d, const hn::Vec<D>* v, hn::TFromD<D>* y) {
  const hn::RepartitionToWide<D> wide;
  const auto ab =
      hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, v[0], v[1]),
                                hn::InterleaveUpper(d, v[0], v[1])));
  const auto ce =
      hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, v[2], v[3]),
                                hn::InterleaveUpper(d, v[2], v[3])));
  const auto sums = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, ab, ce)),
                            hn::BitCast(d, hn::InterleaveUpper(wide, ab, ce)));
  const hn::CappedTag<hn::TFromD<D>, 4> four;
  hn::StoreU(SumBlocks(d, sums), four, y);
}

// Rows are prefetched this far ahead of the product: their places follow no
// pattern that the CPU could predict.
constexpr int kAhead = 12;

// The contents of a lane of a row, and how it is multiplied.
struct Floats {
  using D = F32;
  HWY_INLINE hn::Vec<D> Load(const float* p) const { return hn::LoadU(D(), p); }
  HWY_INLINE hn::Vec<D> Add(hn::Vec<D> sum, hn::Vec<D> x, hn::Vec<D> w) const {
    return hn::MulAdd(x, w, sum);
  }
  static constexpr size_t kValues = 1;  // values per lane
};
template <bool kVnni>
struct ByteQuads {
  using D = I32;
  template <typename T>
  HWY_INLINE hn::Vec<D> Load(const T* p) const {
    return hn::LoadU(D(), reinterpret_cast<const int32_t*>(p));
  }
  HWY_INLINE hn::Vec<D> Add(hn::Vec<D> sum, hn::Vec<D> x, hn::Vec<D> w) const {
    return AddDots<kVnni>(sum, x, w);
  }
  static constexpr size_t kValues = 4;
};

template <int kQueries, class Lanes, class Chunk>
HWY_INLINE void RunRows(const Lanes& lanes, const Chunk& chunk) {
  const typename Lanes::D d;
  using V = hn::Vec<typename Lanes::D>;
  const size_t step = hn::Lanes(d) * Lanes::kValues;
  for (int i = 0; i < chunk.count; i += 4) {
    decltype(chunk.w) w[4];
    decltype(chunk.w) ahead[4];
    V sum[kQueries][4];
    for (int j = 0; j < 4; ++j) {
      w[j] = chunk.Row(i, j);
      ahead[j] = chunk.Row(i, j + kAhead);
      for (int q = 0; q < kQueries; ++q) sum[q][j] = hn::Zero(d);
    }
    for (size_t k = 0; k < chunk.stride; k += step) {
      V row[4];
      for (int j = 0; j < 4; ++j) {
        row[j] = lanes.Load(w[j] + k);
        hwy::Prefetch(ahead[j] + k);
      }
      for (int q = 0; q < kQueries; ++q) {
        const V x = lanes.Load(chunk.x + q * chunk.stride + k);
        for (int j = 0; j < 4; ++j) {
          sum[q][j] = lanes.Add(sum[q][j], x, row[j]);
        }
      }
    }
    for (int q = 0; q < kQueries; ++q) {
      StoreSums(d, sum[q], chunk.y + q * chunk.y_stride + i);
    }
  }
}

// Runs a chunk for 1, 2 or 4 queries.
template <class Lanes, class Chunk>
HWY_INLINE void RunQueries(const Lanes& lanes, const Chunk& chunk,
                           int queries) {
  switch (queries) {
    case 4:
      return RunRows<4>(lanes, chunk);
    case 2:
      return RunRows<2>(lanes, chunk);
    default:
      return RunRows<1>(lanes, chunk);
  }
}

void RunFloats(const F32Chunk& chunk, int queries) {
  RunQueries(Floats(), chunk, queries);
}
void RunBytes(const Int8Chunk& chunk, int queries, bool vnni) {
  if (HWY_TARGET == HWY_AVX3 && vnni) {
    RunQueries(ByteQuads<true>(), chunk, queries);
  } else {
    RunQueries(ByteQuads<false>(), chunk, queries);
  }
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(RunFloats);
HWY_EXPORT(RunBytes);

namespace {

// This many bytes of W's rows stay in the L1 cache for the next queries.
constexpr int kChunkBytes = 16 << 10;

void RunChunk(const F32Chunk& chunk, int queries) {
  HWY_DYNAMIC_DISPATCH(RunFloats)(chunk, queries);
}
void RunChunk(const Int8Chunk& chunk, int queries) {
  HWY_DYNAMIC_DISPATCH(RunBytes)
  (chunk, queries, ActiveIsa() >= Isa::kAvx512Vnni);
}

template <typename W, typename X, typename Y>
void Run(const W* w, int stride, std::span<const int32_t> rows, const X* x,
         int queries, Y* y, int y_stride) {
  const int row_bytes = stride * static_cast<int>(sizeof(W));
  const int step = std::max(4, kChunkBytes / row_bytes / 4 * 4);
  const int count = static_cast<int>(rows.size());
  for (int first = 0; first < count; first += step) {
    for (int q = 0; q < queries;) {
      const int some = queries - q >= 4 ? 4 : queries - q >= 2 ? 2 : 1;
      RunChunk(
          {w, static_cast<size_t>(stride), rows.data() + first,
           std::min(step, count - first), x + static_cast<size_t>(q) * stride,
           y + static_cast<size_t>(q) * y_stride + first,
           static_cast<size_t>(y_stride)},
          some);
      q += some;
    }
  }
}

}  // namespace

void ShortlistProduct(const int8_t* w, int stride,
                      std::span<const int32_t> rows, const uint8_t* x,
                      int queries, int32_t* y, int y_stride) {
  Run(w, stride, rows, x, queries, y, y_stride);
}

void ShortlistProduct(const float* w, int stride, std::span<const int32_t> rows,
                      const float* x, int queries, float* y, int y_stride) {
  Run(w, stride, rows, x, queries, y, y_stride);
}

}  // namespace trivium
#endif  // HWY_ONCE
