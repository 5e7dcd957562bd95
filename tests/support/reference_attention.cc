#include "tests/support/reference_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "model/transformer/relative_row.h"
#include "model/weights/half.h"
#include "tests/support/reference_rows.h"

namespace trivium::reference {
namespace {

// What relative attention adds to a score, see RelativeAttentionDescription.
class RelativeScores {
 public:
  RelativeScores(const StackDescription& stack, const LayerDescription& layer)
      : description_(*stack.relative_attention), heads_(stack.heads) {
    if (description_.bias != nullptr) bias_ = Values(description_.bias);
    if (layer.position_bias != nullptr) bias_ = Values(layer.position_bias);
    if (description_.block_bias) block_bias_ = Values(description_.block_bias);
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

  double Bias(int query, int key, int head) const {
    const int distance = query - key;
    if (description_.bf16_scale > 0) {
      const auto rounded = [](float x) { return Bf16ToF32(F32ToBf16(x)); };
      return double{description_.bf16_scale} *
             rounded(rounded(description_.slopes[head]) *
                     static_cast<float>(key));
    }
    if (!description_.slopes.empty()) {
      return -double{description_.slopes[head]} * std::abs(distance);
    }
    if (bias_.empty()) return 0;
    return bias_[RelativeRow(description_, distance) * heads_ + head];
  }

  double BlockBias(int distance, int head) const {
    return block_bias_[RelativeRow(description_, distance) * heads_ + head];
  }

 private:
  const RelativeAttentionDescription& description_;
  const int heads_;
  std::vector<float> bias_;        // [span, heads]
  std::vector<float> block_bias_;  // the same
  Matrix key_, query_;             // [2 span, d_model]
};

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

// The same limited, see AttentionGeometry::clip.
Matrix Clipped(Matrix x, double most) {
  if (most <= 0) return x;
  for (double& value : x.data) value = std::clamp(value, -most, most);
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
  return Turned(Clipped(HeadsNormalized(std::move(x), norm, epsilon),
                        tensors.geometry.clip),
                stack, tensors.geometry);
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

// Computes them from `memory`.
// Values are made from `values`.
KeysValues MakeKeysValues(const Matrix& memory, const Matrix& values,
                          const StackDescription& stack,
                          const AttentionDescription& tensors,
                          const Numbers& numbers, bool disentangled) {
  const int heads = tensors.geometry.kv_heads;
  const Matrix plain = numbers.Product(memory, tensors.key);
  const Matrix value = tensors.value.weight == nullptr
                           ? plain
                           : numbers.Product(values, tensors.value);
  return {numbers.KeyOrValue(Placed(plain, stack, tensors, tensors.key_norm),
                             heads, disentangled),
          numbers.KeyOrValue(Clipped(HeadsNormalized(value, tensors.value_norm,
                                                     stack.norm_epsilon),
                                     tensors.geometry.clip),
                             heads, disentangled)};
}

// What NearHeadsDescription describes, [tokens, query_width].
Matrix NearHeads(const Matrix& x, const Matrix& query, int heads,
                 const NearHeadsDescription& near, const Numbers& numbers) {
  const int half = near.width / 2, size = query.columns / heads;
  const std::vector<float> depthwise = Values(near.depthwise);
  const Matrix value = numbers.Product(x, near.value);
  // Calls f(k, n) for the token n of each k that is in the text.
  const auto for_each_near = [&](int i, const auto& f) {
    for (int k = 0; k < near.width; ++k) {
      if (const int n = i + k - half; n >= 0 && n < x.rows) f(k, n);
    }
  };
  Matrix sums(x.rows, x.columns), y(x.rows, query.columns);
  for (int i = 0; i < x.rows; ++i) {
    for_each_near(i, [&](int k, int n) {
      for (int c = 0; c < x.columns; ++c) {
        sums.row(i)[c] += depthwise[c * near.width + k] * x.row(n)[c];
      }
    });
  }
  Matrix span = numbers.Product(sums, near.span);
  for (size_t i = 0; i < span.data.size(); ++i) span.data[i] *= query.data[i];
  const Matrix logits = numbers.Product(span, near.weights);
  for (int i = 0; i < x.rows; ++i) {
    for (int h = 0; h < heads; ++h) {
      const double* const of_head = logits.row(i) + h * near.width;
      double sum = 0;
      for (int k = 0; k < near.width; ++k) sum += std::exp(of_head[k]);
      for_each_near(i, [&](int k, int n) {
        for (int d = h * size; d < (h + 1) * size; ++d) {
          y.row(i)[d] += std::exp(of_head[k]) / sum * value.row(n)[d];
        }
      });
    }
  }
  return y;
}

// What GlobalAttentionDescription describes, of the first `count` tokens,
// [count, query_width]. Writes their weights over `maps` [heads, tokens,
// tokens].
Matrix GlobalAttention(const Matrix& x, int count,
                       const AttentionGeometry& geometry,
                       const GlobalAttentionDescription& tensors,
                       const Numbers& numbers, double* maps) {
  const int heads = geometry.heads, size = geometry.head_size;
  const Matrix query =
      numbers.Query(numbers.Product(x, tensors.query), heads, false);
  const Matrix key = numbers.KeyOrValue(numbers.Product(x, tensors.key),
                                        geometry.kv_heads, false);
  const Matrix value = numbers.KeyOrValue(numbers.Product(x, tensors.value),
                                          geometry.kv_heads, false);
  Matrix joined(count, query.columns);
  for (int h = 0; h < heads; ++h) {
    const int begin = h * size;
    const int kv = h / (heads / geometry.kv_heads) * size;
    for (int i = 0; i < count; ++i) {
      std::vector<double> weights(x.rows);
      for (int j = 0; j < x.rows; ++j) {
        for (int d = 0; d < size; ++d) {
          weights[j] += query.row(i)[begin + d] * key.row(j)[kv + d];
        }
        weights[j] = SoftCapped(weights[j] * geometry.scale, geometry.soft_cap);
      }
      const double most = *std::max_element(weights.begin(), weights.end());
      double sum = 0;
      for (double& weight : weights) sum += weight = std::exp(weight - most);
      const std::vector<double> rounded =
          numbers.Weights(weights, 0, value, kv, size, false);
      for (int j = 0; j < x.rows; ++j) {
        maps[(int64_t{h} * x.rows + i) * x.rows + j] = weights[j] / sum;
        for (int d = 0; d < size; ++d) {
          joined.row(i)[begin + d] += rounded[j] / sum * value.row(j)[kv + d];
        }
      }
    }
  }
  return joined;
}

}  // namespace

Matrix Attention(const Matrix& x, const Matrix& memory,
                 const StackDescription& stack,
                 const AttentionDescription& tensors,
                 const LayerDescription* layer, const Numbers& numbers,
                 std::vector<double>* maps, std::vector<KeysValues>* made,
                 const Matrix* values, const Matrix* source,
                 std::vector<double>* source_maps, int global) {
  const AttentionGeometry& geometry = tensors.geometry;
  std::optional<RelativeScores> relative;
  if (layer != nullptr && stack.relative_attention) {
    relative.emplace(stack, *layer);
  }
  const bool disentangled = relative && relative->disentangled();
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
          : MakeKeysValues(memory, values == nullptr ? memory : *values, stack,
                           tensors, of_memory, disentangled);
  if (made != nullptr) made->push_back(read);
  const auto& [key, value] = read;
  const int block_size = tensors.blocks ? tensors.blocks->size : 1;
  // Keys that are seen beside those near a query: blocks, a source's, or global
  // tokens.
  int all_others = tensors.blocks ? x.rows / block_size : 0;
  KeysValues of_others;
  if (source != nullptr) {
    all_others = source->rows;
    AttentionDescription cross = *layer->cross_attention;
    cross.key_norm = tensors.key_norm;
    of_memory.closest_tie = numbers.closest_source_tie;
    of_others = MakeKeysValues(*source, *source, stack, cross, of_memory,
                               /*disentangled=*/false);
  } else if (global > 0) {
    of_others = read;
  } else if (all_others > 0) {
    Matrix sums(all_others, x.columns);
    for (int i = 0; i < x.rows; ++i) {
      double* const sum = sums.row(std::min(i / block_size, all_others - 1));
      for (int k = 0; k < x.columns; ++k) sum[k] += x.row(i)[k];
    }
    sums =
        Normalized(std::move(sums), tensors.blocks->norm, stack.norm_epsilon);
    of_others = MakeKeysValues(sums, sums, stack, tensors, of_memory,
                               /*disentangled=*/false);
  }
  const int head_size = geometry.head_size;
  // A key more, of no value (Xiao et al. 2023).
  const std::vector<float> sinks =
      tensors.sinks ? Values(tensors.sinks) : std::vector<float>();
  Matrix joined(x.rows, query.columns);
  const size_t first_map = maps->size();
  for (int h = 0; h < geometry.heads; ++h) {
    const int begin = h * head_size;
    // From a dimension of the queries' head to that of its keys and values.
    const int shift =
        h / (geometry.heads / geometry.kv_heads) * head_size - begin;
    for (int i = 0; i < x.rows; ++i) {
      const int first = std::max(0, i - std::min(i, geometry.look_back));
      const int last = static_cast<int>(
          std::min<int64_t>(memory.rows - 1, i + int64_t{geometry.look_ahead}));
      const int others = global > 0 ? std::min(global, first) : all_others;
      std::vector<double> weights;  // of keys first to last
      for (int j = first; j <= last; ++j) {
        double score = 0;
        for (int d = begin; d < begin + head_size; ++d) {
          score += query.row(i)[d] * key.row(j)[d + shift];
        }
        if (relative) {
          score += relative->Terms(query.row(i), key.row(j), i - j, begin,
                                   begin + head_size);
        }
        score = SoftCapped(score * geometry.scale, geometry.soft_cap);
        if (relative) score += relative->Bias(i, j, h);
        weights.push_back(score);
      }
      // The values of these keys and of the others.
      Matrix seen;
      if (others > 0) {
        seen = Matrix(last + 1 - first + others, value.columns);
        std::copy(value.row(first), value.row(last) + value.columns,
                  seen.row(0));
        std::copy_n(of_others.value.data.begin(), others * value.columns,
                    seen.row(last + 1 - first));
        const int own = std::min(i / block_size, others - 1);
        for (int j = 0; j < others; ++j) {
          double score = 0;
          for (int d = begin; d < begin + head_size; ++d) {
            score += query.row(i)[d] * of_others.key.row(j)[d + shift];
          }
          score = SoftCapped(score * geometry.scale, geometry.soft_cap);
          if (relative) score += relative->BlockBias(own - j, h);
          weights.push_back(score);
        }
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
          weights, others > 0 ? 0 : first, others > 0 ? seen : value,
          begin + shift, head_size, disentangled);
      maps->insert(maps->end(), first, 0.0);
      for (int j = first; j <= last; ++j) {
        maps->push_back(weights[j - first] / sum);
        for (int d = begin; d < begin + head_size; ++d) {
          joined.row(i)[d] +=
              rounded[j - first] / sum * value.row(j)[d + shift];
        }
      }
      for (int j = 0; j < others; ++j) {
        const int at = last + 1 - first + j;
        if (source_maps != nullptr) source_maps->push_back(weights[at] / sum);
        if (global > 0) {
          (*maps)[first_map + (int64_t{h} * x.rows + i) * x.rows + j] =
              weights[at] / sum;
        }
        for (int d = begin; d < begin + head_size; ++d) {
          joined.row(i)[d] +=
              rounded[at] / sum * of_others.value.row(j)[d + shift];
        }
      }
      maps->insert(maps->end(), memory.rows - 1 - last, 0.0);
    }
  }
  if (global > 0) {
    const Matrix first = GlobalAttention(x, global, geometry, *tensors.global,
                                         numbers, maps->data() + first_map);
    std::copy(first.data.begin(), first.data.end(), joined.data.begin());
  }
  if (tensors.gate) {
    const Matrix gate = numbers.Product(x, *tensors.gate);
    for (size_t i = 0; i < joined.data.size(); ++i) {
      joined.data[i] *= Activate(Activation::kSigmoid, gate.data[i]);
    }
  }
  if (tensors.near) {
    const Matrix near = NearHeads(x, numbers.Product(x, tensors.query),
                                  geometry.heads, *tensors.near, numbers);
    Matrix both(x.rows, 2 * joined.columns);
    for (int i = 0; i < x.rows; ++i) {
      std::copy_n(joined.row(i), joined.columns, both.row(i));
      std::copy_n(near.row(i), joined.columns, both.row(i) + joined.columns);
    }
    joined = both;
  }
  return numbers.Product(joined, tensors.output);
}

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

}  // namespace trivium::reference
