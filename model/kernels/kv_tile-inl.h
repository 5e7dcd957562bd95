// The layout of keys and values in a tile, for the kernels that read and write
// it. Compiled once for each target, hence the toggled guard.
//
// A tile is {keys, values}. Both store the numbers that a dot product adds up
// as pairs. A bf16 pair is one lane of 32 bits (the first number in its low
// half): one instruction multiplies 16 pairs, or one load yields two vectors of
// floats without shuffles. An f32 pair is in two vectors, one after the other.
//   keys    [heads][pairs of dimensions][kTileTokens lanes]
//   values  [heads][pairs of tokens][groups of 16 dimensions][16 lanes]
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

// Pairs in a group, and numbers in a group.
constexpr int kPairLanes = 16;
constexpr int kGroupNumbers = 2 * kPairLanes;
static_assert(kPairLanes == kTileTokens);  // a group of keys covers all tokens

constexpr int Pairs(int size) { return (size + 1) / 2; }
constexpr int Groups(int head_size) {
  return (head_size + kPairLanes - 1) / kPairLanes;
}

// Count of numbers (of type T) of one head's keys, and of its values, in a
// tile.
constexpr int KeyNumbers(int head_size) {
  return Pairs(head_size) * kGroupNumbers;
}
constexpr int ValueNumbers(int head_size) {
  return Pairs(kTileTokens) * Groups(head_size) * kGroupNumbers;
}

// Loads one vector of pairs of the group at p, from pair `lane` on: their first
// and their second numbers.
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

// Stores v as the first (`which` 0) or second (1) numbers of these pairs;
// leaves the other numbers unchanged.
HWY_INLINE void StoreOfPairs(F32 d, hn::Vec<F32> v, int which, float* p,
                             int lane) {
  hn::StoreU(v, d, p + which * kPairLanes + lane);
}
HWY_INLINE void StoreOfPairs(F32 d, hn::Vec<F32> v, int which, uint16_t* p,
                             int lane) {
  const hn::RebindToUnsigned<F32> d32;
  uint32_t* pairs = reinterpret_cast<uint32_t*>(p) + lane;
  const auto old = hn::LoadU(d32, pairs);
  const auto high = hn::Set(d32, 0xffff0000u);
  const auto rounded = RoundedToBf16(d, v);
  hn::StoreU(which == 0
                 ? hn::Or(hn::And(old, high), hn::ShiftRight<16>(rounded))
                 : hn::Or(hn::AndNot(high, old), hn::And(rounded, high)),
             d32, pairs);
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TRIVIUM_MODEL_KERNELS_KV_TILE_INL_H_
