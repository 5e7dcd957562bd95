#ifndef TRIVIUM_MODEL_TRANSFORMER_EXPERTS_H_
#define TRIVIUM_MODEL_TRANSFORMER_EXPERTS_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/kernels/buffer.h"
#include "model/transformer/layer.h"
#include "model/transformer/linear.h"

namespace trivium {

// Runs a mixture of experts: a feed-forward that sends each row to a few of
// many experts. The rows of an expert are gathered, so that its weights are
// read once per step, whichever sequences the rows belong to. A row's result
// depends on that row alone: the outputs of its experts are added in the order
// of the experts' numbers. Threads split the experts. Each worker has one.
//
//   experts.Resize(rows, layer.feed_forward);
//   experts.SetInput(row, x);                      // for each row
//   experts.Run(layer.feed_forward, input, &workspace);
//   experts.Output(row, y)                         // for each row
//
// It does not run the expert that all rows share. AddToShared applies that
// expert's gate to its output and adds the others'; call it in place of Output.
class ExpertRunner {
 public:
  explicit ExpertRunner(const Formats& formats)
      : router_input_(OperandType::kF32),
        gathered_(formats),
        hidden_(formats) {}

  void Resize(int rows, const FeedForward& weights);
  // Sets the router's input x [d_model] of a row. Threads may set different
  // rows concurrently.
  void SetInput(int row, const float* x) { router_input_.Set(row, x); }
  // `input` holds the same rows in the format that experts read.
  absl::Status Run(const FeedForward& weights, const Operand& input,
                   Workspace* workspace);
  // Sets y [d_model] to the weighted sum of the outputs of the row's experts,
  // plus the bias.
  void Output(int row, float* y) const;
  // Multiplies y [d_model], the shared expert's output, by the row's gate, if
  // there is one, and adds what Output computes.
  void AddToShared(int row, float* y) const;

 private:
  // One of the experts that a row goes to.
  struct Choice {
    int expert;
    float weight;
    int place;  // index of the gathered row
  };

  // Calls f(expert, first gathered row, end, a thread's scratch) for each
  // expert that has rows.
  template <typename F>
  absl::Status ForEachExpert(const FeedForward& weights, Workspace* workspace,
                             const F& f);
  absl::Status Choose(const FeedForward& weights, Workspace* workspace);
  // Writes the choices of one row, sorted by expert.
  void ChooseRow(const Router& router, const float* logits,
                 Choice* choices) const;
  // Multiplies the weights by their factors, and sorts the choices by expert.
  void FinishChoices(const Router& router, Choice* choices) const;
  // Writes the experts with the greatest scores, best first; of equal ones the
  // first.
  void ChooseBest(std::span<const float> scores, Choice* choices) const;
  // Adds the weighted outputs of the row's experts.
  void AddChoices(int row, float* y) const;
  // Copies the rows of `input` to gathered_, grouped by expert.
  void Gather(const Operand& input);

  int rows_ = 0;
  int chosen_ = 0;
  int d_model_ = 0;
  const float* bias_ = nullptr;  // [d_model], or null
  Operand router_input_;         // [rows, d_model]
  std::vector<float> gates_;     // of the shared expert, [rows] or empty
  std::vector<Choice> choices_;  // [rows, chosen]
  std::vector<int> begin_;  // first gathered row of each expert, [experts + 1]
  Operand gathered_;        // [rows x chosen, d_model]
  Operand hidden_;          // [rows x chosen, inner]
  Buffer<float> output_;    // [rows x chosen, d_model]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_EXPERTS_H_
