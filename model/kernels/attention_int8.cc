// Attention over int8 tiles. Its products are sums of byte products, exact in
// 32 bits:
// - A query is quantized to signed bytes; keys are unsigned, with 128 for zero:
//   q . k = scale_q scale_k (sum - 128 sum_q), where sum_q is the sum of the
//   query's bytes.
// - A key's weight times its value's scale becomes 16 bits, whose upper and
//   lower bytes are multiplied separately. With eight bits, many small weights
//   beside a large one would be lost. Sums over kExactKeys keys cannot
//   overflow. Each kExactKeys keys, counted from key 0, are summed separately,
//   and these sums are added as floats, in order. So a row's bits depend
//   neither on the number of rows processed at once nor on where other rows'
//   windows begin.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "model/kernels/attention.h"
#include "model/kernels/runtime.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/attention_int8.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/attention-inl.h"
#include "model/kernels/byte_dots-inl.h"
#include "model/kernels/kv_tile_int8-inl.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE VI32 SetQuad(const void* p) {
  int32_t quad;
  std::memcpy(&quad, p, sizeof(quad));
  return hn::Set(I32(), quad);
}

constexpr int kExactKeys = 1 << 16;
static_assert(kExactKeys % kWholeBlock == 0);
// A byte of a weight is at most 255, one of a value at most 127.
static_assert(int64_t{kExactKeys} * 255 * 127 <=
              std::numeric_limits<int32_t>::max());

// The quantized weights of a part's row `q`, from the weight layout's origin
// on: upper and lower bytes, or, if values are keys, whole numbers as floats.
template <int kQueries>
HWY_INLINE uint8_t* UpperBytes(const Part<kQueries>& part, int q) {
  return reinterpret_cast<uint8_t*>(part.head.converted +
                                    q * part.rows->layout.stride);
}
template <int kQueries>
HWY_INLINE uint8_t* LowerBytes(const Part<kQueries>& part, int q) {
  return UpperBytes(part, q) + part.rows->layout.stride;
}

HWY_INLINE Quantized QuantizeQuery(const float* HWY_RESTRICT query,
                                   int head_size, int8_t* HWY_RESTRICT bytes) {
  const hn::Rebind<int8_t, F32> d8;
  return QuantizeSymmetric(query, head_size, [&](int i, auto q) HWY_ATTR {
    hn::StoreU(hn::DemoteTo(d8, q), d8, bytes + i);
  });
}

// Computes the scores of kQueries rows with a tile's tokens from `lane` on.
template <bool kVnni, int kQueries>
HWY_INLINE void ScoreTokens(const Int8Head<const char>& head, int lane,
                            int quads, const int8_t* HWY_RESTRICT query,
                            int query_stride,
                            const Quantized* HWY_RESTRICT quantized,
                            float* HWY_RESTRICT scores, size_t stride) {
  const F32 d;
  const I32 d32;
  VI32 sum[kQueries][2];
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) sum[q][0] = sum[q][1] = hn::Zero(d32);
  const int32_t* keys = reinterpret_cast<const int32_t*>(head.keys) + lane;
  const auto add = [&](int quad, int turn) HWY_ATTR {
    const VI32 k = hn::LoadU(d32, keys + quad * kQuadLanes);
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      sum[q][turn] = AddDots<kVnni>(
          sum[q][turn], k, SetQuad(query + q * query_stride + quad * kQuad));
    }
  };
  int quad = 0;
  for (; quad + 2 <= quads; quad += 2) {
    add(quad, 0);
    add(quad + 1, 1);
  }
  if (quad < quads) add(quad, 0);
  const auto key_scale =
      hn::LoadU(d, reinterpret_cast<const float*>(head.key_scale) + lane);
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    // Vector products are defined even if a query of NaNs overflows them.
    const auto offset =
        hn::ShiftLeft<kKeyZeroLog2>(hn::Set(d32, quantized[q].sum));
    const auto dot = hn::Sub(hn::Add(sum[q][0], sum[q][1]), offset);
    hn::StoreU(hn::Mul(hn::ConvertTo(d, dot),
                       hn::Mul(hn::Set(d, quantized[q].scale), key_scale)),
               d, scores + q * stride);
  }
}

#if HWY_TARGET == HWY_AVX3
// Stores the upper and the lower bytes of the 64 16-bit numbers in four
// vectors.
HWY_INLINE void SplitBytes(VI32 a, VI32 b, VI32 c, VI32 e,
                           uint8_t* HWY_RESTRICT upper,
                           uint8_t* HWY_RESTRICT lower) {
  const hn::Full512<int32_t> d32;
  const hn::Full512<uint8_t> d8;
  const __m512i ab = _mm512_packus_epi32(a.raw, b.raw);
  const __m512i cd = _mm512_packus_epi32(c.raw, e.raw);
  const __m512i byte = _mm512_set1_epi16(255);
  // Each 128 bits hold four numbers of every vector.
  const auto order = hn::SetTableIndices(d32, kQuadsOfFour);
  const auto store = [&](__m512i bytes, uint8_t* to) HWY_ATTR {
    const auto ordered = hn::TableLookupLanes(VI32{bytes}, order);
    hn::StoreU(hn::BitCast(d8, ordered), d8, to);
  };
  store(_mm512_packus_epi16(_mm512_srli_epi16(ab, 8), _mm512_srli_epi16(cd, 8)),
        upper);
  store(_mm512_packus_epi16(_mm512_and_si512(ab, byte),
                            _mm512_and_si512(cd, byte)),
        lower);
}
#endif

// Quantizes the weights of a part's row `q`, times their values' scales, to 16
// bits; the rest of its tiles gets zeros. Returns the value of the lowest bit.
// `scaled` has room for a row.
template <int kQueries>
HWY_INLINE float QuantizeWeights(const AttentionCall& call,
                                 const Part<kQueries>& part, int q,
                                 float* HWY_RESTRICT scaled) {
  const WeightLayout& layout = part.rows->layout;
  const KeyRange& tiles = part.rows->tiles;
  const KeyRange& seen = part.rows->seen[q];
  const int first = tiles.begin - layout.origin;
  const float* weights = part.head.weights + q * layout.stride + first;
  const F32 d;
  const I32 d32;
  const hn::Rebind<uint8_t, F32> d8;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int end = tiles.end - tiles.begin;
  const int seen_begin = seen.begin - tiles.begin;
  const int seen_end = seen.end - tiles.begin;
  // Unseen weights may be anything.
  const auto below = [&](int key, int bound) HWY_ATTR {
    return hn::FirstN(d, static_cast<size_t>(std::max(bound - key, 0)));
  };
  const char* const* tile = call.tiles + tiles.begin / kTileTokens;
  auto most = hn::Zero(d);
  for (int begin = 0; begin < end; begin += kTileTokens, ++tile) {
    const auto* scales = reinterpret_cast<const float*>(
        Int8Head<const char>(call.shape, *tile, part.head.head).value_scale);
    const bool all = seen_begin <= begin && begin + kTileTokens <= seen_end;
    for (int lane = 0; lane < kTileTokens; lane += lanes) {
      const int i = begin + lane;
      auto product =
          hn::Mul(hn::LoadU(d, weights + i), hn::LoadU(d, scales + lane));
      if (HWY_UNLIKELY(!all)) {
        product = hn::IfThenElseZero(below(i, seen_end), product);
        product = hn::IfThenZeroElse(below(i, seen_begin), product);
      }
      most = hn::Max(most, product);
      hn::StoreU(product, d, scaled + i);
    }
  }
  const float largest = hn::GetLane(hn::MaxOfLanes(d, most));
  // Below this the inverse is not finite; nearly all weight is on a sink.
  constexpr float kLeastWeight = 1e-30f;
  const auto inverse =
      hn::Set(d, largest > kLeastWeight ? 65535 / largest : 0.0f);
  const auto limit = hn::Set(d32, 65535);
  const auto quantize = [&](int i) HWY_ATTR {
    return hn::Min(hn::NearestInt(hn::Mul(hn::LoadU(d, scaled + i), inverse)),
                   limit);
  };
  if (call.shape.values_are_keys) {
    float* numbers = part.head.converted + q * layout.stride + first;
    for (int i = 0; i < end; i += lanes) {
      hn::StoreU(hn::ConvertTo(d, quantize(i)), d, numbers + i);
    }
    return largest / 65535;
  }
  uint8_t* HWY_RESTRICT upper = UpperBytes(part, q) + first;
  uint8_t* HWY_RESTRICT lower = LowerBytes(part, q) + first;
  int i = 0;
#if HWY_TARGET == HWY_AVX3
  for (; i + 4 * lanes <= end; i += 4 * lanes) {
    SplitBytes(quantize(i), quantize(i + lanes), quantize(i + 2 * lanes),
               quantize(i + 3 * lanes), upper + i, lower + i);
  }
#endif
  for (; i < end; i += lanes) {
    const auto number = quantize(i);
    hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<8>(number)), d8, upper + i);
    hn::StoreU(hn::DemoteTo(d8, hn::And(number, hn::Set(d32, 255))), d8,
               lower + i);
  }
  return largest / 65535;
}

// Adds weights V of a part, over the keys of `tiles`, to `sums` [kQueries,
// kGroups, upper and lower bytes, lanes]: one vector of lanes in each of
// kGroups groups of 16 dimensions from `group` on. The first tiles after a
// multiple of kExactKeys set the sums; the last ones before one add scale *
// sums to `out`, or set it if they are a row's first.
template <bool kVnni, int kQueries, int kGroups>
HWY_INLINE void WeighValues(const AttentionCall& call,
                            const Part<kQueries>& part, const KeyRange& tiles,
                            int group, int lane,
                            const float* HWY_RESTRICT scale,
                            int32_t* HWY_RESTRICT sums) {
  const F32 d;
  const I32 d32;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const Rows<kQueries>& rows = *part.rows;
  VI32 upper[kQueries][kGroups], lower[kQueries][kGroups];
  if (tiles.begin == rows.tiles.begin || tiles.begin % kExactKeys == 0) {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        upper[q][g] = lower[q][g] = hn::Zero(d32);
      }
    }
  } else {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        const int32_t* from = sums + (q * kGroups + g) * 2 * lanes;
        upper[q][g] = hn::Load(d32, from);
        lower[q][g] = hn::Load(d32, from + lanes);
      }
    }
  }
  const uint8_t* const bytes = UpperBytes(part, 0) - rows.layout.origin;
  const size_t lower_bytes = rows.layout.stride;
  const size_t stride = rows.layout.stride * sizeof(float);
  const int groups = DimensionGroups(call.shape.head_size);
  const int end_key = std::min(tiles.end, rows.any.end);
  for (int begin = tiles.begin; begin < end_key; begin += kTileTokens) {
    const Int8Head<const char> tile(call.shape, call.tiles[begin / kTileTokens],
                                    part.head.head);
    const int32_t* quads = reinterpret_cast<const int32_t*>(tile.values) +
                           group * kQuadLanes + lane;
    const int end = std::min(end_key, begin + kTileTokens);
    for (int key = begin; key < end;
         key += kQuad, quads += groups * kQuadLanes) {
      VI32 values[kGroups];
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        values[g] = hn::LoadU(d32, quads + g * kQuadLanes);
      }
      TRIVIUM_UNROLL
      for (int q = 0; q < kQueries; ++q) {
        const uint8_t* const quad = bytes + (q * stride + key);
        const VI32 high = SetQuad(quad);
        const VI32 low = SetQuad(quad + lower_bytes);
        TRIVIUM_UNROLL
        for (int g = 0; g < kGroups; ++g) {
          upper[q][g] = AddDots<kVnni>(upper[q][g], high, values[g]);
          lower[q][g] = AddDots<kVnni>(lower[q][g], low, values[g]);
        }
      }
    }
  }
  if (tiles.end < rows.tiles.end && tiles.end % kExactKeys != 0) {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        int32_t* to = sums + (q * kGroups + g) * 2 * lanes;
        hn::Store(upper[q][g], d32, to);
        hn::Store(lower[q][g], d32, to + lanes);
      }
    }
    return;
  }
  const bool later = tiles.begin / kExactKeys > rows.tiles.begin / kExactKeys;
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      const int begin = (group + g) * kQuadLanes + lane;
      const int left = call.shape.head_size - begin;
      if (left <= 0) continue;
      const auto sum =
          hn::MulAdd(hn::ConvertTo(d, upper[q][g]), hn::Set(d, 256.0f),
                     hn::ConvertTo(d, lower[q][g]));
      auto y = hn::Mul(sum, hn::Set(d, scale[q]));
      float* to = rows.out[q] + part.head.offset + begin;
      const auto valid = hn::FirstN(d, static_cast<size_t>(left));
      if (HWY_UNLIKELY(later)) y = hn::Add(LoadFirst(valid, d, to), y);
      if (left >= lanes) {
        hn::StoreU(y, d, to);
      } else {
        StoreFirst(y, valid, d, to);
      }
    }
  }
}

// Computes out = scale * weights K, where values are the keys, in the four
// dimensions of `quad`. The products of the 16-bit weights as floats with a
// key's bytes are exact. A vector of each tile's tokens after the other is
// multiplied by those tokens' weights. Unseen keys have weight 0.
template <int kQueries>
HWY_NOINLINE void WeighKeys(const AttentionCall& call,
                            const Part<kQueries>& part, int quad,
                            const float* HWY_RESTRICT scale) {
  const F32 d;
  const I32 d32;
  using V = hn::Vec<F32>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const Rows<kQueries>& rows = *part.rows;
  const auto byte = hn::Set(d32, 255), zero = hn::Set(d32, kKeyZero);
  TileSum sums[kQueries][kQuad];
  for (int v = 0; v < TileSum::kVectors; ++v) {
    V sum[kQueries][kQuad];
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      TRIVIUM_UNROLL
      for (int i = 0; i < kQuad; ++i) sum[q][i] = hn::Zero(d);
    }
    for (int key = rows.tiles.begin + v * lanes; key < rows.tiles.end;
         key += kTileTokens) {
      const Int8Head<const char> tile(call.shape, call.tiles[key / kTileTokens],
                                      part.head.head);
      const auto bytes =
          hn::LoadU(d32, reinterpret_cast<const int32_t*>(tile.keys) +
                             quad * kQuadLanes + key % kTileTokens);
      const auto number = [&](auto shifted) HWY_ATTR {
        return hn::ConvertTo(d, hn::Sub(hn::And(shifted, byte), zero));
      };
      const V numbers[kQuad] = {number(bytes), number(hn::ShiftRight<8>(bytes)),
                                number(hn::ShiftRight<16>(bytes)),
                                number(hn::ShiftRight<24>(bytes))};
      TRIVIUM_UNROLL
      for (int q = 0; q < kQueries; ++q) {
        const V weight =
            hn::LoadU(d, part.head.converted + q * rows.layout.stride +
                             (key - rows.layout.origin));
        TRIVIUM_UNROLL
        for (int i = 0; i < kQuad; ++i) {
          sum[q][i] = hn::MulAdd(weight, numbers[i], sum[q][i]);
        }
      }
    }
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      TRIVIUM_UNROLL
      for (int i = 0; i < kQuad; ++i) sums[q][i].at[v] = sum[q][i];
    }
  }
  const int size = std::min(kQuad, call.shape.head_size - quad * kQuad);
  for (int q = 0; q < kQueries; ++q) {
    float* to = rows.out[q] + part.head.offset + quad * kQuad;
    for (int i = 0; i < size; ++i) {
      to[i] = sums[q][i].Get() * scale[q];
    }
  }
}

// Runs the three steps of attention for parts. A CPU has few outstanding cache
// misses, so the next call's tiles are prefetched throughout: its keys while
// scores are computed, its values later.
template <bool kVnni, int kQueries>
HWY_INLINE void AttendParts(const AttentionCall& call,
                            const Part<kQueries>* parts, int count) {
  const int lanes = static_cast<int>(hn::Lanes(F32()));
  const int head_size = call.shape.head_size;
  const WeightLayout& layout = parts->rows->layout;
  const int groups = DimensionGroups(head_size);
  const int query_stride = groups * kQuadLanes;
  float* scaled = call.scratch + layout.scratch();
  int8_t* query = reinterpret_cast<int8_t*>(scaled + layout.stride);

  Quantized quantized[kMostParts][kQueries];
  for (int p = 0; p < count; ++p) {
    for (int q = 0; q < kQueries; ++q) {
      quantized[p][q] =
          QuantizeQuery(parts[p].rows->query[q] + parts[p].head.offset,
                        head_size, query + (p * kQueries + q) * query_stride);
      quantized[p][q].scale *= call.scale;
    }
  }
  // Only a head's first rows prefetch, for all.
  const int next_tiles =
      parts->rows->first ? PaddedKeys(call.next_keys) / kTileTokens : 0;
  ForBlocks(
      parts, count, BlockKeys(Int8Head<const char>::KeyBytes(head_size)),
      kTileTokens, [&](int p, const KeyRange& tiles) TRIVIUM_INLINE_LAMBDA {
        const HeadRows& head = parts[p].head;
        const int fetch = parts[p].rows->first ? next_tiles : 0;
        for (int key = tiles.begin; key < tiles.end; key += kTileTokens) {
          const Int8Head<const char> tile(
              call.shape, call.tiles[key / kTileTokens], head.head);
          const int t = (key - parts[p].rows->tiles.begin) / kTileTokens;
          if (t < fetch) {
            FetchInt8Keys(call.shape, call.next_tiles[t], head.head);
          }
          for (int lane = 0; lane < kTileTokens; lane += lanes) {
            ScoreTokens<kVnni, kQueries>(
                tile, lane, Quads(head_size),
                query + p * kQueries * query_stride, query_stride, quantized[p],
                head.weights + (key - layout.origin) + lane, layout.stride);
          }
        }
      });
  float inverse[kMostParts][kQueries], scale[kMostParts][kQueries];
  for (int p = 0; p < count; ++p) {
    Softmax(parts[p], inverse[p]);
    for (int q = 0; q < kQueries; ++q) {
      scale[p][q] = inverse[p][q] * QuantizeWeights(call, parts[p], q, scaled);
    }
  }
  const int together = PartsOfHead<kQueries>(count);
  for (int p = 0; p < count; p += together) {
    if (call.shape.values_are_keys) {
      for (int quad = 0; quad < Quads(head_size); ++quad) {
        for (int i = p; i < p + together; ++i) {
          WeighKeys(call, parts[i], quad, scale[i]);
        }
      }
      continue;
    }
    const auto weigh = [&](int group, int lane, auto at_once) HWY_ATTR {
      constexpr int kGroups = decltype(at_once)::value;
      HWY_ALIGN int32_t sums[kMostParts][kQueries * kGroups * 2 * kQuadLanes];
      constexpr size_t kBytes = kTileTokens * kGroups * kQuadLanes;
      ForBlocks(parts + p, together, BlockKeys(kBytes), kWholeBlock,
                [&](int i, const KeyRange& tiles) TRIVIUM_INLINE_LAMBDA {
                  WeighValues<kVnni, kQueries, kGroups>(call, parts[p + i],
                                                        tiles, group, lane,
                                                        scale[p + i], sums[i]);
                });
    };
    for (int lane = 0; lane < kQuadLanes; lane += lanes) {
      int group = 0;
      if constexpr (kQueries == 1) {  // more registers are free
        for (; group + 4 <= groups; group += 4) {
          weigh(group, lane, Constant<4>());
        }
      }
      for (; group + 2 <= groups; group += 2) weigh(group, lane, Constant<2>());
      if (group < groups) weigh(group, lane, Constant<1>());
    }
    const int head = parts[p].head.head;
    const int tiles =
        (parts->rows->tiles.end - parts->rows->tiles.begin) / kTileTokens;
    for (int t = tiles; t < next_tiles; ++t) {
      FetchInt8Keys(call.shape, call.next_tiles[t], head);
    }
    for (int t = 0; t < next_tiles; ++t) {
      FetchInt8Values(call.shape, call.next_tiles[t], head,
                      std::min(kTileTokens, call.next_keys - t * kTileTokens));
    }
  }
  if (call.weights != nullptr) {
    for (int p = 0; p < count; ++p) Normalize(parts[p], inverse[p]);
  }
}

template <bool kVnni>
HWY_INLINE void AttendVnni(const AttentionCall& call) {
  ForRowsAndHeads(call, [&](const auto* parts, int count) HWY_ATTR {
    AttendParts<kVnni>(call, parts, count);
  });
}

void AttendBytes(const AttentionCall& call, bool vnni) {
  if (HWY_TARGET == HWY_AVX3 && vnni) {
    AttendVnni<true>(call);
  } else {
    AttendVnni<false>(call);
  }
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(AttendBytes);

void AttendInt8(const AttentionCall& call) {
  HWY_DYNAMIC_DISPATCH(AttendBytes)(call, ActiveIsa() >= Isa::kAvx512Vnni);
}

}  // namespace trivium
#endif  // HWY_ONCE
