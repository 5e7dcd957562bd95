#ifndef TRIVIUM_MODEL_FAMILIES_SIZES_H_
#define TRIVIUM_MODEL_FAMILIES_SIZES_H_

namespace trivium {

// The largest sizes that a config.json may name: far beyond any real model, and
// small enough that the product of two fits into 64 bits.
inline constexpr int kMaxLayers = 1000;
inline constexpr int kMaxExperts = 1 << 10;
inline constexpr int kMaxWidth = 1 << 20;
inline constexpr int kMaxVocabulary = 1 << 26;
inline constexpr int kMaxPositions = 1 << 24;

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_SIZES_H_
