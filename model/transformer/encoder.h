#ifndef TRIVIUM_MODEL_TRANSFORMER_ENCODER_H_
#define TRIVIUM_MODEL_TRANSFORMER_ENCODER_H_

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/transformer/attention.h"
#include "model/transformer/head_runner.h"
#include "model/transformer/input_embedding.h"
#include "model/transformer/rows.h"
#include "model/transformer/second_reading.h"
#include "model/transformer/sequences.h"
#include "model/transformer/transformer.h"

namespace trivium {

// Runs sources through encoder layers as packed rows. Every product processes
// the tokens of all sources together, without padding; only attention processes
// one source at a time. Each worker has one.
class Encoder {
 public:
  // `weights` must have an encoder and outlive this object.
  explicit Encoder(const Transformer& weights);

  // Advances all `sources`, which must have the same layers_done, through the
  // next `layers` layers. Sources that finish the last layer become ready;
  // their cross keys and values are written to their blocks of `cache` (null
  // without a decoder).
  absl::Status Run(std::span<SourceState* const> sources, int layers,
                   KvCache* cache, Workspace* workspace);

  // Records what linear layers read in `maxima`.
  void Observe(InputMaxima* maxima) {
    rows_.Observe(maxima);
    if (inner_.has_value()) inner_->Observe(maxima);
  }

 private:
  absl::Status Load(std::span<SourceState* const> sources,
                    Workspace* workspace);
  void Arrange(std::span<SourceState* const> sources);
  absl::Status RunLayer(int layer, std::span<SourceState* const> sources,
                        Workspace* workspace);
  absl::Status SelfAttention(int layer, Rows* rows, Workspace* workspace);
  // Fills `near_` with what a layer's convolution reads, before the layer
  // changes it.
  void GatherNear(const Convolution& convolution, Workspace* workspace);
  // Ends the layer. `reader` reads the rows next.
  absl::Status AddConvolution(const Convolution& convolution,
                              const Linear* reader, Workspace* workspace);
  // Drops the rows that nothing reads after the last attention.
  void KeepRead(std::span<SourceState* const> sources);
  // Stores the rows as the hidden states of `layer` for the sources that
  // request them, see SourceOptions.
  void KeepHidden(std::span<SourceState* const> sources, int layer);
  // Returns the row of token `position` of sources[s].
  float* Row(size_t s, int position);
  // Computes the heads, of the states or of a second reading.
  absl::Status RunHeads(std::span<SourceState* const> sources,
                        Workspace* workspace);
  absl::Status CrossKeyValues(std::span<SourceState* const> sources,
                              KvCache* cache, Workspace* workspace);

  const Transformer& weights_;
  const Stack& stack_;
  Rows rows_;
  std::optional<Rows> inner_;  // of layers with a bottleneck
  Buffer<float> values_;       // that are given to attention, [rows, kv_width]
  Operand near_;               // [rows, d_model x width of a convolution]
  InputEmbedding embedding_;
  std::vector<InputEmbedding::Token> tokens_;  // of all sources
  std::vector<int> positions_;                 // of one source's tokens
  AttentionSublayer attention_;
  HeadRunner heads_;
  std::optional<SecondReading> second_reading_;
  std::vector<int> source_of_row_;      // index in `sources`
  std::vector<int> position_of_row_;    // in its source
  std::vector<int> first_row_;          // of each source
  std::vector<int> kept_;               // rows
  std::vector<AttentionGroup> groups_;  // of each source
  std::vector<KvPlace> places_;         // of each row
  RotaryTurns turns_;
  std::vector<int> blocks_;         // 0, 1, 2...
  std::deque<AttentionMaps> maps_;  // of sources that request them
  Buffer<char> tiles_;              // keys and values of one layer, [blocks]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ENCODER_H_
