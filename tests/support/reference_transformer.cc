#include "tests/support/reference_transformer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include "model/transformer/relative_row.h"

namespace trivium {
namespace {

using reference::Linear;
using reference::Numbers;
using reference::Values;

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, over each row
// ("Layer Normalization", Ba et al., 2016), or x / sqrt(mean(x^2) + epsilon) *
// weight ("Root Mean Square Layer Normalization", Zhang and Sennrich, 2019).
Matrix Normalized(Matrix x, const NormTensors& tensors, double epsilon) {
  const std::vector<float> weight = Values(tensors.weight);
  const std::vector<float> bias =
      tensors.bias ? Values(tensors.bias) : std::vector<float>(weight.size());
  for (int i = 0; i < x.rows; ++i) {
    double* row = x.row(i);
    double mean = 0;
    if (tensors.kind == NormTensors::Kind::kLayer) {
      for (int k = 0; k < x.columns; ++k) mean += row[k] / x.columns;
    }
    double variance = 0;
    for (int k = 0; k < x.columns; ++k) {
      variance += (row[k] - mean) * (row[k] - mean) / x.columns;
    }
    const double scale = 1 / std::sqrt(variance + epsilon);
    for (int k = 0; k < x.columns; ++k) {
      row[k] = (row[k] - mean) * scale * (weight[k] + tensors.one_plus_weight) +
               bias[k];
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
    case Activation::kSquaredRelu:
      return std::max(x, 0.0) * std::max(x, 0.0);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
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

// The mean of all rows, [1, columns].
Matrix Mean(const Matrix& x) {
  Matrix mean(1, x.columns);
  for (int i = 0; i < x.rows; ++i) {
    for (int k = 0; k < x.columns; ++k) mean.data[k] += x.row(i)[k] / x.rows;
  }
  return mean;
}

// What relative attention adds to a score, see RelativeAttentionDescription.
class RelativeScores {
 public:
  RelativeScores(const StackDescription& stack, const LayerDescription& layer)
      : description_(*stack.relative_attention), heads_(stack.heads) {
    if (description_.bias != nullptr) bias_ = Values(description_.bias);
    if (layer.position_bias != nullptr) bias_ = Values(layer.position_bias);
    if (description_.embeddings == nullptr) return;
    const std::vector<float> values = Values(description_.embeddings);
    Matrix embeddings(2 * description_.span, stack.d_model);
    embeddings.data.assign(values.begin(), values.end());
    if (description_.norm) {
      embeddings = Normalized(std::move(embeddings), *description_.norm,
                              stack.norm_epsilon);
    }
    if (layer.position_key) key_ = Linear(embeddings, *layer.position_key);
    if (layer.position_query) {
      query_ = Linear(embeddings, *layer.position_query);
    }
  }

  bool disentangled() const { return key_.rows > 0 || query_.rows > 0; }

  // q . K_x + k . Q_x over the dimensions [begin, end).
  double Terms(const double* q, const double* k, int distance, int begin,
               int end) const {
    if (!disentangled()) return 0;
    double sum = 0;
    const int x = RelativeRow(description_, distance);
    for (int d = begin; d < end; ++d) {
      if (key_.rows > 0) sum += q[d] * key_.row(x)[d];
      if (query_.rows > 0) sum += k[d] * query_.row(x)[d];
    }
    return sum;
  }

  double Bias(int distance, int head) const {
    if (!description_.slopes.empty()) {
      return -double{description_.slopes[head]} * std::abs(distance);
    }
    if (bias_.empty()) return 0;
    return bias_[RelativeRow(description_, distance) * heads_ + head];
  }

 private:
  const RelativeAttentionDescription& description_;
  const int heads_;
  std::vector<float> bias_;  // [span, heads]
  Matrix key_, query_;       // [2 span, d_model]
};

// Queries or keys [tokens, heads x head_size] with each head normalized (Henry
// et al. 2020), or all heads of a token together, if the norm is as wide.
Matrix HeadsNormalized(Matrix x, const std::optional<NormTensors>& norm,
                       double epsilon) {
  if (!norm) return x;
  const int size = static_cast<int>(norm->weight->elements());
  Matrix split(x.rows * (x.columns / size), size);
  split.data = std::move(x.data);
  x.data = Normalized(std::move(split), *norm, epsilon).data;
  return x;
}

// The same with the pair of dimensions i and pairs + i of token p turned by p
// times their frequency (Su et al. 2021), if the layer has rotary positions.
// The angle is an f32.
Matrix Turned(Matrix x, const StackDescription& stack,
              const AttentionGeometry& geometry) {
  const int size = geometry.head_size;
  const int heads = x.columns / size;
  if (geometry.rotary == AttentionGeometry::kNoRotary) return x;
  const RotaryDescription& rotary = stack.rotary[geometry.rotary];
  const size_t pairs = rotary.frequencies.size();
  for (int p = 0; p < x.rows; ++p) {
    for (int h = 0; h < heads; ++h) {
      double* head = x.row(p) + h * size;
      for (size_t i = 0; i < pairs; ++i) {
        const float angle = static_cast<float>(p) * rotary.frequencies[i];
        const double c = rotary.magnitude * std::cos(double{angle});
        const double s = rotary.magnitude * std::sin(double{angle});
        const double first = head[i], second = head[pairs + i];
        head[i] = first * c - second * s;
        head[pairs + i] = second * c + first * s;
      }
    }
  }
  return x;
}

// What attention compares: queries or keys, normalized and turned as the layer
// does it.
Matrix Placed(Matrix x, const StackDescription& stack,
              const AttentionDescription& tensors,
              const std::optional<NormTensors>& norm) {
  const double epsilon = stack.norm_epsilon;
  if (tensors.norms_after_rotary) {
    return HeadsNormalized(Turned(std::move(x), stack, tensors.geometry), norm,
                           epsilon);
  }
  return Turned(HeadsNormalized(std::move(x), norm, epsilon), stack,
                tensors.geometry);
}

// The queries with the factors of RotaryDescription::query_growth.
Matrix Grown(Matrix x, const StackDescription& stack,
             const AttentionGeometry& geometry) {
  if (geometry.rotary == AttentionGeometry::kNoRotary) return x;
  const RotaryDescription& rotary = stack.rotary[geometry.rotary];
  for (int p = 0; p < x.rows; ++p) {
    const double growth =
        rotary.query_growth * std::log(1.0 + p / rotary.growth_length);
    for (int k = 0; k < x.columns; ++k) x.row(p)[k] *= 1 + growth;
  }
  return x;
}

double SoftCapped(double x, double cap) {
  return cap > 0 ? cap * std::tanh(x / cap) : x;
}

// A layer's keys and values as attention reads them.
struct KeysValues {
  Matrix key, value;
};

// Computes them from `memory`.
KeysValues MakeKeysValues(const Matrix& memory, const StackDescription& stack,
                          const AttentionDescription& tensors,
                          const Numbers& numbers, bool disentangled) {
  const int heads = tensors.geometry.kv_heads;
  const Matrix plain = numbers.Product(memory, tensors.key);
  const Matrix value = tensors.value.weight == nullptr
                           ? plain
                           : numbers.Product(memory, tensors.value);
  return {numbers.KeyOrValue(Placed(plain, stack, tensors, tensors.key_norm),
                             heads, disentangled),
          numbers.KeyOrValue(
              HeadsNormalized(value, tensors.value_norm, stack.norm_epsilon),
              heads, disentangled)};
}

// Per head: softmax(cap(scale Q K^T)) V, heads joined, output layer. x
// [queries, d_model] asks, memory [keys, d_model] answers; query i sees the
// keys from i - look_back to i + look_ahead. Appends the weights [heads,
// queries, keys] to `maps`, and of self-attention the layer's keys and values
// to `made`, which has those of earlier layers.
Matrix Attention(const Matrix& x, const Matrix& memory,
                 const StackDescription& stack,
                 const AttentionDescription& tensors,
                 const RelativeScores* relative, const Numbers& numbers,
                 std::vector<double>* maps, std::vector<KeysValues>* made) {
  const AttentionGeometry& geometry = tensors.geometry;
  const bool disentangled = relative != nullptr && relative->disentangled();
  const Matrix query =
      numbers.Query(Grown(Placed(numbers.Product(x, tensors.query), stack,
                                 tensors, tensors.query_norm),
                          stack, geometry),
                    geometry.heads, disentangled);
  Numbers of_memory = numbers;
  if (&memory != &x) of_memory.closest_tie = numbers.closest_source_tie;
  const KeysValues read =
      geometry.reads >= 0
          ? (*made)[geometry.reads]
          : MakeKeysValues(memory, stack, tensors, of_memory, disentangled);
  if (made != nullptr) made->push_back(read);
  const auto& [key, value] = read;
  const int head_size = geometry.head_size;
  // A key more, of no value (Xiao et al. 2023).
  const std::vector<float> sinks =
      tensors.sinks ? Values(tensors.sinks) : std::vector<float>();
  Matrix joined(x.rows, query.columns);
  for (int h = 0; h < geometry.heads; ++h) {
    const int begin = h * head_size;
    // From a dimension of the queries' head to that of its keys and values.
    const int shift =
        h / (geometry.heads / geometry.kv_heads) * head_size - begin;
    for (int i = 0; i < x.rows; ++i) {
      const int first = std::max(0, i - std::min(i, geometry.look_back));
      const int last = static_cast<int>(
          std::min<int64_t>(memory.rows - 1, i + int64_t{geometry.look_ahead}));
      std::vector<double> weights;  // of keys first to last
      for (int j = first; j <= last; ++j) {
        double score = 0;
        for (int d = begin; d < begin + head_size; ++d) {
          score += query.row(i)[d] * key.row(j)[d + shift];
        }
        if (relative != nullptr) {
          score += relative->Terms(query.row(i), key.row(j), i - j, begin,
                                   begin + head_size);
        }
        score = SoftCapped(score * geometry.scale, geometry.soft_cap);
        if (relative != nullptr) score += relative->Bias(i - j, h);
        weights.push_back(score);
      }
      double largest = *std::max_element(weights.begin(), weights.end());
      double sum = 0;
      if (!sinks.empty()) {
        largest = std::max<double>(largest, sinks[h]);
        sum = std::exp(sinks[h] - largest);
      }
      for (double& weight : weights) {
        weight = std::exp(weight - largest);
        sum += weight;
      }
      const std::vector<double> rounded = numbers.Weights(
          weights, first, value, begin + shift, head_size, disentangled);
      maps->insert(maps->end(), first, 0.0);
      for (int j = first; j <= last; ++j) {
        maps->push_back(weights[j - first] / sum);
        for (int d = begin; d < begin + head_size; ++d) {
          joined.row(i)[d] +=
              rounded[j - first] / sum * value.row(j)[d + shift];
        }
      }
      maps->insert(maps->end(), memory.rows - 1 - last, 0.0);
    }
  }
  if (tensors.gate) {
    const Matrix gate = numbers.Product(x, *tensors.gate);
    for (size_t i = 0; i < joined.data.size(); ++i) {
      joined.data[i] *= Activate(Activation::kSigmoid, gate.data[i]);
    }
  }
  return numbers.Product(joined, tensors.output);
}

// Columns [begin, end) of x.
Matrix Columns(const Matrix& x, int begin, int end) {
  Matrix part(x.rows, end - begin);
  for (int i = 0; i < x.rows; ++i) {
    std::copy(x.row(i) + begin, x.row(i) + end, part.row(i));
  }
  return part;
}

// As LatentDescription says it, in its absorbed form.
Matrix LatentAttention(const Matrix& x, const StackDescription& stack,
                       const AttentionDescription& tensors, Numbers numbers,
                       std::vector<double>* maps) {
  numbers.rounds_queries = false;  // as RoundsQueries says
  const AttentionGeometry& geometry = tensors.geometry;
  const LatentDescription& latent = *tensors.latent;
  const int turned = latent.turned, size = turned + latent.plain;
  Matrix narrow = x;
  if (latent.query_down) {
    narrow = numbers.Product(x, *latent.query_down);
    if (latent.query_norm) {
      narrow = Normalized(narrow, *latent.query_norm, latent.norm_epsilon);
    }
  }
  // Each head's queries and the keys as geometry says: rotary positions turn
  // the first dimensions.
  const Matrix given = numbers.Product(narrow, tensors.query);
  Matrix query(x.rows, geometry.query_width());
  Matrix growth(x.rows, 1);
  for (int i = 0; i < x.rows; ++i) growth.row(i)[0] = 1;
  growth = Grown(std::move(growth), stack, geometry);
  for (int h = 0; h < geometry.heads; ++h) {
    Matrix plain = Columns(given, h * size + turned, (h + 1) * size);
    for (int i = 0; i < x.rows; ++i) {
      for (int k = 0; k < plain.columns; ++k) {
        plain.row(i)[k] *= growth.row(i)[0];
      }
    }
    const Matrix absorbed = numbers.Product(plain, latent.key_up[h]);
    for (int i = 0; i < x.rows; ++i) {
      double* to = query.row(i) + h * geometry.head_size;
      for (int k = 0; k < turned; ++k) {
        to[k] = given.row(i)[h * size + k] * growth.row(i)[0];
      }
      std::copy_n(absorbed.row(i), latent.rank, to + turned);
    }
  }
  query = numbers.Query(Turned(std::move(query), stack, geometry),
                        geometry.heads, /*disentangled=*/false);
  Matrix key = numbers.Product(x, tensors.key);
  const Matrix normalized = Normalized(Columns(key, turned, key.columns),
                                       latent.norm, latent.norm_epsilon);
  for (int i = 0; i < x.rows; ++i) {
    std::copy_n(normalized.row(i), latent.rank, key.row(i) + turned);
  }
  key = numbers.KeyOrValue(Turned(std::move(key), stack, geometry),
                           /*heads=*/1, /*disentangled=*/false);
  Matrix joined(x.rows, geometry.heads * latent.value);
  for (int h = 0; h < geometry.heads; ++h) {
    Matrix sums(x.rows, latent.rank);
    for (int i = 0; i < x.rows; ++i) {
      const int first = std::max(0, i - std::min(i, geometry.look_back));
      std::vector<double> weights;  // of keys first to i
      for (int j = first; j <= i; ++j) {
        double score = 0;
        for (int d = 0; d < geometry.head_size; ++d) {
          score += query.row(i)[h * geometry.head_size + d] * key.row(j)[d];
        }
        weights.push_back(
            SoftCapped(score * geometry.scale, geometry.soft_cap));
      }
      const double largest = *std::max_element(weights.begin(), weights.end());
      double sum = 0;
      for (double& weight : weights) sum += weight = std::exp(weight - largest);
      const std::vector<double> rounded =
          numbers.Weights(weights, first, key, /*begin=*/0, geometry.head_size,
                          /*disentangled=*/false);
      maps->insert(maps->end(), first, 0.0);
      for (int j = first; j <= i; ++j) {
        maps->push_back(weights[j - first] / sum);
        for (int d = 0; d < latent.rank; ++d) {
          sums.row(i)[d] += rounded[j - first] / sum * key.row(j)[turned + d];
        }
      }
      maps->insert(maps->end(), x.rows - 1 - i, 0.0);
    }
    const Matrix output = numbers.Product(sums, latent.value_up[h]);
    for (int i = 0; i < x.rows; ++i) {
      std::copy_n(output.row(i), latent.value,
                  joined.row(i) + h * latent.value);
    }
  }
  return numbers.Product(joined, tensors.output);
}

// W_down (activation(W_gate x) * W_up x), or with GPT-OSS's clipped gate, or
// W_down activation(W_up x).
Matrix Gated(const Matrix& x, const ExpertTensors& tensors,
             const StackDescription& stack, const Numbers& numbers) {
  if (tensors.gate.weight == nullptr) {
    return numbers.Product(
        Activated(numbers.Product(x, tensors.up), stack.activation),
        tensors.down);
  }
  Matrix gate = numbers.Product(x, tensors.gate);
  const Matrix up = numbers.Product(x, tensors.up);
  for (size_t i = 0; i < up.data.size(); ++i) {
    double& value = gate.data[i];
    if (stack.gate_clip) {
      const auto [alpha, limit] = *stack.gate_clip;
      value = std::min<double>(value, limit);
      value *= (std::clamp<double>(up.data[i], -limit, limit) + 1) /
               (1 + std::exp(-alpha * value));
    } else {
      value = Activate(stack.activation, value) * up.data[i];
    }
  }
  return numbers.Product(gate, tensors.down);
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// A token's scores of all experts, as ExpertsDescription says it.
std::vector<double> ExpertScores(const ExpertsDescription& description,
                                 const double* logits) {
  const int experts = static_cast<int>(description.experts.size());
  std::vector<double> scores(logits, logits + experts);
  if (description.scores == ExpertsDescription::Scores::kSigmoid) {
    for (double& score : scores) score = Sigmoid(score);
    return scores;
  }
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - most);
  for (double& score : scores) score /= sum;
  return scores;
}

// The experts by scores plus correction, best first, without those of groups
// that do not take part.
std::vector<int> BestExperts(const ExpertsDescription& description,
                             const std::vector<double>& scores) {
  std::vector<double> corrected = scores;
  if (description.correction != nullptr) {
    const std::vector<float> correction = Values(description.correction);
    for (size_t e = 0; e < scores.size(); ++e) corrected[e] += correction[e];
  }
  const auto best = [](const std::vector<double>& of, auto* order) {
    std::stable_sort(order->begin(), order->end(),
                     [&](int a, int b) { return of[a] > of[b]; });
  };
  const int size = static_cast<int>(scores.size()) / description.groups;
  std::vector<double> of_groups;
  for (int g = 0; g < description.groups; ++g) {
    std::vector<double> group(corrected.begin() + g * size,
                              corrected.begin() + (g + 1) * size);
    std::sort(group.rbegin(), group.rend());
    of_groups.push_back(group[0] +
                        (description.groups_by_two && size > 1 ? group[1] : 0));
  }
  std::vector<int> groups(description.groups);
  std::iota(groups.begin(), groups.end(), 0);
  best(of_groups, &groups);
  groups.resize(description.chosen_groups);
  std::sort(groups.begin(), groups.end());
  std::vector<int> order;
  for (const int g : groups) {
    for (int e = g * size; e < (g + 1) * size; ++e) order.push_back(e);
  }
  best(corrected, &order);
  return order;
}

// The sum of a token's experts' outputs (Jiang et al. 2024; Shazeer et al.
// 2017; DeepSeek-AI 2024). `routed` is what the router reads.
Matrix Experts(const Matrix& x, const Matrix& routed,
               const ExpertsDescription& description,
               const StackDescription& stack, const Numbers& numbers) {
  const Matrix logits = Linear(routed, description.router);
  const std::vector<float> bias = description.bias
                                      ? Values(description.bias)
                                      : std::vector<float>(x.columns);
  Matrix y(x.rows, x.columns);
  for (int i = 0; i < x.rows; ++i) {
    std::copy(bias.begin(), bias.end(), y.row(i));
    const std::vector<double> scores = ExpertScores(description, logits.row(i));
    const std::vector<int> order = BestExperts(description, scores);
    double sum = description.over_all ? 1 : 0;
    for (int c = 0; c < description.chosen && !description.over_all; ++c) {
      sum += scores[order[c]];
    }
    Matrix one(1, x.columns);
    std::copy_n(x.row(i), x.columns, one.row(0));
    for (int c = 0; c < description.chosen; ++c) {
      const int e = order[c];
      const Matrix out = Gated(one, description.experts[e], stack, numbers);
      double weight = description.factor * scores[e] / sum;
      if (description.scales) weight *= Values(description.scales)[e];
      for (int k = 0; k < x.columns; ++k) y.row(i)[k] += weight * out.data[k];
    }
  }
  return y;
}

// `x` is normalized by the layer's norm, `read` is what the norm reads.
Matrix FeedForward(const Matrix& x, const Matrix& read,
                   const LayerDescription& tensors,
                   const StackDescription& stack, const Numbers& numbers) {
  if (tensors.experts) {
    const ExpertsDescription& experts = *tensors.experts;
    const double epsilon = stack.norm_epsilon;
    const auto& beside = experts.beside;
    Matrix sum =
        Experts(beside ? Normalized(read, beside->of_input, epsilon) : x,
                beside ? Normalized(read, beside->router, epsilon) : x, experts,
                stack, numbers);
    if (beside) sum = Normalized(std::move(sum), beside->of_experts, epsilon);
    if (!experts.shared) return sum;
    Matrix shared = Gated(x, *experts.shared, stack, numbers);
    if (beside) shared = Normalized(shared, beside->of_shared, epsilon);
    if (experts.shared_gate != nullptr) {
      const Matrix gate = Linear(x, {experts.shared_gate});
      for (int i = 0; i < x.rows; ++i) {
        for (int k = 0; k < x.columns; ++k) {
          shared.row(i)[k] *= Sigmoid(gate.row(i)[0]);
        }
      }
    }
    return Add(std::move(shared), sum);
  }
  return Gated(
      x, {tensors.gate.value_or(LinearTensors()), tensors.up, tensors.down},
      stack, numbers);
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

// As RecurrenceDescription says it.
Matrix Recurrence(const Matrix& x, const RecurrenceDescription& tensors,
                  const Numbers& numbers) {
  const Matrix input = numbers.Product(x, tensors.input);
  const Matrix forget = numbers.Product(x, tensors.forget);
  std::vector<double> state(x.columns);
  Matrix y(x.rows, x.columns);
  for (int i = 0; i < x.rows; ++i) {
    for (int k = 0; k < x.columns; ++k) {
      const double kept = 1 / (1 + std::exp(-forget.row(i)[k]));
      state[k] = kept * state[k] + (1 - kept) * input.row(i)[k];
      y.row(i)[k] = std::max(state[k], 0.0);
    }
  }
  return y;
}

// x divided by its length.
std::vector<double> Directed(const double* x, int size) {
  double squares = 1e-6;
  for (int k = 0; k < size; ++k) squares += x[k] * x[k];
  std::vector<double> y(x, x + size);
  for (double& value : y) value /= std::sqrt(squares);
  return y;
}

// The convolution of x along its rows.
Matrix Convolved(const Matrix& x, const MixerDescription& tensors) {
  const std::vector<float> weights = Values(tensors.convolution);
  std::vector<float> bias(x.columns);
  if (tensors.convolution_bias) bias = Values(tensors.convolution_bias);
  Matrix y(x.rows, x.columns);
  for (int t = 0; t < x.rows; ++t) {
    for (int c = 0; c < x.columns; ++c) {
      y.row(t)[c] = bias[c];
      for (int i = 0; i < tensors.width; ++i) {
        const int from = t - tensors.width + 1 + i;
        if (from < 0) continue;
        y.row(t)[c] += weights[c * tensors.width + i] * x.row(from)[c];
      }
    }
  }
  return y;
}

// The outputs of all heads, [tokens, values]; `c` is what was convolved.
Matrix StateOutputs(const Matrix& x, const Matrix& c,
                    const MixerDescription& tensors, const Numbers& numbers) {
  const bool delta = tensors.kind == MixerDescription::Kind::kGatedDelta;
  const std::vector<float> decays = Values(tensors.decay);
  const std::vector<float> rate_bias = Values(tensors.rate_bias);
  std::vector<float> skips(tensors.heads);
  if (tensors.skip) skips = Values(tensors.skip);
  const Matrix rates = numbers.Product(x, *tensors.rate);
  const Matrix shares = delta ? numbers.Product(x, *tensors.share) : Matrix();
  const int n = tensors.key_size, m = tensors.value_size;
  const int keys = tensors.key_heads * n, values = tensors.heads * m;
  Matrix y(x.rows, values);
  for (int h = 0; h < tensors.heads; ++h) {
    const int key_at = h / (tensors.heads / tensors.key_heads) * n;
    Matrix state(n, m);
    for (int t = 0; t < x.rows; ++t) {
      double rate = std::log1p(std::exp(rates.row(t)[h] + rate_bias[h]));
      std::vector<double> q, k;
      const double* v = c.row(t) + h * m;
      if (delta) {
        q = Directed(c.row(t) + key_at, n);
        k = Directed(c.row(t) + keys + key_at, n);
        for (double& value : q) value /= std::sqrt(n);
        v += 2 * keys;
      } else {
        const double* const all_k = c.row(t) + values + key_at;
        k.assign(all_k, all_k + n);
        q.assign(all_k + keys, all_k + keys + n);
        rate = std::clamp<double>(rate, tensors.least_rate, tensors.most_rate);
      }
      for (double& s : state.data) s *= std::exp(-std::exp(decays[h]) * rate);
      for (int j = 0; j < m; ++j) {
        double change = rate * v[j];
        if (delta) {
          change = v[j];
          for (int i = 0; i < n; ++i) change -= state.row(i)[j] * k[i];
          change *= Activate(Activation::kSigmoid, shares.row(t)[h]);
        }
        double& out = y.row(t)[h * m + j];
        out = skips[h] * v[j];
        for (int i = 0; i < n; ++i) {
          state.row(i)[j] += k[i] * change;
          out += state.row(i)[j] * q[i];
        }
      }
    }
  }
  return y;
}

// As MixerDescription says it.
Matrix Mixed(const Matrix& x, const MixerDescription& tensors,
             const StackDescription& stack, const Numbers& numbers) {
  Matrix c(x.rows, 0);
  for (const LinearTensors& part : tensors.channels) {
    const Matrix more = numbers.Product(x, part);
    Matrix both(x.rows, c.columns + more.columns);
    for (int t = 0; t < x.rows; ++t) {
      std::copy_n(c.row(t), c.columns, both.row(t));
      std::copy_n(more.row(t), more.columns, both.row(t) + c.columns);
    }
    c = both;
  }
  const auto times = [](Matrix a, const Matrix& b) {
    for (size_t i = 0; i < a.data.size(); ++i) a.data[i] *= b.data[i];
    return a;
  };
  const Matrix gate = numbers.Product(x, tensors.gate);
  if (tensors.kind == MixerDescription::Kind::kConvolution) {
    c = times(c, numbers.Product(x, *tensors.channel_gate));
    return numbers.Product(times(Convolved(c, tensors), gate), tensors.output);
  }
  c = Activated(Convolved(c, tensors), tensors.activation);
  Matrix y = StateOutputs(x, c, tensors, numbers);
  const Matrix swish = Activated(gate, Activation::kSwish);
  if (tensors.norm_after_gate) y = times(y, swish);
  if (tensors.norm) {
    const std::vector<float> weight = Values(tensors.norm->weight);
    const int size = tensors.norm_size;
    for (int t = 0; t < y.rows; ++t) {
      for (int begin = 0; begin < y.columns; begin += size) {
        double squares = 0;
        for (int k = begin; k < begin + size; ++k) {
          squares += y.row(t)[k] * y.row(t)[k] / size;
        }
        for (int k = begin; k < begin + size; ++k) {
          y.row(t)[k] *= weight[k % weight.size()] /
                         std::sqrt(squares + double{stack.norm_epsilon});
        }
      }
    }
  }
  if (!tensors.norm_after_gate) y = times(y, swish);
  return numbers.Product(y, tensors.output);
}

// What enters the first layer; `types` (segments) may be empty.
Matrix Embed(const StackDescription& stack, std::span<const int32_t> ids,
             std::span<const int32_t> types, const Numbers& numbers) {
  const EmbeddingTensors& tensors = stack.embeddings;
  std::vector<float> tokens = Values(tensors.tokens);
  for (float& value : tokens) {
    value = static_cast<float>(numbers.Embedding(value));
  }
  std::vector<float> positions, segments;
  if (stack.positions == PositionEncoding::kLearned) {
    positions = Values(tensors.positions);
  }
  if (tensors.types != nullptr) segments = Values(tensors.types);
  const int width = static_cast<int>(tensors.tokens->shape[1]);
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

// As TokenInputsDescription says it, [tokens, layers x width]; x enters the
// first layer.
Matrix TokenInputs(const Matrix& x, const StackDescription& stack,
                   std::span<const int32_t> ids, const Numbers& numbers) {
  if (!stack.token_inputs) return {};
  const TokenInputsDescription& inputs = *stack.token_inputs;
  Matrix sum = HeadsNormalized(numbers.Product(x, inputs.projection),
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

// after(x + factor of_output(f(before(read)))) with the norms that there are;
// `read` is x but in a parallel layer's feed-forward.
template <typename Function>
Matrix Sublayer(const StackDescription& stack, const SublayerNorms& norms,
                const Matrix& x, const Matrix& read, const Function& f) {
  const auto apply = [&](const std::optional<NormTensors>& norm, Matrix of) {
    return norm ? Normalized(std::move(of), *norm, stack.norm_epsilon) : of;
  };
  Matrix out = apply(norms.of_output, f(apply(norms.before, read)));
  for (double& value : out.data) value *= norms.factor;
  return apply(norms.after, Add(std::move(out), x));
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
    std::optional<RelativeScores> relative;
    if (stack.relative_attention) relative.emplace(stack, layer);
    const Matrix layer_input = x;
    if (layer.mixer) {
      x = Sublayer(stack, layer.self_attention_norms, x, layer_input,
                   [&](const Matrix& in) {
                     return Mixed(in, *layer.mixer, stack, numbers);
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
                       return Recurrence(in, *layer.recurrence, numbers);
                     }
                     if (layer.self_attention.latent) {
                       return LatentAttention(in, stack, layer.self_attention,
                                              numbers, self_maps);
                     }
                     return Attention(in, in, stack, layer.self_attention,
                                      relative ? &*relative : nullptr, numbers,
                                      self_maps, &made);
                   });
    }
    if (layer.cross_attention) {
      x = Sublayer(
          stack, layer.cross_attention_norms, x, x, [&](const Matrix& in) {
            return Attention(in, source_states, stack, *layer.cross_attention,
                             /*relative=*/nullptr, numbers, cross_maps,
                             /*made=*/nullptr);
          });
    }
    if (!layer.feeds_forward()) continue;
    const Matrix read = layer.parallel ? layer_input : x;
    x = Sublayer(stack, layer.feed_forward_norms, x, read,
                 [&](const Matrix& in) {
                   return FeedForward(in, read, layer, stack, numbers);
                 });
    if (layer.token_input) {
      const auto& [gate, output, norm] = *layer.token_input;
      const int width = stack.token_inputs->width;
      const auto index = static_cast<int>(&layer - stack.layer.data());
      const Matrix input =
          Columns(token_inputs, index * width, (index + 1) * width);
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
    logit = SoftCapped(logit, description_.logit_soft_cap);
  }
  return decoded;
}

}  // namespace trivium
