#include "tests/support/reference_transformer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "model/transformer/relative_row.h"

namespace trivium {
namespace {

using reference::Bf16;
using reference::Linear;
using reference::Numbers;
using reference::Values;

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, over each row
// ("Layer Normalization", Ba et al., 2016).
Matrix LayerNorm(Matrix x, const NormTensors& tensors, double epsilon) {
  const std::vector<float> weight = Values(tensors.weight);
  const std::vector<float> bias = Values(tensors.bias);
  for (int i = 0; i < x.rows; ++i) {
    double* row = x.row(i);
    double mean = 0;
    for (int k = 0; k < x.columns; ++k) mean += row[k] / x.columns;
    double variance = 0;
    for (int k = 0; k < x.columns; ++k) {
      variance += (row[k] - mean) * (row[k] - mean) / x.columns;
    }
    const double scale = 1 / std::sqrt(variance + epsilon);
    for (int k = 0; k < x.columns; ++k) {
      row[k] = (row[k] - mean) * scale * weight[k] + bias[k];
    }
  }
  return x;
}

double Activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kGelu:  // x Phi(x), Hendrycks and Gimpel, 2016
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::kGeluTanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) *
                            (x + 0.044715 * x * x * x)));
    case Activation::kSwish:  // Ramachandran et al., 2017
      return x / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Matrix Activated(Matrix x, Activation activation) {
  for (double& value : x.data) value = Activate(activation, value);
  return x;
}

Matrix Add(Matrix a, const Matrix& b) {
  for (size_t i = 0; i < a.data.size(); ++i) a.data[i] += b.data[i];
  return a;
}

// What relative attention adds to a score, see RelativeAttentionDescription.
class RelativeScores {
 public:
  RelativeScores(const StackDescription& stack, const LayerTensors& layer)
      : description_(*stack.relative_attention), heads_(stack.heads) {
    if (description_.bias != nullptr) bias_ = Values(description_.bias);
    if (description_.embeddings == nullptr) return;
    const std::vector<float> values = Values(description_.embeddings);
    Matrix embeddings(2 * description_.span, stack.d_model);
    embeddings.data.assign(values.begin(), values.end());
    if (description_.norm) {
      embeddings = LayerNorm(std::move(embeddings), *description_.norm,
                             stack.norm_epsilon);
    }
    if (layer.position_key) key_ = Linear(embeddings, *layer.position_key);
    if (layer.position_query) {
      query_ = Linear(embeddings, *layer.position_query);
    }
  }

  int terms() const { return description_.terms; }

  // q . K_x + k . Q_x over the dimensions [begin, end).
  double Terms(const double* q, const double* k, int distance, int begin,
               int end) const {
    double sum = 0;
    const int x = RelativeRow(description_, distance);
    for (int d = begin; d < end; ++d) {
      if (key_.rows > 0) sum += q[d] * key_.row(x)[d];
      if (query_.rows > 0) sum += k[d] * query_.row(x)[d];
    }
    return sum;
  }

  double Bias(int distance, int head) const {
    if (bias_.empty()) return 0;
    return bias_[RelativeRow(description_, distance) * heads_ + head];
  }

 private:
  const RelativeAttentionDescription& description_;
  const int heads_;
  std::vector<float> bias_;  // [span, heads]
  Matrix key_, query_;       // [2 span, d_model]
};

// Per head: softmax(Q K^T / sqrt(head size)) V, heads joined, output layer.
// x [queries, d_model] asks, memory [keys, d_model] answers; when causal,
// query i sees keys 0 .. i. Appends the weights [heads, queries, keys] to
// `maps`.
Matrix Attention(const Matrix& x, const Matrix& memory,
                 const AttentionTensors& tensors, int heads, bool causal,
                 const RelativeScores* relative, const Numbers& numbers,
                 std::vector<double>* maps) {
  const Matrix query =
      numbers.Query(numbers.Product(x, tensors.query), relative != nullptr);
  const Matrix key = numbers.KeyOrValue(numbers.Product(memory, tensors.key),
                                        relative != nullptr);
  const Matrix value = numbers.KeyOrValue(
      numbers.Product(memory, tensors.value), relative != nullptr);
  const int head_size = query.columns / heads;
  Matrix joined(x.rows, query.columns);
  for (int h = 0; h < heads; ++h) {
    const int begin = h * head_size;
    for (int i = 0; i < x.rows; ++i) {
      const int visible = causal ? i + 1 : memory.rows;
      std::vector<double> weights(memory.rows, 0);
      double largest = -std::numeric_limits<double>::infinity();
      for (int j = 0; j < visible; ++j) {
        for (int d = begin; d < begin + head_size; ++d) {
          weights[j] += query.row(i)[d] * key.row(j)[d];
        }
        if (relative != nullptr) {
          weights[j] += relative->Terms(query.row(i), key.row(j), i - j, begin,
                                        begin + head_size);
        }
        weights[j] /= std::sqrt(static_cast<double>(head_size) *
                                (relative ? relative->terms() : 1));
        if (relative != nullptr) weights[j] += relative->Bias(i - j, h);
        largest = std::max(largest, weights[j]);
      }
      double sum = 0;
      for (int j = 0; j < visible; ++j) {
        weights[j] = std::exp(weights[j] - largest);
        sum += weights[j];
      }
      for (int j = 0; j < visible; ++j) {
        const double weight = numbers.Weight(weights[j], relative != nullptr);
        weights[j] /= sum;
        for (int d = begin; d < begin + head_size; ++d) {
          joined.row(i)[d] += weight / sum * value.row(j)[d];
        }
      }
      maps->insert(maps->end(), weights.begin(), weights.end());
    }
  }
  return numbers.Product(joined, tensors.output);
}

Matrix FeedForward(const Matrix& x, const LayerTensors& tensors,
                   Activation activation, const Numbers& numbers) {
  Matrix inner = numbers.Product(x, tensors.up);
  for (double& value : inner.data) value = Activate(activation, value);
  return numbers.Product(inner, tensors.down);
}

// The row of the table of learned positions for every token.
std::vector<int> PositionRows(const StackDescription& stack,
                              std::span<const int32_t> ids) {
  std::vector<int> rows;
  int next = stack.position_offset;
  for (const int32_t id : ids) {
    const bool padding = stack.position_padding_id == id;
    rows.push_back(padding ? *stack.position_padding_id : next++);
  }
  return rows;
}

// What enters the first layer; `types` (segments) may be empty.
Matrix Embed(const StackDescription& stack, std::span<const int32_t> ids,
             std::span<const int32_t> types, const Numbers& numbers) {
  const EmbeddingTensors& tensors = stack.embeddings;
  std::vector<float> tokens = Values(tensors.tokens);
  if (numbers.int8_levels > 0) {
    for (float& value : tokens) value = static_cast<float>(Bf16(value));
  }
  std::vector<float> positions, segments;
  if (stack.positions == PositionEncoding::kLearned) {
    positions = Values(tensors.positions);
  }
  if (tensors.types != nullptr) segments = Values(tensors.types);
  const int width = static_cast<int>(tensors.tokens->shape[1]);
  const int half = (width + 1) / 2;
  const std::vector<int> rows = PositionRows(stack, ids);
  Matrix x(static_cast<int>(ids.size()), width);
  for (int i = 0; i < x.rows; ++i) {
    const int type = types.empty() ? 0 : types[i];
    for (int k = 0; k < width; ++k) {
      double position = 0;
      if (stack.positions == PositionEncoding::kLearned) {
        position = positions[static_cast<size_t>(rows[i]) * width + k];
      } else if (stack.positions == PositionEncoding::kSinusoidal) {
        const int pair = k < half ? k : k - half;
        const double angle = i / std::pow(10000.0, 2.0 * pair / width);
        position = k < half ? std::sin(angle) : std::cos(angle);
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
    x = LayerNorm(std::move(x), *stack.embedding_norm, stack.norm_epsilon);
  }
  return tensors.projection ? numbers.Product(x, *tensors.projection) : x;
}

// x + f(x) with the norm after the sum or before f.
template <typename Function>
Matrix Sublayer(const StackDescription& stack, const NormTensors& norm,
                const Matrix& x, const Function& f) {
  if (stack.norm_placement == NormPlacement::kBefore) {
    return Add(x, f(LayerNorm(x, norm, stack.norm_epsilon)));
  }
  return LayerNorm(Add(x, f(x)), norm, stack.norm_epsilon);
}

// The layers of an encoder (causal false) or a decoder, and the final norm.
Matrix RunStack(const StackDescription& stack, std::span<const int32_t> ids,
                std::span<const int32_t> types, bool causal,
                const Matrix& source_states, const Numbers& numbers,
                std::vector<double>* self_maps,
                std::vector<double>* cross_maps) {
  Matrix x = Embed(stack, ids, types, numbers);
  for (const LayerTensors& layer : stack.layer) {
    std::optional<RelativeScores> relative;
    if (stack.relative_attention) relative.emplace(stack, layer);
    x = Sublayer(stack, layer.self_attention_norm, x, [&](const Matrix& in) {
      return Attention(in, in, layer.self_attention, stack.heads, causal,
                       relative ? &*relative : nullptr, numbers, self_maps);
    });
    if (layer.cross_attention) {
      x = Sublayer(stack, layer.cross_attention_norm, x, [&](const Matrix& in) {
        return Attention(in, source_states, *layer.cross_attention, stack.heads,
                         /*causal=*/false, /*relative=*/nullptr, numbers,
                         cross_maps);
      });
    }
    x = Sublayer(stack, layer.feed_forward_norm, x, [&](const Matrix& in) {
      return FeedForward(in, layer, stack.activation, numbers);
    });
  }
  if (stack.final_norm) {
    x = LayerNorm(std::move(x), *stack.final_norm, stack.norm_epsilon);
  }
  return x;
}

}  // namespace

ReferenceTransformer::Encoded ReferenceTransformer::Encode(
    std::span<const int32_t> ids, std::span<const int32_t> types) const {
  const StackDescription& stack = *description_.encoder;
  Encoded encoded;
  encoded.states = RunStack(stack, ids, types, /*causal=*/false, Matrix(),
                            numbers_, &encoded.attention,
                            /*cross_maps=*/nullptr);
  Matrix first(1, stack.d_model);
  std::copy_n(encoded.states.row(0), stack.d_model, first.row(0));
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
      case HeadDescription::Input::kEveryToken:
        x = encoded.states;
        break;
    }
    if (head.dense) x = Activated(Linear(x, *head.dense), head.activation);
    if (head.norm) x = LayerNorm(x, *head.norm, stack.norm_epsilon);
    encoded.logits = Linear(x, head.output);
  }
  return encoded;
}

ReferenceTransformer::Decoded ReferenceTransformer::Decode(
    const Matrix& source_states, std::span<const int32_t> targets) const {
  Decoded decoded;
  decoded.states = RunStack(*description_.decoder, targets, /*types=*/{},
                            /*causal=*/true, source_states, Numbers(),
                            &decoded.self_attention, &decoded.cross_attention);
  decoded.logits = Linear(decoded.states, description_.output_projection);
  return decoded;
}

}  // namespace trivium
