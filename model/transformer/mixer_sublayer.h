#ifndef TRIVIUM_MODEL_TRANSFORMER_MIXER_SUBLAYER_H_
#define TRIVIUM_MODEL_TRANSFORMER_MIXER_SUBLAYER_H_

#include <span>

#include "absl/status/status.h"
#include "model/kernels/buffer.h"
#include "model/transformer/linear.h"
#include "model/transformer/mixer.h"
#include "model/transformer/rows.h"
#include "model/transformer/state_layout.h"
#include "model/transformer/workspace.h"

namespace trivium {

// Consecutive rows of one hypothesis, and its state.
struct StateGroup {
  int first = 0;  // index of the first row
  int rows = 0;
  int position = 0;             // of the first row; the state is after so many
  const int* blocks = nullptr;  // of the state, which is updated
  // States to save on the way, each after one of the rows.
  std::span<const SavedState> saved;
};

struct MixerTask {
  const Mixer& weights;
  const Norms& norms;
  int layer = 0;                       // index in the stack
  std::span<const StateGroup> groups;  // all rows, in order
  StateMemory states;
  const Linear* reader = nullptr;  // see Rows
};

// The sublayer of MixerDescription. Its products process the rows of all
// sequences together. Convolutions and states process the tokens of each
// sequence one by one, in order, so a row's bits do not depend on how a prompt
// was cut into steps. Threads divide sequences, and the channels or heads of
// each. Each worker has one.
class MixerSublayer {
 public:
  absl::Status Run(const MixerTask& task, Rows* rows, Workspace* workspace);

 private:
  // Fills convolved_ for a chunk of channels of a group, and moves the state
  // on.
  void Convolve(const MixerTask& task, const StateGroup& group, int chunk);
  // Makes of a convolved row what its heads read.
  void PrepareRow(const Mixer& weights, int row);
  // Fills rates_ and selected_ of all rows; kSelectiveScan only.
  absl::Status Select(const Mixer& weights, int rows, Workspace* workspace);
  // Fills mixed_ for a panel of a group, and moves the state on;
  // kSelectiveScan only.
  void Scan(const MixerTask& task, const StateGroup& group, int panel);
  // Fills mixed_ for a panel of a head of a group, and moves the state on.
  void Mix(const MixerTask& task, const StateGroup& group, int head, int panel);
  // Returns what the output product reads of a row, [values].
  const float* FinishMixed(const Mixer& weights, int row);

  // Row `row` of the first product, and of its columns that are convolved.
  float* Product(const Mixer& weights, int row);
  float* Channels(const Mixer& weights, int row);

  Buffer<float> products_;   // [rows, width of the projection]
  Buffer<float> convolved_;  // [rows, channels]
  Buffer<float> decays_;     // [rows, heads]
  Buffer<float> shares_;     // [rows, heads]
  Buffer<float> mixed_;      // [rows, values]
  // kSelectiveScan only:
  Operand selection_input_{OperandType::kF32};  // [rows, values]
  Operand rate_input_{OperandType::kF32};       // [rows, rate_width]
  Buffer<float> selected_;                      // keys, queries; [rows, 2 keys]
  Buffer<float> rates_;                         // [rows, values]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_MIXER_SUBLAYER_H_
