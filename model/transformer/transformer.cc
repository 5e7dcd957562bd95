// Packs a description. The order in Pack matters:
//   1. encoder     checked, packed; int8: inputs are measured and smoothed,
//                  unless it is mapped, as smoothed before
//   2. decoder     checked, packed, with its output projection in blocks
//   3. second reading, pooler, head
//
// What always holds:
// - Parts are numbered in the order in which they are packed (Packing), so a
//   PackedFile of an earlier load has the same numbers. Whatever decides what
//   is packed depends only on the description and the formats.
// - A token table that both stacks have, or that is also the output
//   projection's weight, is packed once (SharesTokens). A visit of all parts
//   counts it once, by its address.
// - What the layers cannot compute is refused here, before anything of that
//   stack is packed: the checks say which combinations there are no kernels
//   for. Families need not know them.
#include "model/transformer/transformer.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "model/kernels/attention.h"
#include "model/transformer/grouped_linear.h"
#include "model/transformer/hadamard.h"
#include "model/transformer/kv_layout.h"
#include "model/transformer/recurrence.h"
#include "model/transformer/smoothing.h"

namespace trivium {

namespace {

// Checks that nothing else would change what a mixer and its layer compute.
absl::Status CheckMixer(const LayerDescription& layer) {
  const MixerDescription& mixer = *layer.mixer;
  if (layer.cross_attention.has_value() || layer.recurrence.has_value() ||
      layer.self_attention_norms.after.has_value() || layer.parallel) {
    return absl::InvalidArgumentError(
        "a layer that keeps a state per sequence is not supported together "
        "with cross-attention, a recurrence, a norm after it or a parallel "
        "feed-forward");
  }
  if (mixer.width < 2 || mixer.width > kMostConvolutionWidth ||
      (mixer.heads > 0 && mixer.heads % mixer.key_heads != 0)) {
    return absl::InvalidArgumentError(fmt::format(
        "a layer's convolution must be 2 to {} tokens wide and its heads of "
        "keys must divide its {} heads",
        kMostConvolutionWidth, mixer.heads));
  }
  return absl::OkStatus();
}

// Checks that an encoder has nothing that only decoders run.
absl::Status CheckEncoder(const StackDescription& encoder) {
  for (const LayerDescription& layer : encoder.layer) {
    if (layer.token_input.has_value() || layer.factor != 1 ||
        layer.self_attention.geometry.reads >= 0) {
      return absl::InvalidArgumentError(
          "inputs by token, factors of layers, and layers that read another "
          "layer's keys are supported in decoders only");
    }
  }
  return absl::OkStatus();
}

// Checks that a layer which reads another layer's keys and values can do so.
absl::Status CheckReads(const StackDescription& decoder, int layer) {
  const AttentionDescription& attention = decoder.layer[layer].self_attention;
  const AttentionGeometry& geometry = attention.geometry;
  if (geometry.reads < 0 || !decoder.layer[layer].attends()) {
    return absl::OkStatus();
  }
  if (geometry.reads < layer && !attention.gate.has_value()) {
    const LayerDescription& other = decoder.layer[geometry.reads];
    const AttentionGeometry& read = other.self_attention.geometry;
    if (other.attends() && read.reads < 0 &&
        read.kv_heads == geometry.kv_heads &&
        read.head_size == geometry.head_size &&
        read.look_back == geometry.look_back) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      "a layer that reads another layer's keys and values must have the same "
      "heads and window, no gate, and come later");
}

// Checks that self-attention and cross-attention of all decoder layers have
// keys and values of one shape, because they share blocks; without
// cross-attention, shapes may differ.
absl::Status CheckKeys(const StackDescription& decoder,
                       const Formats& formats) {
  const AttentionGeometry& one = decoder.layer[0].self_attention.geometry;
  const auto fits = [&](const AttentionGeometry& geometry) {
    return geometry.kv_heads == one.kv_heads &&
           geometry.head_size == one.head_size;
  };
  const bool crosses = decoder.layer[0].cross_attention.has_value();
  for (int i = 0; i < std::ssize(decoder.layer); ++i) {
    const LayerDescription& layer = decoder.layer[i];
    TRIVIUM_RETURN_IF_ERROR(CheckReads(decoder, i));
    if (crosses != layer.cross_attention.has_value() ||
        (crosses && (!fits(layer.self_attention.geometry) ||
                     !fits(layer.cross_attention->geometry)))) {
      return absl::InvalidArgumentError(
          "the decoder's layers differ in their heads of keys and values, "
          "which is not supported");
    }
    if (layer.recurrence.has_value() &&
        (!HoldsStates(one.kv_shape(formats.decoder_kv)) ||
         one.kv_width() != decoder.d_model)) {
      return absl::InvalidArgumentError(
          "a recurrent decoder needs keys and values in bf16 or f32, and as "
          "wide as d_model");
    }
    if (layer.mixer.has_value()) {
      TRIVIUM_RETURN_IF_ERROR(CheckMixer(layer));
    }
    if (layer.parallel && layer.cross_attention.has_value()) {
      return absl::InvalidArgumentError(
          "a layer with cross-attention cannot have a parallel feed-forward");
    }
    if (layer.self_attention.geometry.look_ahead != 0) {
      return absl::InvalidArgumentError(
          "a decoder's self-attention must be causal");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Transformer>> Transformer::Create(
    const TransformerDescription& description, const Formats& formats,
    std::shared_ptr<const PackedFile> packed) {
  try {
    auto transformer = std::make_shared<Transformer>();
    transformer->formats_ = FormatsOf(description, formats);
    transformer->packed_ = packed;
    Packing packing(std::move(packed));
    TRIVIUM_RETURN_IF_ERROR(transformer->Pack(description, &packing));
    return transformer;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory for the weights");
  }
}

Formats Transformer::FormatsOf(const TransformerDescription& description,
                               const Formats& formats) {
  Formats made = formats;
  made.hadamard = UsesHadamard(description, formats);
  if (formats.weights == WeightType::kInt4 && HasFourBitWeights(description)) {
    made.weights = WeightType::kGroups;
  }
  if (made.operands == OperandType::kInt8Groups &&
      HasOrderedWeights(description)) {
    made.operands = OperandType::kOrderedGroups;
  }
  return made;
}

bool Transformer::SharesTokens(const TransformerDescription& description,
                               const Formats& formats) {
  return formats.weights == WeightType::kGroups && !formats.hadamard &&
         description.decoder.has_value() && description.shortlist == nullptr &&
         description.output_projection.weight ==
             description.decoder->embeddings.tokens;
}

absl::Status Transformer::Pack(const TransformerDescription& description,
                               Packing* packing) {
  std::shared_ptr<const TokenTable> tokens;
  const TensorView* table_of = nullptr;
  const auto pack =
      [&](const StackDescription& stack) -> absl::StatusOr<Stack> {
    if (stack.embeddings.tokens != table_of) {
      table_of = stack.embeddings.tokens;
      if (SharesTokens(description, formats_) &&
          table_of == description.output_projection.weight) {
        tokens = std::make_shared<TokenTable>(
            output_blocks_, static_cast<int>(table_of->shape[1]));
      } else {
        TRIVIUM_ASSIGN_OR_RETURN(
            tokens, packing->MakeTable(*table_of, formats_.weights));
      }
    }
    return Stack::Create(stack, tokens, formats_, packing);
  };
  if (description.encoder.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(CheckEncoder(*description.encoder));
    TRIVIUM_ASSIGN_OR_RETURN(encoder_, pack(*description.encoder));
    // Packed parts were smoothed before.
    if (formats_.operands == OperandType::kInt8 && packed_ == nullptr) {
      TRIVIUM_ASSIGN_OR_RETURN(const InputMaxima maxima, MeasureInputs(*this));
      TRIVIUM_RETURN_IF_ERROR(
          encoder_->Smooth(*description.encoder, formats_, maxima));
    }
  }
  if (description.decoder.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(CheckKeys(*description.decoder, formats_));
    TRIVIUM_ASSIGN_OR_RETURN(decoder_, pack(*description.decoder));
    TRIVIUM_RETURN_IF_ERROR(PackOutput(description, packing));
  }
  if (description.second_reading.has_value()) {
    const SecondReadingDescription& second = *description.second_reading;
    TRIVIUM_RETURN_IF_ERROR(CheckKeys(second.stack, formats_));
    TRIVIUM_ASSIGN_OR_RETURN(Stack stack, pack(second.stack));
    TRIVIUM_ASSIGN_OR_RETURN(
        second_stack_,
        SecondStack::Create(second, std::move(stack), formats_, packing));
  }
  if (description.pooler.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(pooler_, Pooler::Create(*description.pooler));
  }
  if (description.head.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        head_,
        Head::Create(*description.head, description.encoder->norm_epsilon,
                     formats_, packing));
  }
  parameters_ = CountParameters(description);
  return absl::OkStatus();
}

absl::Status Transformer::PackOutput(const TransformerDescription& description,
                                     Packing* packing) {
  std::vector<LinearTensors> cross;
  for (const LayerDescription& layer : description.decoder->layer) {
    if (!layer.cross_attention.has_value()) continue;
    cross.push_back(layer.cross_attention->key);
    cross.push_back(layer.cross_attention->value);
  }
  if (!cross.empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(cross_key_value_,
                             packing->MakeLinear(formats_, cross));
  }
  if (description.output_narrowing.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        output_narrowing_,
        packing->MakeLinear(formats_,
                            std::span(&*description.output_narrowing, 1)));
  }
  logit_factor_ = description.logit_factor;
  logit_soft_cap_ = description.logit_soft_cap;
  if (description.shortlist != nullptr &&
      (logit_factor_ != 1 || logit_soft_cap_ != 0)) {
    return absl::InvalidArgumentError(
        "logits that are scaled or capped are not supported together with a "
        "shortlist");
  }
  const LinearTensors& output = description.output_projection;
  const int vocabulary = description.decoder->vocabulary;
  const Formats formats = OutputFormats(formats_);
  for (int begin = 0; begin < vocabulary; begin += kOutputBlock) {
    TRIVIUM_ASSIGN_OR_RETURN(
        Linear block,
        packing->MakeLinear(formats, std::span(&output, 1), begin,
                            std::min(kOutputBlock, vocabulary - begin)));
    output_blocks_.push_back(std::move(block));
  }
  if (description.shortlist != nullptr) {
    shortlist_.emplace(formats_, output, description.shortlist);
  }
  return absl::OkStatus();
}

std::vector<KvShape> Transformer::decoder_kv_shapes() const {
  std::vector<KvShape> shapes;
  for (size_t i = 0; i < decoder_->layers.size(); ++i) {
    shapes.push_back(decoder_->layers[i].self_attention.geometry.kv_shape(
        formats_.decoder_kv));
  }
  return shapes;
}

std::vector<StateShape> Transformer::decoder_states() const {
  std::vector<StateShape> states;
  for (size_t i = 0; i < decoder_->layers.size(); ++i) {
    const std::optional<Mixer>& mixer = decoder_->layers[i].mixer;
    states.push_back(mixer.has_value() ? mixer->state() : StateShape());
  }
  return states;
}

std::vector<PackedPiece> Transformer::pieces() const {
  std::vector<PackedPiece> pieces;
  std::set<const void*> seen;  // both stacks may share a token table
  ForEachPart([&](const auto& part) {
    if constexpr (requires { part.AddPieces(&pieces); }) {
      if (seen.insert(&part).second) part.AddPieces(&pieces);
    }
  });
  return pieces;
}

absl::Status Transformer::CheckUnchanged() const {
  if (packed_ == nullptr) return absl::OkStatus();
  const absl::Status status = packed_->CheckUnchanged();
  if (status.ok()) return status;
  return absl::InternalError(fmt::format(
      "packed weights changed while they are served; load the model again: {}",
      std::string(status.message())));
}

int64_t Transformer::weight_bytes() const {
  int64_t bytes = 0;
  std::set<const void*> seen;  // both stacks may share a token table
  ForEachPart([&](const auto& part) {
    if (seen.insert(&part).second) bytes += part.bytes();
  });
  return bytes;
}

bool Transformer::batch_invariant() const {
  // bf16 products do not guarantee it, even if this machine's test passes.
  bool invariant = formats_.operands != OperandType::kBf16;
  ForEachPart([&](const auto& part) {
    if constexpr (requires { part.batch_invariant(); }) {
      invariant = invariant && part.batch_invariant();
    }
  });
  return invariant;
}

}  // namespace trivium
