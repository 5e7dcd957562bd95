#include "model/kernels/shortlist_product.h"

#include <immintrin.h>

#include <algorithm>
#include <cstddef>

#include "model/kernels/runtime.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/shortlist_product.cc"
#include "hwy/foreach_target.h"
// Highway asks for this order.
#include "hwy/highway.h"
#include "model/kernels/vector-inl.h"

// A chunk of a product: `count` of the rows, as many queries as the function
// is made for. Four rows of W at a time meet them all.
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

  // Row i + j of W; beyond the last row, the last one again.
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

#if HWY_TARGET == HWY_SCALAR
template <class D>
HWY_INLINE void StoreSums(D d, const hn::Vec<D>* v, hn::TFromD<D>* y) {
  for (int j = 0; j < 4; ++j) y[j] = hn::GetLane(v[j]);
}
#else
// The sum of the vector's blocks of four lanes.
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

// y[j] = sum of the lanes of v[j], for four vectors, in one order for all.
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
#endif

using S32 = hn::CappedTag<int32_t, 16>;

HWY_INLINE hn::Vec<F32> LoadValues(F32 d, const float* p) {
  return hn::LoadU(d, p);
}
// From s8 or u8.
template <typename T>
HWY_INLINE hn::Vec<S32> LoadValues(S32 d, const T* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, S32>(), p));
}

HWY_INLINE hn::Vec<F32> AddProduct(hn::Vec<F32> a, hn::Vec<F32> b,
                                   hn::Vec<F32> sum) {
  return hn::MulAdd(a, b, sum);
}
HWY_INLINE hn::Vec<S32> AddProduct(hn::Vec<S32> a, hn::Vec<S32> b,
                                   hn::Vec<S32> sum) {
  return hn::Add(hn::Mul(a, b), sum);
}

template <class D, int kQueries, class Chunk>
HWY_INLINE void RunRows(const Chunk& chunk) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  for (int i = 0; i < chunk.count; i += 4) {
    decltype(chunk.w) w[4];
    hn::Vec<D> sum[kQueries][4];
    for (int j = 0; j < 4; ++j) {
      w[j] = chunk.Row(i, j);
      for (int q = 0; q < kQueries; ++q) sum[q][j] = hn::Zero(d);
    }
    for (size_t k = 0; k < chunk.stride; k += lanes) {
      hn::Vec<D> row[4];
      for (int j = 0; j < 4; ++j) row[j] = LoadValues(d, w[j] + k);
      for (int q = 0; q < kQueries; ++q) {
        const auto x = LoadValues(d, chunk.x + q * chunk.stride + k);
        for (int j = 0; j < 4; ++j) {
          sum[q][j] = AddProduct(x, row[j], sum[q][j]);
        }
      }
    }
    for (int q = 0; q < kQueries; ++q) {
      StoreSums(d, sum[q], chunk.y + q * chunk.y_stride + i);
    }
  }
}

void F32Rows1(const F32Chunk& chunk) { RunRows<F32, 1>(chunk); }
void F32Rows2(const F32Chunk& chunk) { RunRows<F32, 2>(chunk); }
void F32Rows4(const F32Chunk& chunk) { RunRows<F32, 4>(chunk); }
// Where the CPU has no VNNI.
void Int8Rows1(const Int8Chunk& chunk) { RunRows<S32, 1>(chunk); }
void Int8Rows2(const Int8Chunk& chunk) { RunRows<S32, 2>(chunk); }
void Int8Rows4(const Int8Chunk& chunk) { RunRows<S32, 4>(chunk); }

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(F32Rows1);
HWY_EXPORT(F32Rows2);
HWY_EXPORT(F32Rows4);
HWY_EXPORT(Int8Rows1);
HWY_EXPORT(Int8Rows2);
HWY_EXPORT(Int8Rows4);

namespace {

// So many bytes of W's rows stay in the first cache for the next queries.
constexpr int kChunkBytes = 16 << 10;

#define TRIVIUM_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

// As StoreSums. Highway 1.0 has VNNI only where a CPU has much more.
TRIVIUM_VNNI inline void StoreVnniSums(const __m512i* v, int32_t* y) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(v[0], v[1]),
                                      _mm512_unpackhi_epi32(v[0], v[1]));
  const __m512i ce = _mm512_add_epi32(_mm512_unpacklo_epi32(v[2], v[3]),
                                      _mm512_unpackhi_epi32(v[2], v[3]));
  const __m512i sums = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, ce),
                                        _mm512_unpackhi_epi64(ab, ce));
  const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(sums),
                                        _mm512_extracti64x4_epi64(sums, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y),
                   _mm_add_epi32(_mm256_castsi256_si128(half),
                                 _mm256_extracti128_si256(half, 1)));
}

// Rows that are fetched while those so far before them are multiplied: their
// places follow no pattern that the CPU could foresee.
constexpr int kAhead = 12;

template <int kQueries>
TRIVIUM_VNNI void VnniRows(const Int8Chunk& chunk) {
  for (int i = 0; i < chunk.count; i += 4) {
    const int8_t* w[4];
    const int8_t* ahead[4];
    __m512i sum[kQueries][4];
    for (int j = 0; j < 4; ++j) {
      w[j] = chunk.Row(i, j);
      ahead[j] = chunk.Row(i, j + kAhead);
      for (int q = 0; q < kQueries; ++q) sum[q][j] = _mm512_setzero_si512();
    }
    for (size_t k = 0; k < chunk.stride; k += 64) {
      __m512i row[4];
      for (int j = 0; j < 4; ++j) {
        row[j] = _mm512_loadu_si512(w[j] + k);
        _mm_prefetch(ahead[j] + k, _MM_HINT_T0);
      }
      for (int q = 0; q < kQueries; ++q) {
        const __m512i x = _mm512_loadu_si512(chunk.x + q * chunk.stride + k);
        for (int j = 0; j < 4; ++j) {
          sum[q][j] = _mm512_dpbusd_epi32(sum[q][j], x, row[j]);
        }
      }
    }
    for (int q = 0; q < kQueries; ++q) {
      StoreVnniSums(sum[q], chunk.y + q * chunk.y_stride + i);
    }
  }
}

void RunChunk(const F32Chunk& chunk, int queries) {
  if (queries == 4) return HWY_DYNAMIC_DISPATCH(F32Rows4)(chunk);
  if (queries == 2) return HWY_DYNAMIC_DISPATCH(F32Rows2)(chunk);
  HWY_DYNAMIC_DISPATCH(F32Rows1)(chunk);
}

void RunChunk(const Int8Chunk& chunk, int queries) {
  static const bool vnni = ActiveIsa() >= Isa::kAvx512Vnni;
  if (vnni) {
    if (queries == 4) return VnniRows<4>(chunk);
    if (queries == 2) return VnniRows<2>(chunk);
    return VnniRows<1>(chunk);
  }
  if (queries == 4) return HWY_DYNAMIC_DISPATCH(Int8Rows4)(chunk);
  if (queries == 2) return HWY_DYNAMIC_DISPATCH(Int8Rows2)(chunk);
  HWY_DYNAMIC_DISPATCH(Int8Rows1)(chunk);
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
