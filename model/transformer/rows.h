#ifndef TRIVIUM_MODEL_TRANSFORMER_ROWS_H_
#define TRIVIUM_MODEL_TRANSFORMER_ROWS_H_

#include <optional>
#include <span>

#include "absl/status/status.h"
#include "model/kernels/buffer.h"
#include "model/transformer/description.h"
#include "model/transformer/experts.h"
#include "model/transformer/layer.h"
#include "model/transformer/linear.h"
#include "model/transformer/smoothing.h"

namespace trivium {

// The packed rows [rows, d_model] that go through a stack of layers together,
// whichever sequences they belong to, and the operands that products read.
//
// A sublayer f (attention, feed-forward) calls Begin(), which fills `input`
// with what f reads, and ends each row with Add():
//   x = after(x + factor of_output(f(before(x))))   (or as SublayerNorms says)
// where each of the norms is optional. `reader` is always the linear layer that
// will read `input`, whose smoothing factors `input` gets; it is null for
// whoever reads the states of the last layer.
class Rows {
 public:
  Rows(const Formats& formats, int d_model);

  // Makes room for `rows` rows.
  void Resize(int rows);
  int rows() const { return rows_; }
  int d_model() const { return d_model_; }
  float* x(int row) { return x_.data() + Offset(row); }

  // Moves the rows listed in `kept`, ascending, to the front and drops all
  // others.
  void Keep(std::span<const int> kept);

  // Called after x is filled: applies the embedding norm, if any.
  void Embedded(const std::optional<Norm>& embedding_norm,
                Workspace* workspace);
  // Keeps a copy of x, the layer's input, for the feed-forward of a parallel
  // layer (LayerDescription::parallel). Called before attention changes x.
  void KeepLayerInput();
  // Fills `input` with what the next sublayer reads, and sets the router inputs
  // of `experts`, if given. Reads the kept layer input, if there is one, else
  // x.
  void Begin(const Norms& norms, const Linear* reader, Workspace* workspace,
             ExpertRunner* experts = nullptr);
  // Adds a sublayer's output `product` [d_model] to x of a row, with its norms.
  // `scratch` has room for d_model floats. Threads may add different rows
  // concurrently.
  void Add(int row, const ProductRow& product, const Norms& norms,
           const Linear* reader, float* scratch);
  // Called after the last layer: applies the final norm, if any, and fills
  // `input` with the result.
  void Finish(const std::optional<Norm>& final_norm, Workspace* workspace);

  // Runs the feed-forward sublayers: W_down activation(W_up x), or a mixture of
  // experts.
  absl::Status FeedForward(const Layer& layer, const Linear* reader,
                           Workspace* workspace);

  // Begins a layer with a narrower stream (BottleneckDescription): fills
  // `inner` with it, and the operand that its attention reads, and given
  // values, [rows, kv_width].
  absl::Status EnterBottleneck(const Layer& layer, Rows* inner, float* values,
                               Workspace* workspace);
  // Ends it: adds what `inner` has become.
  absl::Status LeaveBottleneck(const Layer& layer, Rows* inner,
                               const Linear* reader, Workspace* workspace);

  // Adds what a layer takes from its tokens' own inputs (TokenInputTensors),
  // `stride` floats apart.
  absl::Status AddTokenInput(const Layer& layer, const float* inputs,
                             size_t stride, Workspace* workspace);
  // Multiplies all rows by a layer's factor.
  void Multiply(float factor, Workspace* workspace);

  // Records what readers read in `maxima`; needs a workspace of one thread.
  void Observe(InputMaxima* maxima) { maxima_ = maxima; }

  Operand input;  // input of linear layers, [rows, d_model]
  // A second operand: attention's output or the hidden layer.
  Operand other;

 private:
  absl::Status RunDense(const trivium::FeedForward& weights, const Norms& norms,
                        const Linear* reader, Workspace* workspace);
  absl::Status RunExperts(const Layer& layer, const Linear* reader,
                          Workspace* workspace);
  // Runs experts with norms of their own, and leaves the sums in beside_.
  absl::Status RunBeside(const Layer& layer, Workspace* workspace);
  // Converts x to row `row` of `input`, with the reader's smoothing. `x` may be
  // `scratch` [d_model].
  void SetInput(int row, const float* x, Range range, const Linear* reader,
                float* scratch);
  size_t Offset(int row) const { return static_cast<size_t>(row) * d_model_; }
  // Calls f(row, scratch [d_model]) for all rows, on the workspace's threads.
  template <typename F>
  void ForEach(Workspace* workspace, const F& f);

  int d_model_;
  int rows_ = 0;
  // True if the current sublayer leaves x in `input` for the next one.
  bool input_is_x_ = false;
  Buffer<float> x_;
  Buffer<float> layer_input_;  // [rows, d_model]
  bool layer_input_kept_ = false;
  ExpertRunner experts_;
  Operand beside_input_;  // of experts with norms of their own, [rows, d_model]
  Buffer<float> beside_;  // their normalized sums, [rows, d_model]
  InputMaxima* maxima_ = nullptr;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ROWS_H_
