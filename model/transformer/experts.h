#ifndef TRIVIUM_MODEL_TRANSFORMER_EXPERTS_H_
#define TRIVIUM_MODEL_TRANSFORMER_EXPERTS_H_

#include <vector>

#include "absl/status/status.h"
#include "model/kernels/buffer.h"
#include "model/transformer/layer.h"
#include "model/transformer/linear.h"

namespace trivium {

// Runs a feed-forward whose rows go to a few of many experts each. The rows of
// an expert are gathered, so that its weights are read once an iteration,
// whoever the rows belong to; what a row becomes depends on that row alone, and
// its experts' outputs are added in the order of their numbers. Threads take
// experts each. One a worker.
//
//   experts.Resize(rows, layer.feed_forward);
//   experts.SetInput(row, x);                      // for each row
//   experts.Run(layer.feed_forward, input, &workspace);
//   experts.Output(row, y)                         // for each row
class ExpertRunner {
 public:
  explicit ExpertRunner(const Formats& formats)
      : router_input_(OperandType::kF32),
        gathered_(formats),
        hidden_(formats) {}

  void Resize(int rows, const FeedForward& weights);
  // What the router reads of a row, [d_model]; threads may set different rows
  // at once.
  void SetInput(int row, const float* x) { router_input_.Set(row, x); }
  // `input`: the same rows in the form that experts read.
  absl::Status Run(const FeedForward& weights, const Operand& input,
                   Workspace* workspace);
  // y [d_model] = what a row's experts made of it.
  void Output(int row, float* y) const;

 private:
  // One of a row's experts.
  struct Choice {
    int expert;
    float weight;
    int place;  // among the gathered rows
  };

  // Calls f(expert, first gathered row, end, a thread's scratch) for each
  // expert that has rows.
  template <typename F>
  absl::Status ForEachExpert(const FeedForward& weights, Workspace* workspace,
                             const F& f);
  absl::Status Choose(const FeedForward& weights, Workspace* workspace);
  // The choices of one row, by expert.
  void ChooseRow(const Router& router, const float* logits,
                 Choice* choices) const;
  // Gathers rows by expert.
  void Gather(const Operand& input);

  int rows_ = 0;
  int chosen_ = 0;
  int d_model_ = 0;
  Operand router_input_;         // [rows, d_model]
  std::vector<Choice> choices_;  // [rows, chosen]
  std::vector<int> begin_;       // [experts + 1] of each expert's gathered rows
  Operand gathered_;             // [rows x chosen, d_model]
  Operand hidden_;               // [rows x chosen, inner]
  Buffer<float> output_;         // [rows x chosen, d_model]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_EXPERTS_H_
