#ifndef TRIVIUM_MODEL_TRANSFORMER_LAYER_H_
#define TRIVIUM_MODEL_TRANSFORMER_LAYER_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/transformer/description.h"
#include "model/transformer/linear.h"
#include "model/transformer/parts.h"
#include "model/transformer/smoothing.h"

namespace trivium {

// A norm's parameters, [d_model] each.
struct Norm {
  NormTensors::Kind kind = NormTensors::Kind::kLayer;
  AlignedVector<float> gamma;
  AlignedVector<float> beta;  // or empty
  float epsilon = 1e-5f;

  static Norm Create(const NormTensors& tensors, float epsilon);
  int64_t bytes() const {
    return static_cast<int64_t>((gamma.size() + beta.size()) * sizeof(float));
  }

  // y = norm(x); y may be x. Returns the range of y.
  Range Apply(const float* x, float* y) const {
    return Add({.f32 = x, .n = static_cast<int>(gamma.size())}, nullptr, y);
  }
  // y = norm(x + residual), or of x alone where that is null; y may be
  // residual. Returns the range of y.
  Range Add(const ProductRow& x, const float* residual, float* y) const {
    if (kind == NormTensors::Kind::kRms) {
      return AddRmsNormRow(x, residual, gamma.data(), epsilon, y);
    }
    return AddNormRow(x, residual, gamma.data(),
                      beta.empty() ? nullptr : beta.data(), epsilon, y);
  }
};

// As SublayerNorms.
struct Norms {
  std::optional<Norm> before, of_output, after;

  static Norms Create(const SublayerNorms& norms, float epsilon);
  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_before, of_of_output, of_after] = *this;
    VisitParts(f, of_before, of_of_output, of_after);
  }
};

// The packed weights of one attention sublayer.
struct Attention {
  AttentionGeometry geometry;
  // Queries, keys and values of the same rows, [query_width + 2 kv_width,
  // d_model]; of cross-attention queries alone, for its keys and values are
  // computed once a source, see cross_key_value in transformer.h.
  Linear projection;
  Linear output;  // [d_model, query_width]
  Norms norms;

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_geometry, of_projection, of_output, of_norms] = *this;
    VisitParts(f, of_projection, of_output, of_norms);
  }
};

// The packed weights of one encoder or decoder layer.
struct Layer {
  Attention self_attention;
  std::optional<Attention> cross_attention;
  Linear up;    // [ffn, d_model], or gate and up, [2 ffn, d_model]
  Linear down;  // [d_model, ffn]
  Norms feed_forward_norms;
  Activation activation = Activation::kNone;

  bool gated() const { return up.out() > down.in(); }
  static absl::StatusOr<Layer> Create(const LayerDescription& description,
                                      const StackDescription& stack,
                                      const Formats& formats);
  // Packs anew what was seen to read something, with factors for that.
  absl::Status Smooth(const LayerDescription& description,
                      const Formats& formats, const InputMaxima& maxima);
  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_self_attention, of_cross_attention, of_up, of_down,
                 of_feed_forward_norms, of_activation] = *this;
    VisitParts(f, of_self_attention, of_cross_attention, of_up, of_down,
               of_feed_forward_norms, of_activation);
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_LAYER_H_
