#ifndef TRIVIUM_MODEL_TRANSFORMER_LAYER_H_
#define TRIVIUM_MODEL_TRANSFORMER_LAYER_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/transformer/description.h"
#include "model/transformer/f32_vector.h"
#include "model/transformer/linear.h"
#include "model/transformer/mixer.h"
#include "model/transformer/parts.h"
#include "model/transformer/smoothing.h"

namespace trivium {

class Packing;

// A norm's parameters, [d_model] each.
struct Norm {
  NormTensors::Kind kind = NormTensors::Kind::kLayer;
  AlignedVector<float> gamma;
  AlignedVector<float> beta;  // empty if there is none
  float epsilon = 1e-5f;
  // If above 0, these are parameters of several norms of so many numbers, one
  // after the other: ApplyToHeads only.
  int head_size = 0;

  // `epsilon` is the stack's.
  static Norm Create(const NormTensors& tensors, float epsilon);
  int64_t bytes() const {
    return static_cast<int64_t>((gamma.size() + beta.size()) * sizeof(float));
  }

  // Sets y = norm(x); y may be x. Returns the range of y.
  Range Apply(const float* x, float* y) const {
    return Add({.f32 = x, .n = static_cast<int>(gamma.size())}, nullptr, y);
  }
  // Normalizes each head of x [width]: with the parameters of all heads or of
  // its own.
  void ApplyToHeads(int width, float* x) const {
    const int all = static_cast<int>(gamma.size());
    const int size = head_size > 0 ? head_size : all;
    for (int begin = 0; begin < width; begin += size) {
      const int first = begin % all;
      AddAt(first, {.f32 = x + begin, .n = size}, nullptr, x + begin);
    }
  }
  // Sets y = norm(x + residual), or norm(x) if `residual` is null; y may be
  // `residual`. Returns the range of y.
  Range Add(const ProductRow& x, const float* residual, float* y) const {
    return AddAt(0, x, residual, y);
  }

 private:
  // The same with the parameters that begin at `first`. There is no default, so
  // that the compiler warns of a new kind that has no row function here.
  Range AddAt(int first, const ProductRow& x, const float* residual,
              float* y) const {
    switch (kind) {
      case NormTensors::Kind::kLayer:
        break;
      case NormTensors::Kind::kRms:
        return AddRmsNormRow(x, residual, gamma.data() + first, epsilon, y);
      case NormTensors::Kind::kNone:
        return AddUnnormed(first, x, residual, y);
    }
    return AddNormRow(x, residual, gamma.data() + first,
                      beta.empty() ? nullptr : beta.data() + first, epsilon, y);
  }
  Range AddUnnormed(int first, const ProductRow& x, const float* residual,
                    float* y) const;
};

// The packed SublayerNorms.
struct Norms {
  std::optional<Norm> before, of_output, after;
  float factor = 1;
  std::optional<Norm> of_sum;

  static Norms Create(const SublayerNorms& norms, float epsilon);
  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_before, of_of_output, of_after, of_factor, of_of_sum] =
        *this;
    VisitParts(f, of_before, of_of_output, of_after, of_factor, of_of_sum);
  }
};

// The packed LatentDescription.
struct Latent {
  int rank = 0, turned = 0, plain = 0, value = 0;
  std::optional<Linear> query_up;  // behind a narrow query
  std::optional<Norm> query_norm;
  Norm norm;
  std::vector<Linear> key_up, value_up;  // [heads]

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_rank, of_turned, of_plain, of_value, of_query_up,
                 of_query_norm, of_norm, of_key_up, of_value_up] = *this;
    VisitParts(f, of_rank, of_turned, of_plain, of_value, of_query_up,
               of_query_norm, of_norm, of_key_up, of_value_up);
  }
};

// The packed NearHeadsDescription. Their values are columns of
// Attention::projection.
struct NearHeads {
  int width = 0;
  F32Vector depthwise;   // [width, d_model]
  Linear span, weights;  // [query_width, d_model], [heads x width, query_width]

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_width, of_depthwise, of_span, of_weights] = *this;
    VisitParts(f, of_width, of_depthwise, of_span, of_weights);
  }
};

// The packed BlockKeysDescription.
struct BlockKeys {
  int size = 0;
  Norm norm;

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_size, of_norm] = *this;
    VisitParts(f, of_size, of_norm);
  }
};

// The packed weights of one attention sublayer.
struct Attention {
  AttentionGeometry geometry;
  // Self-attention: queries, keys and values, [query_width + 2 kv_width,
  // d_model]. Cross-attention: queries only, because its keys and values are
  // computed once per source, see cross_key_value in transformer.h. Recurrence:
  // inputs and gates, [2 d_model, d_model]; `output` is then empty. Latent
  // attention: queries, or what narrows them, and keys. Self-attention that
  // reads another layer's keys and values: queries only. With given values:
  // queries and keys.
  Linear projection;
  std::optional<Linear> output;  // [d_model, query_width or twice that]
  // Applied to each head, or to all heads together.
  std::optional<Norm> query_norm, key_norm;
  std::optional<Norm> value_norm;
  bool norms_after_rotary = false;
  bool values_from_key_product = false;  // there is no value's product
  bool values_given = false;             // they are AttentionTask::values
  bool parallel = false;                 // see LayerDescription
  F32Vector sinks;                       // [heads], see AttentionDescription
  std::optional<Latent> latent;
  // The last columns of `projection`, [query_width], are gates of what `output`
  // reads, see AttentionDescription.
  bool gated = false;
  // Their values are the last columns of `projection`, [query_width].
  std::optional<NearHeads> near;
  std::optional<BlockKeys> blocks;
  // The last columns of `projection` are GlobalAttentionDescription's queries,
  // keys and values, [query_width + 2 kv_width].
  bool global = false;
  // Queries see a source's keys, too. These are normalized like the keys, but
  // not turned.
  bool merged = false;
  Norms norms;

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_geometry, of_projection, of_output, of_query_norm,
                 of_key_norm, of_value_norm, of_norms_after_rotary,
                 of_values_from_key_product, of_values_given, of_parallel,
                 of_sinks, of_latent, of_gated, of_near, of_blocks, of_global,
                 of_merged, of_norms] = *this;
    VisitParts(f, of_projection, of_output, of_query_norm, of_key_norm,
               of_value_norm, of_norms_after_rotary, of_values_from_key_product,
               of_parallel, of_sinks, of_latent, of_near, of_blocks, of_norms);
  }
};

struct Expert {
  Linear up;    // [ffn, d_model], or gate and up, [2 ffn, d_model]
  Linear down;  // [d_model, ffn]

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_up, of_down] = *this;
    VisitParts(f, of_up, of_down);
  }
};

// Chooses the experts of a row. It is f32 in every format, for it costs next to
// nothing and decides much.
struct Router {
  // [experts, d_model], and one row more if there is a shared gate.
  Linear product;
  bool shared_gate = false;
  // See ExpertsDescription.
  int chosen = 0;
  bool over_all = false;
  ExpertsDescription::Scores scores = ExpertsDescription::Scores::kSoftmax;
  float nearness = 0;
  int groups = 1;
  int chosen_groups = 1;
  bool groups_by_two = false;
  float factor = 1;
  F32Vector correction;  // [experts]
  F32Vector scales;      // [experts]
  F32Vector bias;        // [d_model]

  int experts() const { return product.out() - (shared_gate ? 1 : 0); }
  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_product, of_shared_gate, of_chosen, of_over_all, of_scores,
                 of_nearness, of_groups, of_chosen_groups, of_groups_by_two,
                 of_factor, of_correction, of_scales, of_bias] = *this;
    VisitParts(f, of_product, of_shared_gate, of_chosen, of_over_all, of_scores,
               of_nearness, of_groups, of_chosen_groups, of_groups_by_two,
               of_factor, of_correction, of_scales, of_bias);
  }
};

// The packed BesideNorms.
struct PackedBesideNorms {
  Norm router, of_input, of_experts, of_shared;

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_router, of_of_input, of_of_experts, of_of_shared] = *this;
    VisitParts(f, of_router, of_of_input, of_of_experts, of_of_shared);
  }
};

// The packed weights of one feed-forward sublayer: one expert for all rows, or
// several among which a router chooses. No expert: the layer has no such
// sublayer.
struct FeedForward {
  std::vector<Expert> experts;
  std::optional<Router> router;
  std::optional<Expert> shared;             // beside the router's experts
  std::optional<PackedBesideNorms> beside;  // see ExpertsDescription
  Activation activation = Activation::kNone;
  std::optional<GateClip> gate_clip;

  // Floats of a row between the two products.
  int inner() const { return experts[0].down.in(); }
  // Returns the product that reads the rows' `input` with its own smoothing
  // factors, see Rows; null for experts.
  const Linear* reader() const {
    return router.has_value() || experts.empty() ? nullptr : &experts[0].up;
  }
  // Sets y [columns] to the input of an expert's second product, which is
  // `columns` wide, computed from a row of its first. Returns the range of y.
  Range Activate(const ProductRow& up, int columns, float* y) const;
  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_experts, of_router, of_shared, of_beside, of_activation,
                 of_gate_clip] = *this;
    VisitParts(f, of_experts, of_router, of_shared, of_beside, of_activation);
  }
};

// The packed TokenInputTensors.
struct TokenInput {
  Linear gate, output;
  Norms norms;  // of_output
  Activation activation = Activation::kNone;

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_gate, of_output, of_norms, of_activation] = *this;
    VisitParts(f, of_gate, of_output, of_norms, of_activation);
  }
};

// The packed FeedForwardTensors.
struct EarlierFeedForward {
  FeedForward feed_forward;
  Norms norms;

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_feed_forward, of_norms] = *this;
    VisitParts(f, of_feed_forward, of_norms);
  }
};

// The packed BottleneckDescription.
struct Bottleneck {
  int width = 0;
  // Computes, by columns, h of x, [width]. If the values are given, the input
  // of queries and keys, [width], and the values, [kv_width], follow.
  Linear input;
  Norm input_norm;
  std::optional<Norm> attention_norm;
  Linear output;  // [d_model, width]
  Norms norms;    // of the layer

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_width, of_input, of_input_norm, of_attention_norm,
                 of_output, of_norms] = *this;
    VisitParts(f, of_width, of_input, of_input_norm, of_attention_norm,
               of_output, of_norms);
  }
};

// The packed ConvolutionDescription.
struct Convolution {
  int width = 0;
  Linear product;
  Activation activation = Activation::kNone;
  Norms norms;  // after

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_width, of_product, of_activation, of_norms] = *this;
    VisitParts(f, of_width, of_product, of_activation, of_norms);
  }
};

// The packed weights of one encoder or decoder layer.
struct Layer {
  Attention self_attention;  // only norms if `attends` is false
  bool attends = true;
  std::optional<Mixer> mixer;  // comes before self_attention
  bool recurrent = false;  // self_attention holds a recurrence (recurrence.h)
  std::optional<Attention> cross_attention;
  FeedForward feed_forward;
  Norms feed_forward_norms;
  std::optional<TokenInput> token_input;
  float factor = 1;  // see LayerDescription
  std::vector<EarlierFeedForward> earlier_feed_forwards;
  std::optional<Bottleneck> bottleneck;
  std::optional<Convolution> convolution;

  // Returns the linear layer that reads first after attention, or null, see
  // FeedForward::reader.
  const Linear* feed_forward_reader() const {
    return earlier_feed_forwards.empty()
               ? feed_forward.reader()
               : earlier_feed_forwards.front().feed_forward.reader();
  }
  static absl::StatusOr<Layer> Create(const LayerDescription& description,
                                      const StackDescription& stack,
                                      const Formats& formats, Packing* packing);
  // Repacks, with smoothing factors, each product for which `maxima` has
  // inputs.
  absl::Status Smooth(const LayerDescription& description,
                      const Formats& formats, const InputMaxima& maxima);
  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_self_attention, of_attends, of_mixer, of_recurrent,
                 of_cross_attention, of_feed_forward, of_feed_forward_norms,
                 of_token_input, of_factor, of_earlier_feed_forwards,
                 of_bottleneck, of_convolution] = *this;
    if (of_attends) {
      VisitParts(f, of_self_attention);
    } else {
      VisitParts(f, of_self_attention.norms);
    }
    VisitParts(f, of_mixer, of_cross_attention, of_feed_forward,
               of_feed_forward_norms, of_token_input, of_factor,
               of_earlier_feed_forwards, of_bottleneck, of_convolution);
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_LAYER_H_
