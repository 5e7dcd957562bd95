#ifndef TRIVIUM_TESTS_SUPPORT_RANDOM_TRANSFORMER_H_
#define TRIVIUM_TESTS_SUPPORT_RANDOM_TRANSFORMER_H_

#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "model/transformer/description.h"
#include "model/transformer/formats.h"

namespace trivium {

// The formats of `precision=int8,kv=bf16`.
inline constexpr Formats kInt8KeptAsBf16 = {
    WeightType::kInt8, OperandType::kInt8, KvType::kBf16, KvType::kBf16};

// A Transformer of any shape with random weights, for tests that need no
// files.
class RandomTransformer {
 public:
  // The members of SublayerNorms that there are.
  enum class NormPlacement {
    kAfter,
    kBefore,
    kOfOutput,
    kBeforeAndOfOutput,
    kOfSumAndAfter
  };

  struct Shape {
    int d_model = 32;
    int heads = 2;
    int kv_heads = 0;           // 0: as many
    int head_size = 0;          // 0: d_model / heads
    float attention_scale = 0;  // 0: 1 / sqrt(d_model / heads)
    // Tokens that each second layer's self-attention sees, itself among them,
    // and in an encoder half as many behind it; 0: all.
    int window = 0;
    int feed_forward = 64;
    int encoder_layers = 2;  // 0: a decoder alone
    int decoder_layers = 2;
    int vocabulary = 101;
    int max_positions = 64;
    Activation activation = Activation::kRelu;
    bool gated = false;
    int experts = 0;             // of which each token has two; 0: none
    bool plain_experts = false;  // without a gate, and with a bias of their sum
    bool weigh_over_all = false;  // the experts' logits
    bool sparse_mixer = false;    // weighs experts (Phi 3.5)
    // Sigmoid scores, or those of softmax if weigh_over_all, with a correction,
    // of two groups by their two best, and a shared expert and its gate, but
    // not in the second layer (DeepSeek V3, Qwen 3 Next).
    bool grouped_experts = false;
    // The shared expert is a dense feed-forward beside experts with norms of
    // their own and scales (Gemma 4).
    bool experts_beside = false;
    std::optional<GateClip> gate_clip = std::nullopt;
    NormPlacement norm_placement = NormPlacement::kAfter;
    NormTensors::Kind norm_kind = NormTensors::Kind::kLayer;
    bool one_plus_weight = false;  // of norms
    bool biases = true;            // of products and norms
    PositionEncoding positions = PositionEncoding::kSinusoidal;
    // Turned in each head; of three layers the first and the second have bases
    // of their own, and the third has no rotary positions. 0: none has.
    int rotary_pairs = 0;
    float query_growth = 0;           // of the second base, each 3 tokens
    bool head_norms = false;          // of queries and keys in self-attention
    bool wide_head_norms = false;     // over all heads together
    bool own_head_norms = false;      // with factors of each head
    bool norms_after_rotary = false;  // else before it
    float soft_cap = 0;               // of scores in self-attention
    float clip = 0;                   // of queries, keys and values there
    bool alibi = false;               // with a slope for each head
    bool bf16_alibi = false;          // rounded (Falcon); with `alibi`
    bool parallel = false;            // attention and feed-forward
    float residual_factor = 1;
    float logit_factor = 1;
    float logit_soft_cap = 0;
    bool sinks = false;            // of self-attention
    bool gated_attention = false;  // see AttentionDescription::gate
    // The mixer of each layer but the second of three, instead of attention
    // or, with `mixes_beside`, before it. Only for decoders alone.
    std::optional<MixerDescription::Kind> mixer = std::nullopt;
    bool mixes_beside = false;
    bool norm_after_gate = false;  // of mixers
    // Layers are like Gemma 4's: normalized values, inputs by token and
    // factors; layers without a window have heads of another size, whose values
    // are their keys; and the last two of at least four layers read the keys
    // and values of earlier ones.
    bool gemma4 = false;
    // Latent attention of this rank, where plain and turned dimensions are
    // head_size and 2 x rotary_pairs; 0: none.
    int latent_rank = 0;
    int latent_query_rank = 0;  // 0: queries are not narrowed
    bool embedding_norm = false;
    bool positions_after_norm = false;  // of embeddings, in decoders
    bool bare_first_layer = false;      // no norm before its self-attention
    bool final_norm = false;
    bool tied = true;
    // A decoder with an encoder has a recurrence instead of self-attention.
    bool recurrent = false;
    bool merged = false;  // it sees the source in self-attention (T5Gemma 2)
    // For encoder-only models, where decoder_layers is 0.
    int type_vocabulary = 0;
    // With a projection; 0: d_model. A decoder's positions are added behind it,
    // and what its tied output reads is narrowed.
    int embedding_width = 0;
    // For encoder-only models again.
    int distinct_layers = 0;  // repeated in turn; 0: all
    std::optional<int> position_padding_id = std::nullopt;
    std::optional<RelativeAttentionDescription::Buckets> relative =
        std::nullopt;
    int block = 0;  // of keys of blocks, with kT5; 0: there are none
    bool bias_of_each_layer = false;  // of kT5, else layers share one
    std::optional<GlobalTokens> global_tokens = std::nullopt;  // of encoders
    int near_width = 0;  // of heads beside attention; 0: there are none
    // The width of a narrower stream in each layer; 0: there is none. Queries
    // and keys may read another one, and values the layer's input.
    int bottleneck = 0;
    bool shared_bottleneck = false;
    int earlier_feed_forwards = 0;
    bool trigrams = false;  // of the tokens that embedding_width projects
    bool causal = false;    // as a decoder; its head reads the last token
    bool pooler = false;
    std::optional<HeadKind> head = std::nullopt;
    // For kClassify; by default, the members above suggest it.
    std::optional<HeadDescription::Input> head_input = std::nullopt;
    std::optional<int32_t> head_padding_id = std::nullopt;
  };

  // The options of LLaMA, Qwen 3, SmolLM 3 and Gemma 3 together, with small
  // sizes.
  static Shape LlamaShape() {
    return {.d_model = 24,
            .heads = 4,
            .kv_heads = 2,
            .head_size = 10,
            .window = 5,
            .feed_forward = 24,
            .activation = Activation::kSwish,
            .gated = true,
            .norm_placement = NormPlacement::kBefore,
            .norm_kind = NormTensors::Kind::kRms,
            .biases = false,
            .positions = PositionEncoding::kNone,
            .rotary_pairs = 4,
            .head_norms = true,
            .final_norm = true};
  }

  // Small decoders that have, between them, every option that the decoders of
  // 2021 to 2025 add to GPT-2 and LLaMA.
  static std::vector<Shape> ModernDecoders();

  RandomTransformer(const Shape& shape, uint32_t seed);
  RandomTransformer(const RandomTransformer&) = delete;

  const TransformerDescription& description() const { return description_; }
  // Elements of all its tensors.
  int64_t parameters() const;

 private:
  const TensorView* Tensor(std::vector<int64_t> shape, float mean,
                           float deviation);
  LinearTensors Linear(int out, int in);
  NormTensors Norm(int size);
  SublayerNorms Norms();
  // Makes the layer's stream narrower, as Shape::bottleneck says.
  void Narrow(LayerDescription* layer);
  AttentionDescription Attention(bool causal);
  MixerDescription Mixer();
  StackDescription Stack(int layers, bool causal,
                         const TensorView* tied_tokens);
  ExpertsDescription Experts();
  // Changes a layer as Shape::gemma4 says.
  void UseGemma4(int i, const StackDescription& stack, LayerDescription* layer);
  AttentionDescription LatentAttention(AttentionGeometry geometry);
  RotaryDescription Rotary(double base, float magnitude) const;
  RelativeAttentionDescription Relative(bool causal);
  HeadDescription Head();

  Shape shape_;
  std::mt19937 generator_;
  std::deque<std::vector<float>> values_;
  std::deque<TensorView> tensors_;
  TransformerDescription description_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_RANDOM_TRANSFORMER_H_
