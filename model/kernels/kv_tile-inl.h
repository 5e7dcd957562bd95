// How keys and values lie in a tile, for the kernels that read and write it.
// Compiled once for each target, hence the toggled guard.
//
// A tile is {keys, values}. Both keep numbers in pairs, so that one vector of
// 32-bit lanes gives two vectors of floats without shuffles; a bf16 pair is one
// lane (the first in its low half), an f32 pair two vectors.
//   keys    [heads][pairs of dimensions (2i, 2i + 1)][kTileTokens lanes]
//   values  [heads][kTileTokens][groups of 32 dimensions]
//           [16 lanes: (j, j + 16)]
// Dimensions are padded to whole pairs and groups.
#if defined(TRIVIUM_MODEL_KERNELS_KV_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIVIUM_MODEL_KERNELS_KV_TILE_INL_H_
#undef TRIVIUM_MODEL_KERNELS_KV_TILE_INL_H_
#else
#define TRIVIUM_MODEL_KERNELS_KV_TILE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "model/kernels/kv_tile.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kPairLanes = 16;
constexpr int kGroup = 2 * kPairLanes;
static_assert(kPairLanes == kTileTokens);

constexpr int Pairs(int head_size) { return (head_size + 1) / 2; }
constexpr int Groups(int head_size) {
  return (head_size + kGroup - 1) / kGroup;
}

// Numbers (of type T) of one head's keys, and values, in a tile.
constexpr int KeyNumbers(int head_size) {
  return Pairs(head_size) * 2 * kTileTokens;
}
constexpr int ValueNumbers(int head_size) {
  return kTileTokens * Groups(head_size) * kGroup;
}

// The pairs whose first lane is `lane` of a row of kPairLanes at p.
HWY_INLINE void LoadPairs(F32 d, const float* p, int lane, hn::Vec<F32>& first,
                          hn::Vec<F32>& second) {
  first = hn::LoadU(d, p + lane);
  second = hn::LoadU(d, p + kPairLanes + lane);
}
HWY_INLINE void LoadPairs(F32 d, const uint16_t* p, int lane,
                          hn::Vec<F32>& first, hn::Vec<F32>& second) {
  const hn::RebindToUnsigned<F32> d32;
  const auto both = hn::LoadU(d32, reinterpret_cast<const uint32_t*>(p) + lane);
  first = hn::BitCast(d, hn::ShiftLeft<16>(both));
  second = hn::BitCast(d, hn::And(both, hn::Set(d32, 0xffff0000u)));
}

// A pair as a tile has it: the second number's vector lies one row of lanes
// after the first's, or in the high half of the same lanes.
HWY_INLINE void StorePairs(F32 d, hn::Vec<F32> first, hn::Vec<F32> second,
                           float* p, int lane) {
  hn::StoreU(first, d, p + lane);
  hn::StoreU(second, d, p + kPairLanes + lane);
}
HWY_INLINE void StorePairs(F32 d, hn::Vec<F32> first, hn::Vec<F32> second,
                           uint16_t* p, int lane) {
  const hn::RebindToUnsigned<F32> d32;
  const auto high = hn::And(RoundedToBf16(d, second), hn::Set(d32, 0xffff0000));
  const auto low = hn::ShiftRight<16>(RoundedToBf16(d, first));
  hn::StoreU(hn::Or(high, low), d32, reinterpret_cast<uint32_t*>(p) + lane);
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TRIVIUM_MODEL_KERNELS_KV_TILE_INL_H_
