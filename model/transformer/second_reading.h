#ifndef TRIVIUM_MODEL_TRANSFORMER_SECOND_READING_H_
#define TRIVIUM_MODEL_TRANSFORMER_SECOND_READING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernels/buffer.h"
#include "model/kernels/kv_tile.h"
#include "model/transformer/attention.h"
#include "model/transformer/input_embedding.h"
#include "model/transformer/linear.h"
#include "model/transformer/rows.h"
#include "model/transformer/sequences.h"
#include "model/transformer/stack.h"

namespace trivium {

// The packed weights of a SecondReadingDescription.
struct SecondStack {
  Stack stack;
  // [layers] Keys, then values, of a layer's cross-attention, for an encoder
  // state: [2 kv_width, d_model].
  std::vector<Linear> cross_key_value;
  int32_t start_id = 0;

  static absl::StatusOr<SecondStack> Create(
      const SecondReadingDescription& description, Stack stack,
      const Formats& formats, Packing* packing);
  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_stack, of_cross_key_value, of_start_id] = *this;
    VisitParts(f, of_stack, of_cross_key_value, of_start_id);
  }
};

// Reads sources once more with a SecondStack. All tokens of a source are read
// at once, so nothing is kept from step to step: keys and values live in tiles
// that the next layer overwrites, as in the Encoder. A row's numbers depend on
// its source alone. Each worker has one.
class SecondReading {
 public:
  // `weights` must outlive this object.
  SecondReading(const SecondStack& weights, const Formats& formats);

  // The encoder's final states: what linear layers read of each row, the row's
  // index among the sources, and its position.
  struct FirstReading {
    const Operand& input;
    std::span<const int> source_of_row;
    std::span<const int> position_of_row;
  };
  // Reads those of `sources` whose logits are wanted; `first` must have all
  // their rows, and may have others.
  absl::Status Run(std::span<SourceState* const> sources,
                   const FirstReading& first, Workspace* workspace);

  // The state of a position of sources[s], which was read, [d_model].
  float* Row(size_t s, int position) {
    return rows_.x(first_row_[s] + position);
  }

 private:
  void Arrange(std::span<SourceState* const> sources);
  absl::Status Embed(std::span<SourceState* const> sources,
                     Workspace* workspace);
  absl::Status SelfAttention(int layer, Workspace* workspace);
  absl::Status CrossAttention(int layer, const FirstReading& first,
                              Workspace* workspace);
  // Makes room for the keys and values of a layer.
  KvTiles Tiles(const AttentionGeometry& geometry);

  const SecondStack& weights_;
  const Stack& stack_;
  const KvType kv_type_;
  Rows rows_;
  InputEmbedding embedding_;
  std::vector<InputEmbedding::Token> tokens_;
  AttentionSublayer attention_;
  RotaryTurns turns_;
  std::vector<int> first_row_;          // of each source; -1: not read
  std::vector<int> first_block_;        // likewise
  std::vector<KvPlace> places_;         // of each row
  std::vector<AttentionGroup> groups_;  // of each source that is read
  std::vector<int> blocks_;             // 0, 1, 2...
  Buffer<char> tiles_;                  // [blocks]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_SECOND_READING_H_
