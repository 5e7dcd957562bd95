#include "model/transformer/transformer_weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/status.h"
#include "model/transformer/smoothing.h"

namespace trivium {
namespace {

// Elements of all tensors of a description; tied ones count once.
class ParameterCount {
 public:
  void Add(const TensorView* tensor) {
    if (tensor != nullptr && seen_.insert(tensor).second) {
      total_ += tensor->elements();
    }
  }
  void Add(const LinearTensors& tensors) {
    Add(tensors.weight);
    Add(tensors.bias);
  }
  void Add(const NormTensors& tensors) {
    Add(tensors.weight);
    Add(tensors.bias);
  }
  void Add(const AttentionTensors& tensors) {
    Add(tensors.query);
    Add(tensors.key);
    Add(tensors.value);
    Add(tensors.output);
  }
  void Add(const StackDescription& stack) {
    Add(stack.embeddings.tokens);
    Add(stack.embeddings.positions);
    Add(stack.embeddings.types);
    if (stack.embeddings.projection.has_value()) {
      Add(*stack.embeddings.projection);
    }
    if (stack.embedding_norm.has_value()) Add(*stack.embedding_norm);
    if (stack.final_norm.has_value()) Add(*stack.final_norm);
    if (stack.relative_attention.has_value()) {
      Add(stack.relative_attention->embeddings);
      if (stack.relative_attention->norm.has_value()) {
        Add(*stack.relative_attention->norm);
      }
      Add(stack.relative_attention->bias);
    }
    for (const LayerTensors& layer : stack.layer) {
      Add(layer.self_attention);
      if (layer.position_key.has_value()) Add(*layer.position_key);
      if (layer.position_query.has_value()) Add(*layer.position_query);
      Add(layer.self_attention_norm);
      if (layer.cross_attention.has_value()) Add(*layer.cross_attention);
      Add(layer.cross_attention_norm);
      Add(layer.up);
      Add(layer.down);
      Add(layer.feed_forward_norm);
    }
  }
  void Add(const HeadDescription& head) {
    if (head.dense.has_value()) Add(*head.dense);
    if (head.norm.has_value()) Add(*head.norm);
    Add(head.output);
  }
  int64_t total() const { return total_; }

 private:
  std::set<const TensorView*> seen_;
  int64_t total_ = 0;
};

absl::StatusOr<Stack> PackStack(const StackDescription& description,
                                std::shared_ptr<const TokenTable> tokens,
                                Arithmetic arithmetic) {
  Stack stack;
  stack.embeddings = Embeddings(description, std::move(tokens));
  const float epsilon = description.norm_epsilon;
  if (description.embedding_norm.has_value()) {
    stack.embedding_norm = Norm::Create(*description.embedding_norm, epsilon);
  }
  if (description.final_norm.has_value()) {
    stack.final_norm = Norm::Create(*description.final_norm, epsilon);
  }
  stack.norm_placement = description.norm_placement;
  stack.d_model = description.d_model;
  stack.heads = description.heads;
  stack.vocabulary = description.vocabulary;
  stack.type_vocabulary = description.type_vocabulary;
  stack.max_positions = description.max_positions;
  if (description.embeddings.projection.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        stack.embedding_projection,
        Linear::Create(arithmetic,
                       std::span(&*description.embeddings.projection, 1)));
  }
  if (description.relative_attention.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(stack.relative_attention,
                             RelativeAttention::Create(description));
  }
  std::map<const TensorView*, size_t> packed;  // by a tensor that tells them
  for (const LayerTensors& tensors : description.layer) {
    const auto [place, is_new] =
        packed.emplace(tensors.up.weight, packed.size());
    if (is_new) {
      TRIVIUM_ASSIGN_OR_RETURN(Layer layer,
                               Layer::Create(tensors, description, arithmetic));
      stack.layers.Add(std::move(layer));
    } else {
      stack.layers.Repeat(place->second);
    }
  }
  return stack;
}

// Packs an int8 encoder's layers anew, with factors for what they read.
absl::Status SmoothEncoder(const StackDescription& description,
                           const TransformerWeights& weights, Stack* encoder) {
  TRIVIUM_ASSIGN_OR_RETURN(const InputMaxima maxima, MeasureInputs(weights));
  std::set<const TensorView*> done;
  for (size_t i = 0; i < description.layer.size(); ++i) {
    const LayerTensors& tensors = description.layer[i];
    if (!done.insert(tensors.up.weight).second) continue;
    TRIVIUM_RETURN_IF_ERROR(
        encoder->layers[i].Smooth(tensors, weights.arithmetic(), maxima));
  }
  return absl::OkStatus();
}

}  // namespace

KvShape TransformerWeights::encoder_kv_shape() const {
  const KvType type =
      arithmetic_ == Arithmetic::kF32 ? KvType::kF32 : KvType::kBf16;
  return {type, encoder_->heads, encoder_->head_size()};
}

KvShape TransformerWeights::decoder_kv_shape() const {
  KvShape shape = {KvType::kF32, decoder_->heads, decoder_->head_size()};
  switch (arithmetic_) {
    case Arithmetic::kF32:
      break;
    case Arithmetic::kBf16:
      shape.type = KvType::kBf16;
      break;
    case Arithmetic::kInt8:
      shape.type = KvType::kInt8;
      break;
  }
  return shape;
}

absl::StatusOr<std::shared_ptr<const TransformerWeights>>
TransformerWeights::Pack(const TransformerDescription& description,
                         Arithmetic arithmetic) {
  auto weights = std::make_shared<TransformerWeights>();
  weights->arithmetic_ = arithmetic;
  int64_t& bytes = weights->weight_bytes_;
  bool invariant = true;

  std::shared_ptr<const TokenTable> tokens;
  const TensorView* table_of = nullptr;
  const auto pack = [&](const StackDescription& stack,
                        std::optional<Stack>* packed) -> absl::Status {
    if (stack.embeddings.tokens != table_of) {
      table_of = stack.embeddings.tokens;
      tokens = std::make_shared<TokenTable>(*table_of, arithmetic);
      bytes += tokens->bytes();
    }
    TRIVIUM_ASSIGN_OR_RETURN(*packed, PackStack(stack, tokens, arithmetic));
    if (packed == &weights->encoder_ && arithmetic == Arithmetic::kInt8) {
      TRIVIUM_RETURN_IF_ERROR(SmoothEncoder(stack, *weights, &**packed));
    }
    bytes += (*packed)->embeddings.table_bytes();
    if ((*packed)->embedding_projection.has_value()) {
      bytes += (*packed)->embedding_projection->bytes();
      invariant =
          invariant && (*packed)->embedding_projection->batch_invariant();
    }
    if ((*packed)->relative_attention.has_value()) {
      bytes += (*packed)->relative_attention->bytes();
    }
    for (const Layer& layer : (*packed)->layers.packed()) {
      bytes += layer.bytes();
      invariant = invariant && layer.batch_invariant();
    }
    return absl::OkStatus();
  };
  if (description.encoder.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(pack(*description.encoder, &weights->encoder_));
  }
  if (description.decoder.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(pack(*description.decoder, &weights->decoder_));

    std::vector<LinearTensors> cross;
    for (const LayerTensors& layer : description.decoder->layer) {
      if (!layer.cross_attention.has_value()) continue;
      cross.push_back(layer.cross_attention->key);
      cross.push_back(layer.cross_attention->value);
    }
    if (!cross.empty()) {
      TRIVIUM_ASSIGN_OR_RETURN(weights->cross_key_value_,
                               Linear::Create(arithmetic, cross));
      bytes += weights->cross_key_value_->bytes();
      invariant = invariant && weights->cross_key_value_->batch_invariant();
    }

    const LinearTensors output = description.output_projection;
    const int64_t vocabulary = description.decoder->vocabulary;
    for (int64_t begin = 0; begin < vocabulary; begin += kOutputBlock) {
      const int64_t count = std::min<int64_t>(kOutputBlock, vocabulary - begin);
      TRIVIUM_ASSIGN_OR_RETURN(
          Linear block,
          Linear::Create(arithmetic, std::span(&output, 1), begin, count));
      bytes += block.bytes();
      invariant = invariant && block.batch_invariant();
      weights->output_blocks_.push_back(std::move(block));
    }
    if (description.shortlist != nullptr) {
      weights->shortlist_.emplace(arithmetic, output, description.shortlist);
      bytes += weights->shortlist_->bytes();
    }
  }
  if (description.pooler.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(weights->pooler_,
                             Pooler::Create(*description.pooler));
    bytes += weights->pooler_->dense.bytes();
    invariant = invariant && weights->pooler_->dense.batch_invariant();
  }
  if (description.head.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        weights->head_,
        Head::Create(*description.head, description.encoder->norm_epsilon,
                     arithmetic));
    bytes += weights->head_->bytes();
    invariant = invariant && weights->head_->batch_invariant();
  }
  // bf16 products do not promise it, whatever this machine's test says.
  weights->batch_invariant_ = invariant && arithmetic != Arithmetic::kBf16;

  ParameterCount parameters;
  if (description.encoder.has_value()) parameters.Add(*description.encoder);
  if (description.decoder.has_value()) parameters.Add(*description.decoder);
  parameters.Add(description.output_projection);
  if (description.pooler.has_value()) parameters.Add(description.pooler->dense);
  if (description.head.has_value()) parameters.Add(*description.head);
  weights->parameters_ = parameters.total();
  return std::shared_ptr<const TransformerWeights>(std::move(weights));
}

}  // namespace trivium
