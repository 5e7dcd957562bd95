#include "model/transformer/head_tap.h"

#include <algorithm>

#include "fmt/format.h"
#include "model/transformer/attention.h"
#include "model/transformer/transformer.h"

namespace trivium {
namespace {

// Copies columns [begin, begin + count) of `rows` rows, `stride` floats apart.
void CopyRows(const float* from, size_t stride, int rows, int begin, int count,
              int first, int all_rows, TracedRows* to) {
  to->Resize(all_rows, count);
  for (int i = 0; i < rows; ++i) {
    std::copy_n(from + i * stride + begin, count, to->Row(first + i));
  }
}

AttentionCall CallOf(const AttentionGeometry& geometry,
                     const AttentionGroup& group) {
  AttentionCall call = {};
  call.keys = group.keys;
  call.queries = group.rows;
  call.position = group.position;
  call.look_back = geometry.look_back;
  call.look_ahead = geometry.look_ahead;
  return call;
}

}  // namespace

bool HeadTap::Traces(const AttentionGroup& group, int layer) {
  return group.trace != nullptr && group.trace->choice.layer == layer;
}

void HeadTap::Begin(const AttentionTask& task, Rows* rows) {
  groups_.clear();
  task_ = &task;
  for (const AttentionGroup& group : task.groups) {
    if (Traces(group, task.layer)) groups_.push_back(&group);
  }
  const std::optional<Norm>& before = task.weights.norms.before;
  for (const AttentionGroup* group : groups_) {
    HeadTrace& trace = *group->trace;
    const int width = rows->d_model();
    CopyRows(rows->x(group->first), width, group->rows, 0, width,
             group->trace_row, trace.queries, &trace.input);
    if (!before.has_value()) continue;
    trace.normed.Resize(trace.queries, width);
    for (int i = 0; i < group->rows; ++i) {
      before->Apply(trace.input.Row(group->trace_row + i),
                    trace.normed.Row(group->trace_row + i));
    }
  }
}

void HeadTap::CopyQueries(const float* query, size_t stride) {
  const int size = task_->weights.geometry.head_size;
  for (const AttentionGroup* group : groups_) {
    HeadTrace& trace = *group->trace;
    CopyRows(query + group->first * stride, stride, group->rows,
             trace.choice.head * size, size, group->trace_row, trace.queries,
             &trace.query);
  }
}

void HeadTap::CopyMaps(const AttentionGroup& group, int first,
                       const AttentionCall& call, const float* scores,
                       const float* weights) const {
  HeadTrace& trace = *group.trace;
  const size_t padded = PaddedKeys(call.keys);
  for (int q = 0; q < call.queries; ++q) {
    const int row = group.trace_row + first + q;
    const KeyRange seen = SeenKeys(call, q);
    const auto copy = [&](const float* from, TracedRows* to) {
      std::copy(from + q * padded + seen.begin, from + q * padded + seen.end,
                to->Row(row) + seen.begin);
    };
    copy(scores, &trace.scores);
    copy(weights, &trace.weights);
    trace.seen_begin[row] = seen.begin;
    trace.seen_end[row] = seen.end;
    if (call.bias == nullptr) continue;
    const float* const bias = BiasOfQuery(call, trace.choice.head, q);
    std::copy(bias + seen.begin, bias + seen.end,
              trace.bias.Row(row) + seen.begin);
  }
}

void HeadTap::CopySums(const float* sums, size_t stride, const float* other) {
  const int size = task_->weights.geometry.head_size;
  const int width = task_->weights.output->in();
  for (const AttentionGroup* group : groups_) {
    HeadTrace& trace = *group->trace;
    CopyRows(sums + group->first * stride, stride, group->rows,
             trace.choice.head * size, size, group->trace_row, trace.queries,
             &trace.sum);
    const float* const joined = other != nullptr ? other : sums;
    const size_t joined_stride = other != nullptr ? width : stride;
    CopyRows(joined + group->first * joined_stride, joined_stride, group->rows,
             0, width, group->trace_row, trace.queries, &trace.joined);
  }
}

void HeadTap::CopyOutput(int row, const ProductRow& product) const {
  for (const AttentionGroup* group : groups_) {
    const int i = row - group->first;
    if (i < 0 || i >= group->rows) continue;
    FinishRow(product, group->trace->output.Row(group->trace_row + i));
  }
}

void HeadTap::End(Rows* rows) {
  for (const AttentionGroup* group : groups_) {
    HeadTrace& trace = *group->trace;
    const int width = rows->d_model();
    CopyRows(rows->x(group->first), width, group->rows, 0, width,
             group->trace_row, trace.queries, &trace.result);
    CopyKeys(*group);
    Describe(&trace);
  }
  groups_.clear();
}

void HeadTap::CopyKeys(const AttentionGroup& group) const {
  const AttentionGeometry& geometry = task_->weights.geometry;
  HeadTrace& trace = *group.trace;
  const int kv_head = trace.choice.head / (geometry.heads / geometry.kv_heads);
  const AttentionCall call = CallOf(geometry, group);
  // Later queries see later keys.
  const int begin = SeenKeys(call, 0).begin;
  const int end = SeenKeys(call, group.rows - 1).end;
  trace.key.Resize(trace.keys, geometry.head_size);
  trace.value.Resize(trace.keys, geometry.head_size);
  for (int j = begin; j < end; ++j) {
    LoadKeyValue(task_->tiles.shape,
                 task_->tiles[group.blocks[j / kTileTokens]], j % kTileTokens,
                 kv_head, trace.key.Row(j), trace.value.Row(j));
  }
}

void HeadTap::Describe(HeadTrace* trace) const {
  const Attention& weights = task_->weights;
  const AttentionGeometry& geometry = weights.geometry;
  trace->scale = geometry.scale;
  trace->soft_cap = geometry.soft_cap;
  if (weights.sinks.data() != nullptr) {
    trace->sink = weights.sinks.data()[trace->choice.head];
  }
  trace->kv_head = trace->choice.head / (geometry.heads / geometry.kv_heads);
  trace->heads = geometry.heads;
  trace->gated = weights.gated;
  trace->parallel = weights.parallel;
  const Norms& norms = weights.norms;
  trace->factor = norms.factor;
  trace->norm_of_output = norms.of_output.has_value();
  trace->norm_of_sum = norms.after.has_value() || norms.of_sum.has_value();
  for (const std::optional<Norm>* norm :
       {&norms.before, &norms.of_output, &norms.after, &norms.of_sum}) {
    if (!norm->has_value()) continue;
    // No default, so that the compiler warns of a new kind. A trace has no word
    // for kNone: models that have it (MobileBERT) are refused a trace.
    switch ((*norm)->kind) {
      case NormTensors::Kind::kLayer:
      case NormTensors::Kind::kNone:
        trace->rms = false;
        break;
      case NormTensors::Kind::kRms:
        trace->rms = true;
        break;
    }
  }
  if (trace->choice.cross) return;
  if (task_->turns != nullptr && geometry.rotary >= 0) {
    trace->positions = HeadTrace::Positions::kRotary;
    const RotaryDescription& rotary = task_->turns->rotary(geometry);
    trace->frequencies = rotary.frequencies;
  } else if (task_->relative != nullptr &&
             task_->relative->bias(task_->layer) != nullptr) {
    trace->positions = task_->relative->sloped()
                           ? HeadTrace::Positions::kSlope
                           : HeadTrace::Positions::kDistance;
  }
}

void TraceEmbeddings(const Stack& stack,
                     std::span<const InputEmbedding::Token> tokens,
                     const float* x, int first, HeadTrace* trace) {
  const Embeddings& embeddings = stack.embeddings;
  const int rows = static_cast<int>(tokens.size());
  CopyRows(x, stack.d_model, rows, 0, stack.d_model, first, trace->queries,
           &trace->embedded);
  trace->layers = static_cast<int>(stack.layers.size());
  trace->seen_begin.resize(trace->queries);
  trace->seen_end.resize(trace->queries);
  trace->scores.Resize(trace->queries, trace->keys);
  trace->weights.Resize(trace->queries, trace->keys);
  const bool has_bias =
      !trace->choice.cross && stack.relative_attention.has_value();
  if (has_bias) trace->bias.Resize(trace->queries, trace->keys);
  trace->output.Resize(trace->queries, stack.d_model);
  trace->token.Resize(trace->queries, embeddings.width());
  if (embeddings.has_types()) {
    trace->segment.Resize(trace->queries, embeddings.types_width());
  }
  if (embeddings.encoding() != PositionEncoding::kNone) {
    trace->position.Resize(trace->queries, embeddings.positions_width());
    trace->positions = embeddings.encoding() == PositionEncoding::kLearned
                           ? HeadTrace::Positions::kLearned
                           : HeadTrace::Positions::kSinusoidal;
  }
  for (int i = 0; i < rows; ++i) {
    const auto& [id, position, type] = tokens[i];
    embeddings.Lookup(id, trace->token.Row(first + i));
    if (embeddings.has_types()) {
      embeddings.AddType(type, trace->segment.Row(first + i));
    }
    if (embeddings.encoding() != PositionEncoding::kNone) {
      embeddings.AddPosition(position, trace->position.Row(first + i));
    }
  }
}

absl::Status CheckTracedHead(const Transformer& weights, bool decoder,
                             const HeadChoice& choice) {
  const std::optional<Stack>& stack =
      decoder ? weights.decoder() : weights.encoder();
  if (!stack.has_value()) {
    return absl::InvalidArgumentError(fmt::format(
        "is of a model without {}", decoder ? "a decoder" : "an encoder"));
  }
  const int layers = static_cast<int>(stack->layers.size());
  if (choice.layer < 0 || choice.layer >= layers) {
    return absl::InvalidArgumentError(fmt::format(
        "names layer {}, and the model has 0 .. {}", choice.layer, layers - 1));
  }
  for (int i = 0; i < layers; ++i) {
    if (stack->layers[i].recurrent) {
      return absl::InvalidArgumentError(
          "is of a model whose decoder has a recurrence instead of "
          "self-attention; leave it out");
    }
    if (stack->layers[i].mixer.has_value() || !stack->layers[i].attends) {
      return absl::InvalidArgumentError(
          "is of a model whose layers keep a state per sequence instead of "
          "attending to earlier tokens; leave it out");
    }
  }
  const Layer& layer = stack->layers[choice.layer];
  if (layer.self_attention.blocks.has_value() && !choice.cross) {
    return absl::InvalidArgumentError(
        "is of a model whose queries see blocks of tokens beside tokens "
        "(LongT5); leave it out");
  }
  if (layer.self_attention.global && !choice.cross) {
    return absl::InvalidArgumentError(
        "is of a model whose first tokens see all tokens, by keys and values "
        "of their own (Longformer); leave it out");
  }
  if (layer.self_attention.merged) {
    return absl::InvalidArgumentError(
        "is of a model whose decoder sees the source and its own tokens in one "
        "softmax (T5Gemma 2); leave it out");
  }
  if (layer.bottleneck.has_value()) {
    return absl::InvalidArgumentError(
        "is of a model whose attention reads a narrower stream inside each "
        "layer (MobileBERT); leave it out");
  }
  if (choice.cross && !layer.cross_attention.has_value()) {
    return absl::InvalidArgumentError(
        "is of the attention to a source, and the model has no source; leave "
        "cross out");
  }
  const Attention& attention =
      choice.cross ? *layer.cross_attention : layer.self_attention;
  if (attention.latent.has_value()) {
    return absl::InvalidArgumentError(
        "is of a model with latent attention, whose heads have no keys and "
        "values of their own; leave it out");
  }
  if (!choice.cross && stack->relative_attention.has_value() &&
      stack->relative_attention->disentangled()) {
    return absl::InvalidArgumentError(
        "is of a model with disentangled attention (DeBERTa), whose scores "
        "are sums of three products; leave it out");
  }
  if (choice.head < 0 || choice.head >= attention.geometry.heads) {
    return absl::InvalidArgumentError(
        fmt::format("names head {}, and layer {} has 0 .. {}", choice.head,
                    choice.layer, attention.geometry.heads - 1));
  }
  return absl::OkStatus();
}

}  // namespace trivium
