#include "tests/support/reference_transformer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "tests/support/reference_attention.h"
#include "tests/support/reference_feed_forward.h"
#include "tests/support/reference_rows.h"
#include "tests/support/reference_states.h"

namespace trivium {
namespace {

using reference::Activated;
using reference::KeysValues;
using reference::Linear;
using reference::Normalized;
using reference::Numbers;
using reference::Values;

// The mean of all rows, [1, columns].
Matrix Mean(const Matrix& x) {
  Matrix mean(1, x.columns);
  for (int i = 0; i < x.rows; ++i) {
    for (int k = 0; k < x.columns; ++k) mean.data[k] += x.row(i)[k] / x.rows;
  }
  return mean;
}

// The row of the table of positions for every token. Padding takes no place in
// a source, and one in what a decoder reads.
std::vector<int> PositionRows(const StackDescription& stack,
                              std::span<const int32_t> ids) {
  std::vector<int> rows;
  const bool decoder =
      stack.layer.front().self_attention.geometry.look_ahead == 0;
  int next = stack.position_offset;
  for (const int32_t id : ids) {
    const bool padding = stack.position_padding_id == id;
    rows.push_back(padding ? *stack.position_padding_id : next);
    if (!padding || decoder) ++next;
  }
  return rows;
}

bool IsSinusoidal(PositionEncoding encoding) {
  return encoding == PositionEncoding::kSinusoidal ||
         encoding == PositionEncoding::kSinusoidalToEnd;
}

double Sinusoid(PositionEncoding encoding, int row, int k, int width) {
  const int half = (width + 1) / 2;
  const int pair = k < half ? k : k - half;
  const double exponent = encoding == PositionEncoding::kSinusoidalToEnd
                              ? pair / (half - 1.0)
                              : 2.0 * pair / width;
  const double angle = row / std::pow(10000.0, exponent);
  return k < half ? std::sin(angle) : std::cos(angle);
}

// The same if the projection reads tokens alone.
Matrix EmbedProjected(const StackDescription& stack,
                      std::span<const int32_t> ids,
                      std::span<const int32_t> types, const Numbers& numbers) {
  const EmbeddingTensors& tensors = stack.embeddings;
  const std::vector<float> tokens = Values(tensors.tokens);
  const int width = static_cast<int>(tensors.tokens->shape[1]);
  const int around = tensors.trigrams ? 1 : 0;
  Matrix read(static_cast<int>(ids.size()), (1 + 2 * around) * width);
  for (int i = 0; i < read.rows; ++i) {
    for (int part = -around; part <= around; ++part) {
      const int at = i - part;
      if (at < 0 || at >= read.rows) continue;
      for (int k = 0; k < width; ++k) {
        read.row(i)[(part + around) * width + k] =
            stack.embedding_scale *
            numbers.Embedding(tokens[static_cast<size_t>(ids[at]) * width + k]);
      }
    }
  }
  Matrix x = numbers.Product(read, *tensors.projection);
  const std::vector<float> positions = Values(tensors.positions);
  const std::vector<float> segments =
      tensors.types ? Values(tensors.types) : std::vector<float>();
  const std::vector<int> rows = PositionRows(stack, ids);
  for (int i = 0; i < x.rows; ++i) {
    const size_t type = types.empty() ? 0 : types[i];
    for (int k = 0; k < x.columns; ++k) {
      x.row(i)[k] += positions[static_cast<size_t>(rows[i]) * x.columns + k];
      if (!segments.empty()) x.row(i)[k] += segments[type * x.columns + k];
    }
  }
  return stack.embedding_norm ? Normalized(std::move(x), *stack.embedding_norm,
                                           stack.norm_epsilon)
                              : x;
}

// What enters the first layer; `types` (segments) may be empty.
Matrix Embed(const StackDescription& stack, std::span<const int32_t> ids,
             std::span<const int32_t> types, const Numbers& numbers) {
  const EmbeddingTensors& tensors = stack.embeddings;
  if (tensors.projects_tokens) {
    return EmbedProjected(stack, ids, types, numbers);
  }
  std::vector<float> tokens = Values(tensors.tokens);
  const int width = static_cast<int>(tensors.tokens->shape[1]);
  // Once for each token that is read, however often it is.
  for (const int32_t id : std::set<int32_t>(ids.begin(), ids.end())) {
    for (int k = 0; k < width; ++k) {
      float& value = tokens[static_cast<size_t>(id) * width + k];
      value = static_cast<float>(numbers.Embedding(value));
    }
  }
  std::vector<float> positions, segments;
  if (stack.positions == PositionEncoding::kLearned) {
    positions = Values(tensors.positions);
  }
  if (tensors.types != nullptr) segments = Values(tensors.types);
  const std::vector<int> rows = PositionRows(stack, ids);
  // Else they are added behind the norm and the projection.
  const bool narrow_positions =
      tensors.positions == nullptr ||
      (tensors.positions->shape[1] == width && !stack.positions_after_norm);
  Matrix x(static_cast<int>(ids.size()), width);
  for (int i = 0; i < x.rows; ++i) {
    const int type = types.empty() ? 0 : types[i];
    for (int k = 0; k < width; ++k) {
      double position = 0;
      if (stack.positions == PositionEncoding::kLearned && narrow_positions) {
        position = positions[static_cast<size_t>(rows[i]) * width + k];
      } else if (IsSinusoidal(stack.positions) &&
                 rows[i] != stack.position_padding_id) {
        position = Sinusoid(stack.positions, rows[i], k, width);
      }
      x.row(i)[k] =
          stack.embedding_scale *
              tokens[static_cast<size_t>(ids[i]) * width + k] +
          position +
          (segments.empty() ? 0
                            : segments[static_cast<size_t>(type) * width + k]);
    }
  }
  if (stack.embedding_norm) {
    x = Normalized(std::move(x), *stack.embedding_norm, stack.norm_epsilon);
  }
  if (tensors.projection) x = numbers.Product(x, *tensors.projection);
  for (int i = 0; i < x.rows && !narrow_positions; ++i) {
    for (int k = 0; k < x.columns; ++k) {
      x.row(i)[k] += positions[static_cast<size_t>(rows[i]) * x.columns + k];
    }
  }
  return x;
}

// Returns TokenInputsDescription's e, [tokens, layers x width]; x enters the
// first layer.
Matrix TokenInputs(const Matrix& x, const StackDescription& stack,
                   std::span<const int32_t> ids, const Numbers& numbers) {
  if (!stack.token_inputs) return {};
  const TokenInputsDescription& inputs = *stack.token_inputs;
  Matrix sum = reference::HeadsNormalized(numbers.Product(x, inputs.projection),
                                          inputs.norm, inputs.norm_epsilon);
  const std::vector<float> tokens = Values(inputs.tokens);
  for (int i = 0; i < sum.rows; ++i) {
    for (int k = 0; k < sum.columns; ++k) {
      sum.row(i)[k] +=
          inputs.scale *
          numbers.Embedding(
              tokens[static_cast<size_t>(ids[i]) * sum.columns + k]);
    }
  }
  return sum;
}

// What SublayerNorms describes, with the norms that there are;
// `read` is x but in a parallel layer's feed-forward.
template <typename Function>
Matrix Sublayer(const StackDescription& stack, const SublayerNorms& norms,
                const Matrix& x, const Matrix& read, const Function& f) {
  const auto apply = [&](const std::optional<NormTensors>& norm, Matrix of) {
    return norm ? Normalized(std::move(of), *norm, stack.norm_epsilon) : of;
  };
  Matrix out = apply(norms.of_output, f(apply(norms.before, read)));
  for (double& value : out.data) value *= norms.factor;
  if (norms.of_sum) {
    out = apply(norms.of_sum, reference::Add(std::move(out), x));
  }
  return apply(norms.after, reference::Add(std::move(out), x));
}

Matrix EarlierFeedForwards(Matrix x, const LayerDescription& layer,
                           const StackDescription& stack,
                           const Numbers& numbers) {
  for (const auto& [up, down, norms] : layer.earlier_feed_forwards) {
    x = Sublayer(stack, norms, x, x, [&](const Matrix& in) {
      return numbers.Product(
          Activated(numbers.Product(in, up), stack.activation), down);
    });
  }
  return x;
}

// A layer with BottleneckDescription.
Matrix Narrowed(const Matrix& x, const LayerDescription& layer,
                const StackDescription& stack, const Numbers& numbers,
                std::vector<double>* maps) {
  const BottleneckDescription& bottleneck = *layer.bottleneck;
  const double epsilon = stack.norm_epsilon;
  Matrix h = Normalized(numbers.Product(x, bottleneck.input),
                        bottleneck.input_norm, epsilon);
  h = Sublayer(stack, layer.self_attention_norms, h, h, [&](const Matrix& in) {
    if (!bottleneck.attention) {
      return reference::Attention(in, in, stack, layer.self_attention, &layer,
                                  numbers, maps, /*made=*/nullptr);
    }
    const Matrix read = Normalized(numbers.Product(x, *bottleneck.attention),
                                   *bottleneck.attention_norm, epsilon);
    return reference::Attention(read, read, stack, layer.self_attention, &layer,
                                numbers, maps, /*made=*/nullptr, &x);
  });
  h = EarlierFeedForwards(std::move(h), layer, stack, numbers);
  h = Sublayer(stack, layer.feed_forward_norms, h, h, [&](const Matrix& in) {
    return reference::FeedForward(in, in, layer, stack, numbers);
  });
  return Normalized(reference::Add(numbers.Product(h, bottleneck.output), x),
                    bottleneck.output_norm, epsilon);
}

// What ConvolutionDescription makes of a layer's input and output.
Matrix Convolved(const Matrix& output, const Matrix& input,
                 const ConvolutionDescription& convolution,
                 const StackDescription& stack, const Numbers& numbers) {
  const int width = convolution.width;
  Matrix near(input.rows, input.columns * width);
  for (int i = 0; i < input.rows; ++i) {
    for (int k = 0; k < width; ++k) {
      const int from = i - width / 2 + k;
      if (from < 0 || from >= input.rows) continue;
      for (int c = 0; c < input.columns; ++c) {
        near.row(i)[c * width + k] = input.row(from)[c];
      }
    }
  }
  return Normalized(
      reference::Add(Activated(numbers.Product(near, convolution.product),
                               convolution.activation),
                     output),
      convolution.norm, stack.norm_epsilon);
}

// How many of a source's first tokens are global.
int GlobalTokenCount(const StackDescription& stack,
                     std::span<const int32_t> ids) {
  if (!stack.global_tokens) return 0;
  if (!stack.global_tokens->end_id) return 1;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == *stack.global_tokens->end_id) return static_cast<int>(i);
  }
  return 0;
}

// The layers of an encoder or a decoder, and the final norm. What enters each
// layer goes to `hidden`, if any.
Matrix RunStack(const StackDescription& stack, std::span<const int32_t> ids,
                std::span<const int32_t> types, const Matrix& source_states,
                const Numbers& numbers, std::vector<double>* self_maps,
                std::vector<double>* cross_maps,
                std::vector<Matrix>* hidden = nullptr) {
  Matrix x = Embed(stack, ids, types, numbers);
  const Matrix token_inputs = TokenInputs(x, stack, ids, numbers);
  std::vector<KeysValues> made;  // by the layers so far
  for (const LayerDescription& layer : stack.layer) {
    if (hidden != nullptr) hidden->push_back(x);
    if (layer.bottleneck) {
      x = Narrowed(x, layer, stack, numbers, self_maps);
      continue;
    }
    const Matrix layer_input = x;
    if (layer.mixer) {
      x = Sublayer(stack, layer.self_attention_norms, x, layer_input,
                   [&](const Matrix& in) {
                     return reference::Mixed(in, *layer.mixer, stack, numbers);
                   });
    }
    if (!layer.attends()) {
      self_maps->insert(self_maps->end(), stack.heads * x.rows * x.rows, 0);
      made.emplace_back();
    } else {
      x = Sublayer(stack, layer.self_attention_norms, x, layer_input,
                   [&](const Matrix& in) {
                     if (layer.recurrence) {
                       self_maps->insert(self_maps->end(),
                                         stack.heads * in.rows * in.rows, 0);
                       return reference::Recurrence(in, *layer.recurrence,
                                                    numbers);
                     }
                     if (layer.self_attention.latent) {
                       return reference::LatentAttention(
                           in, stack, layer.self_attention, numbers, self_maps);
                     }
                     return reference::Attention(
                         in, in, stack, layer.self_attention, &layer, numbers,
                         self_maps, &made, /*values=*/nullptr,
                         layer.merges() ? &source_states : nullptr, cross_maps,
                         GlobalTokenCount(stack, ids));
                   });
    }
    if (layer.cross_attention && !layer.merges()) {
      x = Sublayer(
          stack, layer.cross_attention_norms, x, x, [&](const Matrix& in) {
            return reference::Attention(in, source_states, stack,
                                        *layer.cross_attention,
                                        /*layer=*/nullptr, numbers, cross_maps,
                                        /*made=*/nullptr);
          });
    }
    x = EarlierFeedForwards(std::move(x), layer, stack, numbers);
    if (layer.feeds_forward()) {
      const Matrix read = layer.parallel ? layer_input : x;
      x = Sublayer(
          stack, layer.feed_forward_norms, x, read, [&](const Matrix& in) {
            return reference::FeedForward(in, read, layer, stack, numbers);
          });
    }
    if (layer.convolution) {
      x = Convolved(x, layer_input, *layer.convolution, stack, numbers);
    }
    if (layer.token_input) {
      const auto& [gate, output, norm] = *layer.token_input;
      const int width = stack.token_inputs->width;
      const auto index = static_cast<int>(&layer - stack.layer.data());
      const Matrix input =
          reference::Columns(token_inputs, index * width, (index + 1) * width);
      SublayerNorms norms;
      norms.of_output = norm;
      x = Sublayer(stack, norms, x, x, [&](const Matrix& in) {
        Matrix gated = Activated(numbers.Product(in, gate), stack.activation);
        for (size_t i = 0; i < gated.data.size(); ++i) {
          gated.data[i] *= input.data[i];
        }
        return numbers.Product(gated, output);
      });
    }
    for (double& value : x.data) value *= layer.factor;
  }
  if (stack.final_norm) {
    x = Normalized(std::move(x), *stack.final_norm, stack.norm_epsilon);
  }
  return x;
}

}  // namespace

ReferenceTransformer::Encoded ReferenceTransformer::Encode(
    std::span<const int32_t> ids, std::span<const int32_t> types) const {
  const StackDescription& stack = *description_.encoder;
  Encoded encoded;
  encoded.states = RunStack(stack, ids, types, Matrix(), encoder_numbers_,
                            &encoded.attention,
                            /*cross_maps=*/nullptr, &encoded.hidden);
  encoded.hidden.push_back(encoded.states);
  // What the head reads.
  Matrix states = encoded.states;
  if (description_.second_reading) {
    const auto& [second, start_id] = *description_.second_reading;
    std::vector<int32_t> moved = {start_id};
    moved.insert(moved.end(), ids.begin(), ids.end() - 1);
    std::vector<double> no_maps;
    states = RunStack(second, moved, /*types=*/{}, encoded.states,
                      encoder_numbers_, &no_maps, &no_maps);
  }
  Matrix first(1, stack.d_model);
  std::copy_n(states.row(0), stack.d_model, first.row(0));
  if (description_.pooler) {
    encoded.pooled = Activated(Linear(first, description_.pooler->dense),
                               description_.pooler->activation);
  }
  if (description_.head) {
    const HeadDescription& head = *description_.head;
    Matrix x;
    switch (head.input) {
      case HeadDescription::Input::kPooled:
        x = encoded.pooled;
        break;
      case HeadDescription::Input::kFirstToken:
        x = first;
        break;
      case HeadDescription::Input::kLastToken: {
        int last = states.rows - 1;
        while (last > 0 && ids[last] == head.padding_id) --last;
        for (int i = 0; i < states.rows; ++i) {
          if (head.end_id && ids[i] == *head.end_id) last = i;
        }
        x = Matrix(1, stack.d_model);
        std::copy_n(states.row(last), stack.d_model, x.row(0));
        break;
      }
      case HeadDescription::Input::kMean:
        x = Mean(states);
        break;
      case HeadDescription::Input::kMeanOfDense:
      case HeadDescription::Input::kEveryToken:
        x = states;
        break;
    }
    if (head.dense) x = Activated(Linear(x, *head.dense), head.activation);
    if (head.input == HeadDescription::Input::kMeanOfDense) x = Mean(x);
    if (head.norm) x = Normalized(x, *head.norm, stack.norm_epsilon);
    encoded.logits = head.kind == HeadKind::kFillMask
                         ? encoder_numbers_.Product(x, head.output)
                         : Linear(x, head.output);
  }
  return encoded;
}

ReferenceTransformer::Decoded ReferenceTransformer::Decode(
    const Matrix& source_states, std::span<const int32_t> targets) const {
  Decoded decoded;
  decoded.states = RunStack(*description_.decoder, targets, /*types=*/{},
                            source_states, decoder_numbers_,
                            &decoded.self_attention, &decoded.cross_attention);
  const auto& narrowing = description_.output_narrowing;
  Matrix read = decoded.states;
  for (double& value : read.data) value *= description_.logit_factor;
  if (narrowing) read = decoder_numbers_.Product(read, *narrowing);
  // The output projection has eight bits where other weights have four.
  reference::Numbers numbers = decoder_numbers_;
  numbers.form = GroupForm::kScale8;
  decoded.logits = numbers.Product(read, description_.output_projection);
  for (double& logit : decoded.logits.data) {
    logit = reference::SoftCapped(logit, description_.logit_soft_cap);
  }
  return decoded;
}

}  // namespace trivium
