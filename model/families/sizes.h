#ifndef TRIVIUM_MODEL_FAMILIES_SIZES_H_
#define TRIVIUM_MODEL_FAMILIES_SIZES_H_

namespace trivium {

// The largest sizes that a config.json may name: beyond any real model, and
// small enough that the bytes of all weights together fit into 63 bits.
inline constexpr int kMaxLayers = 1000;
inline constexpr int kMaxExperts = 1 << 10;
// Experts of all layers together. Each has tensors of its own in memory.
inline constexpr int kMaxAllExperts = 1 << 17;
inline constexpr int kMaxWidth = 1 << 18;
inline constexpr int kMaxVocabulary = 1 << 26;
inline constexpr int kMaxPositions = 1 << 24;

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_SIZES_H_
