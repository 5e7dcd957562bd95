// Embed pools first, then makes the steps in their order. Weights are kept as
// f32: these layers are small beside the model.
//
// An override of the pooling skips all steps but the normalization: it would
// change their input. An override that normalizes where no step does so, or
// where the folder keeps only the first dimensions, does it last.
#include "model/sentence_encoder.h"

#include <algorithm>
#include <cmath>

#include "model/kernels/row_ops.h"
#include "model/similarity.h"

namespace trivium {
namespace {

// Pools the states from token `skipped` on. If there are no more, takes the
// last one.
void Pool(std::span<const float> states, size_t width, TokenPooling pooling,
          size_t skipped, std::vector<float>* out) {
  const size_t tokens = states.size() / width;
  const size_t begin = std::min(skipped, tokens - 1);
  const auto state = [&](size_t token) { return &states[token * width]; };
  const size_t first = pooling == TokenPooling::kLast ? tokens - 1 : begin;
  std::vector<float> vector(state(first), state(first) + width);
  switch (pooling) {
    case TokenPooling::kFirst:
    case TokenPooling::kLast:
      break;
    case TokenPooling::kMax:
      for (size_t token = begin + 1; token < tokens; ++token) {
        for (size_t i = 0; i < width; ++i) {
          vector[i] = std::max(vector[i], state(token)[i]);
        }
      }
      break;
    case TokenPooling::kMean:
    case TokenPooling::kMeanRoot: {
      for (size_t token = begin + 1; token < tokens; ++token) {
        AddRow({.f32 = state(token), .n = static_cast<int>(width)},
               vector.data());
      }
      const float count = static_cast<float>(tokens - begin);
      const float divisor =
          pooling == TokenPooling::kMean ? count : std::sqrt(count);
      for (float& value : vector) value /= divisor;
      break;
    }
    case TokenPooling::kWeightedMean: {
      std::vector<double> sum(width);
      double weights = 0;
      for (size_t token = begin; token < tokens; ++token) {
        const auto weight = static_cast<double>(token + 1);
        for (size_t i = 0; i < width; ++i) sum[i] += weight * state(token)[i];
        weights += weight;
      }
      for (size_t i = 0; i < width; ++i) {
        vector[i] = static_cast<float>(sum[i] / weights);
      }
      break;
    }
  }
  out->insert(out->end(), vector.begin(), vector.end());
}

}  // namespace

int SentenceEncoder::embedding_size(int d_model) const {
  if (!has_dense()) return 0;
  int size = d_model * static_cast<int>(poolings_.size());
  for (const Step& step : steps_) {
    if (const auto* dense = std::get_if<Dense>(&step)) size = dense->out;
  }
  return std::min(size, dimensions_.value_or(size));
}

bool SentenceEncoder::PoolsParts(const Overrides& overrides) const {
  const auto takes_one = [](TokenPooling pooling) {
    return pooling == TokenPooling::kFirst || pooling == TokenPooling::kLast;
  };
  return overrides.pooling
             ? !takes_one(*overrides.pooling)
             : std::none_of(poolings_.begin(), poolings_.end(), takes_one);
}

States SentenceEncoder::Reads(const Overrides& overrides) const {
  if (!overrides.pooling && poolings_.size() > 1) return States::kAll;
  switch (overrides.pooling.value_or(poolings_.front())) {
    case TokenPooling::kFirst:  // after the prompt, whose length is not known
      return includes_prompt_ ? States::kFirst : States::kAll;
    case TokenPooling::kLast:
      return States::kLast;
    default:
      return States::kAll;
  }
}

std::vector<float> SentenceEncoder::Embed(std::span<const float> states,
                                          int d_model,
                                          const Overrides& overrides) const {
  std::vector<float> x;
  const auto skipped = static_cast<size_t>(overrides.skipped_tokens);
  bool normalize = overrides.normalize.value_or(false);
  if (overrides.pooling) {
    Pool(states, d_model, *overrides.pooling, skipped, &x);
  } else {
    for (const TokenPooling pooling : poolings_) {
      Pool(states, d_model, pooling, skipped, &x);
    }
  }
  for (const Step& step : steps_) {
    if (std::holds_alternative<Normalize>(step)) {
      if (overrides.normalize.value_or(true)) NormalizeLength(x);
      normalize = false;
    } else if (overrides.pooling) {
      continue;
    } else if (const auto* dense = std::get_if<Dense>(&step)) {
      x = Apply(*dense, x);
    } else {
      Apply(std::get<LayerNorm>(step), &x);
    }
  }
  if (!overrides.pooling && dimensions_ &&
      static_cast<size_t>(*dimensions_) < x.size()) {
    x.resize(*dimensions_);
    normalize = overrides.normalize.value_or(false);
  }
  if (normalize) NormalizeLength(x);
  return x;
}

std::vector<SparseWeight> SentenceEncoder::EmbedSparse(
    std::span<const float> states, int d_model, std::span<const int32_t> ids,
    const Overrides& overrides, std::optional<int> most) const {
  if (!auto_encoder_) return token_weights_->Of(states, ids);
  return auto_encoder_->Of(Embed(states, d_model, overrides),
                           most ? most : active_);
}

std::vector<float> SentenceEncoder::Apply(const Dense& dense,
                                          const std::vector<float>& x) {
  std::vector<float> y(dense.out);
  for (int o = 0; o < dense.out; ++o) {
    double sum = dense.bias.empty() ? 0 : dense.bias[o];
    const float* row = &dense.weight[static_cast<size_t>(o) * dense.in];
    for (int i = 0; i < dense.in; ++i) sum += double{row[i]} * x[i];
    double value = dense.activation(sum);
    if (dense.adds_input) value += x[o];
    if (!dense.residual.empty()) {
      const float* residual =
          &dense.residual[static_cast<size_t>(o) * dense.in];
      for (int i = 0; i < dense.in; ++i) value += double{residual[i]} * x[i];
    }
    y[o] = static_cast<float>(value);
  }
  return y;
}

void SentenceEncoder::Apply(const LayerNorm& norm, std::vector<float>* x) {
  constexpr double kEpsilon = 1e-5;  // PyTorch's default
  const auto size = static_cast<double>(x->size());
  double mean = 0, squares = 0;
  for (const float value : *x) mean += value / size;
  for (const float value : *x) squares += (value - mean) * (value - mean);
  const double scale = 1 / std::sqrt(squares / size + kEpsilon);
  for (size_t i = 0; i < x->size(); ++i) {
    (*x)[i] = static_cast<float>(((*x)[i] - mean) * scale * norm.weight[i] +
                                 norm.bias[i]);
  }
}

}  // namespace trivium
