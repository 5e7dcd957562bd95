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
// whatever sequences they belong to, and what they read.
//
// A sublayer f (attention, feed-forward) makes `input` what it reads with
// Begin() and ends each row with Add():
//   x = after(x + of_output(f(before(x))))
// where it may have each of the norms or not.
// `reader`, wherever it is asked for, is the linear layer that will read
// `input`, whose smoothing it gets; null: whoever reads the last layer's
// states.
class Rows {
 public:
  Rows(const Formats& formats, int d_model);

  // Makes room for `rows` rows.
  void Resize(int rows);
  int rows() const { return rows_; }
  float* x(int row) { return x_.data() + static_cast<size_t>(row) * d_model_; }

  // Leaves the rows in `kept`, ascending, as the first ones.
  void Keep(std::span<const int> kept);

  // After x was filled: applies the norm, if any.
  void Embedded(const std::optional<Norm>& embedding_norm,
                Workspace* workspace);
  // Makes `input` what the next sublayer reads, and tells `experts`, if any.
  void Begin(const Norms& norms, const Linear* reader, Workspace* workspace,
             ExpertRunner* experts = nullptr);
  // x of a row after a sublayer whose output is `product` [d_model]; `scratch`
  // has room for as many floats. Threads may add different rows at once.
  void Add(int row, const ProductRow& product, const Norms& norms,
           const Linear* reader, float* scratch);
  // After the last layer: applies the final norm, if any, and makes `input`
  // the result.
  void Finish(const std::optional<Norm>& final_norm, Workspace* workspace);

  // The feed-forward sublayer: W_down activation(W_up x), or experts of it.
  absl::Status FeedForward(const Layer& layer, const Linear* reader,
                           Workspace* workspace);

  // What readers read goes to `maxima`, too, with a workspace of one thread.
  void Observe(InputMaxima* maxima) { maxima_ = maxima; }

  Operand input;  // what linear layers read, [rows, d_model]
  Operand other;  // a second operand: attention's output, the hidden layer

 private:
  absl::Status RunExperts(const Layer& layer, const Linear* reader,
                          Workspace* workspace);
  // `x` may be `scratch` [d_model].
  void SetInput(int row, const float* x, Range range, const Linear* reader,
                float* scratch);
  // Calls f(row, scratch [d_model]) for all rows, on the workspace's threads.
  template <typename F>
  void ForEach(Workspace* workspace, const F& f);

  int d_model_;
  int rows_ = 0;
  // Whether the sublayer under way leaves x in `input` for the next one.
  bool input_is_x_ = false;
  Buffer<float> x_;
  ExpertRunner experts_;
  InputMaxima* maxima_ = nullptr;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ROWS_H_
