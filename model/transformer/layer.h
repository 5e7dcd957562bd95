#ifndef TRIVIUM_MODEL_TRANSFORMER_LAYER_H_
#define TRIVIUM_MODEL_TRANSFORMER_LAYER_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/transformer/description.h"
#include "model/transformer/linear.h"
#include "model/transformer/phase_timer.h"
#include "model/transformer/smoothing.h"

namespace trivium {

// Layer normalization's parameters, [d_model] each.
struct Norm {
  AlignedVector<float> gamma;
  AlignedVector<float> beta;
  float epsilon = 1e-5f;

  static Norm Create(const NormTensors& tensors, float epsilon);

  // y = norm(x); y may be x. Returns the range of y.
  Range Apply(const float* x, float* y) const {
    return Add({.f32 = x, .n = static_cast<int>(gamma.size())}, nullptr, y);
  }
  // y = norm(x + residual); y may be residual. Returns the range of y.
  Range Add(const ProductRow& x, const float* residual, float* y) const {
    return AddNormRow(x, residual, gamma.data(), beta.data(), epsilon, y);
  }
};

// The packed weights of one encoder or decoder layer.
struct Layer {
  Linear query_key_value;  // [3 d_model, d_model]
  Linear self_output;
  Norm self_norm;
  // Decoder layers of encoder-decoder models; their keys and values are
  // computed once a source, see CrossKeyValue in transformer_weights.h.
  std::optional<Linear> cross_query;
  std::optional<Linear> cross_output;
  Norm cross_norm;
  Linear up, down;
  Norm feed_forward_norm;
  Activation activation = Activation::kNone;

  static absl::StatusOr<Layer> Create(const LayerTensors& tensors,
                                      const StackDescription& stack,
                                      Arithmetic arithmetic);
  // Packs anew what reads norms, with factors for what it was seen to read.
  absl::Status Smooth(const LayerTensors& tensors, Arithmetic arithmetic,
                      const InputMaxima& maxima);
  int64_t bytes() const;
  bool batch_invariant() const;
};

// The packed rows [rows, d_model] that go through a stack of layers together,
// whatever sequences they belong to, and the scratch of one worker.
//
// A sublayer f (attention, feed-forward) reads `input` and ends each row with
// Add(); norms stand where the description puts them:
//   after (the original Transformer):  x = norm(x + f(x))
//   before (GPT-2):                    x = x + f(norm(x))
// `reader`, wherever it is asked for, is the linear layer that will read
// `input`, whose smoothing it gets; null: whoever reads the last layer's
// states.
class Rows {
 public:
  Rows(Arithmetic arithmetic, NormPlacement placement, int d_model);

  // Makes room for `rows` rows.
  void Resize(int rows);
  int rows() const { return rows_; }
  float* x(int row) { return x_.data() + static_cast<size_t>(row) * d_model_; }

  // Leaves the rows in `kept`, ascending, as the first ones.
  void Keep(std::span<const int> kept);

  // After x was filled.
  void Embedded(const std::optional<Norm>& embedding_norm,
                const Linear* reader);
  // Makes `input` what the next sublayer reads.
  void Begin(const Norm& norm, const Linear* reader);
  // x of a row after a sublayer whose output is `product` [d_model].
  void Add(int row, const ProductRow& product, const Norm& norm,
           const Linear* reader);
  // After the last layer: applies the final norm, if any, and makes `input`
  // the result.
  void Finish(const std::optional<Norm>& final_norm);

  // The feed-forward sublayer: x + W_down activation(W_up x).
  absl::Status FeedForward(const Layer& layer, const Linear* reader,
                           LinearScratch* scratch);

  // What readers read goes to `maxima`, too.
  void Observe(InputMaxima* maxima) { maxima_ = maxima; }

  Operand input;  // what linear layers read, [rows, d_model]
  Operand other;  // a second operand: attention's output, the hidden layer

 private:
  // `x` may be normal_.
  void SetInput(int row, const float* x, Range range, const Linear* reader);

  NormPlacement placement_;
  int d_model_;
  int rows_ = 0;
  Buffer<float> x_;
  AlignedVector<float> normal_;  // one row
  InputMaxima* maxima_ = nullptr;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_LAYER_H_
