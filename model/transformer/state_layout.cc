#include "model/transformer/state_layout.h"

#include <algorithm>
#include <cassert>

namespace trivium {
namespace {

constexpr size_t kAlignment = 64;

size_t Aligned(size_t floats) {
  const size_t bytes = floats * sizeof(float);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

size_t ChunkBytes(const StateShape& shape, int chunk) {
  const int begin = chunk * StateShape::kChannelsTogether;
  const int count =
      std::min(StateShape::kChannelsTogether, shape.channels - begin);
  return Aligned(static_cast<size_t>(shape.kept) * count);
}

size_t PanelBytes(const StateShape& shape) {
  return Aligned(static_cast<size_t>(shape.rows) * kStateColumns);
}

}  // namespace

StateLayout::StateLayout(std::span<const StateShape> layers,
                         size_t block_bytes) {
  assert(block_bytes >= LargestPiece(layers));
  size_t used = block_bytes;  // of the last block
  const auto place = [&](size_t bytes) {
    if (used + bytes > block_bytes) {
      ++blocks_;
      used = 0;
    }
    const Place at = {blocks_ - 1, used};
    used += bytes;
    return at;
  };
  for (const StateShape& shape : layers) {
    Layer& layer = layers_.emplace_back();
    for (int chunk = 0; chunk < shape.chunks(); ++chunk) {
      layer.chunks.push_back(place(ChunkBytes(shape, chunk)));
    }
    layer.panels_a_head = shape.panels();
    for (int i = 0; i < shape.heads * shape.panels(); ++i) {
      layer.panels.push_back(place(PanelBytes(shape)));
    }
  }
}

size_t StateLayout::LargestPiece(std::span<const StateShape> layers) {
  size_t most = 0;
  for (const StateShape& shape : layers) {
    if (shape.channels > 0) most = std::max(most, ChunkBytes(shape, 0));
    if (shape.heads > 0) most = std::max(most, PanelBytes(shape));
  }
  return most;
}

}  // namespace trivium
