#ifndef TRIVIUM_MODEL_TRANSFORMER_ENCODER_H_
#define TRIVIUM_MODEL_TRANSFORMER_ENCODER_H_

#include <deque>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/transformer/attention.h"
#include "model/transformer/head_runner.h"
#include "model/transformer/input_embedding.h"
#include "model/transformer/rows.h"
#include "model/transformer/sequences.h"
#include "model/transformer/transformer.h"

namespace trivium {

// Runs sources through encoder layers as packed rows: every product sees the
// tokens of all sources at once, without padding; only attention looks at one
// source at a time. One a worker.
class Encoder {
 public:
  // `weights` has an encoder and outlives this.
  explicit Encoder(const Transformer& weights);

  // Advances all `sources`, which have the same layers_done, through the next
  // `layers` layers. Those that finish the last one become ready; their cross
  // keys and values go to their blocks of `cache` (null without a decoder).
  absl::Status Run(std::span<SourceState* const> sources, int layers,
                   KvCache* cache, Workspace* workspace);

  // What linear layers read goes to `maxima`, too.
  void Observe(InputMaxima* maxima) { rows_.Observe(maxima); }

 private:
  absl::Status Load(std::span<SourceState* const> sources,
                    Workspace* workspace);
  void Arrange(std::span<SourceState* const> sources);
  absl::Status SelfAttention(int layer, Workspace* workspace);
  // After the last attention: drops rows that nothing reads any more.
  void KeepRead(std::span<SourceState* const> sources);
  // Where they are asked for, keeps the rows as the hidden states of `layer`,
  // see SourceOptions.
  void KeepHidden(std::span<SourceState* const> sources, int layer);
  // The row of sources[s]'s token `position`.
  float* Row(size_t s, int position);
  absl::Status CrossKeyValues(std::span<SourceState* const> sources,
                              KvCache* cache, Workspace* workspace);

  const Transformer& weights_;
  const Stack& stack_;
  Rows rows_;
  InputEmbedding embedding_;
  std::vector<InputEmbedding::Token> tokens_;  // of all sources
  std::vector<int> positions_;                 // of one's tokens
  AttentionSublayer attention_;
  HeadRunner heads_;
  std::vector<int> source_of_row_;      // index in `sources`
  std::vector<int> position_of_row_;    // in its source
  std::vector<int> first_row_;          // of each source
  std::vector<int> kept_;               // rows
  std::vector<AttentionGroup> groups_;  // of each source
  std::vector<KvPlace> places_;         // of each row
  RotaryTurns turns_;
  std::vector<int> blocks_;         // 0, 1, 2...
  std::deque<AttentionMaps> maps_;  // of sources that want them
  Buffer<char> tiles_;              // [blocks] keys and values of one layer
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ENCODER_H_
