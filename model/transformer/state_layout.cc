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

StateLayout::StateLayout(std::span<const StateShape> layers, size_t block_bytes)
    : block_bytes_(block_bytes) {
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
    layer.panel_bytes = PanelBytes(shape);
    const int panels = shape.heads * shape.panels();
    if (panels == 0) continue;
    layer.first_panel = place(layer.panel_bytes);
    const Place last = PanelAt(layer, panels - 1);
    blocks_ = last.block + 1;
    used = last.offset + layer.panel_bytes;
  }
}

StateLayout::Place StateLayout::PanelAt(const Layer& layer, int i) const {
  const Place& first = layer.first_panel;
  const auto index = static_cast<size_t>(i);
  const size_t beside = (block_bytes_ - first.offset) / layer.panel_bytes;
  if (index < beside) {
    return {first.block, first.offset + index * layer.panel_bytes};
  }
  const size_t a_block = block_bytes_ / layer.panel_bytes;
  const size_t later = index - beside;
  return {first.block + 1 + static_cast<int>(later / a_block),
          later % a_block * layer.panel_bytes};
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
