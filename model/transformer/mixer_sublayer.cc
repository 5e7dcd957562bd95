// The order of a layer: the first product of all rows; the convolution of each
// sequence's channels; the products that select, if any; per row, what the
// heads read (activation, norms, rates); the states of each sequence's heads;
// per row, gate and norm; the output product. See layer_description.h for the
// formulas.
#include "model/transformer/mixer_sublayer.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "model/kernels/row_ops.h"
#include "model/kernels/state_step.h"

namespace trivium {
namespace {

using Kind = MixerDescription::Kind;

// Added to |q|^2 and |k|^2 (kGatedDelta).
constexpr float kLengthEpsilon = 1e-6f;

// log(1 + exp(x))
template <typename Real>
Real Softplus(Real x) {
  // This order keeps NaN.
  return std::max(x, Real{0}) + std::log1p(std::exp(-std::fabs(x)));
}

// Divides x by its root mean square.
void DivideByRootMeanSquare(float epsilon, std::span<float> x) {
  double squares = 0;
  for (const float value : x) squares += double{value} * value;
  const auto factor = static_cast<float>(
      1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon));
  for (float& value : x) value *= factor;
}

}  // namespace

float* MixerSublayer::Product(const Mixer& weights, int row) {
  return products_.data() + static_cast<size_t>(row) * weights.projection.out();
}

float* MixerSublayer::Channels(const Mixer& weights, int row) {
  return Product(weights, row) + weights.values;
}

absl::Status MixerSublayer::Run(const MixerTask& task, Rows* rows,
                                Workspace* workspace) {
  const Mixer& weights = task.weights;
  const int count = rows->rows(), values = weights.values;
  rows->Begin(task.norms, &weights.projection, workspace);
  if (weights.before_attention) rows->KeepLayerInput();
  products_.Reserve(static_cast<size_t>(count) * weights.projection.out());
  TRIVIUM_RETURN_IF_ERROR(weights.projection.Forward(
      rows->input, count, workspace, [&](int row, const auto& product, float*) {
        FinishRow(product, Product(weights, row));
        if (weights.kind != Kind::kConvolution) return;
        float* const gate = Channels(weights, row);
        GateRow({.f32 = gate, .n = values}, {.f32 = gate + values, .n = values},
                Activation::kNone, gate);
      }));
  convolved_.Reserve(static_cast<size_t>(count) * weights.channels);
  const int groups = static_cast<int>(task.groups.size());
  const int chunks = weights.state().chunks();
  workspace->team().Run(groups * chunks, 1, [&](int begin, int end, int) {
    for (int i = begin; i < end; ++i) {
      Convolve(task, task.groups[i / chunks], i % chunks);
    }
  });
  rows->other.Resize(count, values);
  if (weights.kind == Kind::kSelectiveScan) {
    TRIVIUM_RETURN_IF_ERROR(Select(weights, count, workspace));
    mixed_.Reserve(static_cast<size_t>(count) * values);
    const int panels = weights.state().panels();
    workspace->team().Run(groups * panels, 1, [&](int begin, int end, int) {
      for (int i = begin; i < end; ++i) {
        Scan(task, task.groups[i / panels], i % panels);
      }
    });
  } else if (weights.kind != Kind::kConvolution) {
    const size_t heads = static_cast<size_t>(count) * weights.heads;
    decays_.Reserve(heads);
    shares_.Reserve(heads);
    mixed_.Reserve(static_cast<size_t>(count) * values);
    workspace->team().Run(count, 1, [&](int begin, int end, int) {
      for (int row = begin; row < end; ++row) PrepareRow(weights, row);
    });
    const int panels = weights.state().panels();
    const int pieces = weights.heads * panels;
    workspace->team().Run(groups * pieces, 1, [&](int begin, int end, int) {
      for (int i = begin; i < end; ++i) {
        const int piece = i % pieces;
        Mix(task, task.groups[i / pieces], piece / panels, piece % panels);
      }
    });
  }
  workspace->team().Run(count, Workspace::kLeastRows,
                        [&](int begin, int end, int) {
                          for (int row = begin; row < end; ++row) {
                            rows->other.Set(row, FinishMixed(weights, row));
                          }
                        });
  return weights.output.Forward(rows->other, count, workspace,
                                [&](int row, const auto& product, float* y) {
                                  rows->Add(row, product, task.norms,
                                            task.reader, y);
                                });
}

void MixerSublayer::Convolve(const MixerTask& task, const StateGroup& group,
                             int chunk) {
  const Mixer& weights = task.weights;
  const int first_channel = chunk * StateShape::kChannelsTogether;
  const int n =
      std::min(StateShape::kChannelsTogether, weights.channels - first_channel);
  const int kept = weights.width - 1;
  // [kept, n], oldest first
  float* const state = task.states.Chunk(group.blocks, task.layer, chunk);
  if (group.position == 0) {
    std::fill_n(state, static_cast<size_t>(kept) * n, 0.0f);
  }
  // The input of the group's token `i`; negative ones are in the state.
  const auto input = [&](int i) -> const float* {
    return i < 0 ? state + static_cast<size_t>(kept + i) * n
                 : Channels(weights, group.first + i) + first_channel;
  };
  const float* const bias = weights.convolution_bias.data();
  const float* x[kMostConvolutionWidth];
  for (int i = 0; i < group.rows; ++i) {
    for (int j = 0; j <= kept; ++j) x[j] = input(i - kept + j);
    ConvolveRow(x, weights.width, weights.convolution.data() + first_channel,
                static_cast<size_t>(weights.channels),
                bias == nullptr ? nullptr : bias + first_channel, n,
                convolved_.data() +
                    static_cast<size_t>(group.first + i) * weights.channels +
                    first_channel);
  }
  // The inputs before token `end`. What is read of the state lies behind what
  // is written.
  const auto store = [&](int end, float* to) {
    for (int j = 0; j < kept; ++j, to += n) {
      std::copy_n(input(end - kept + j), n, to);
    }
  };
  for (const SavedState& saved : group.saved) {
    store(saved.length - group.position,
          task.states.Chunk(saved.blocks.data(), task.layer, chunk));
  }
  store(group.rows, state);
}

absl::Status MixerSublayer::Select(const Mixer& weights, int rows,
                                   Workspace* workspace) {
  const int values = weights.values, size = weights.key_size;
  const int width = weights.rate_width;
  selection_input_.Resize(rows, values);
  rate_input_.Resize(rows, width);
  selected_.Reserve(static_cast<size_t>(rows) * 2 * size);
  rates_.Reserve(static_cast<size_t>(rows) * values);
  workspace->team().Run(
      rows, Workspace::kLeastRows, [&](int begin, int end, int) {
        for (int row = begin; row < end; ++row) {
          float* const x =
              convolved_.data() + static_cast<size_t>(row) * values;
          ActivateRow({.f32 = x, .n = values}, weights.activation, x);
          selection_input_.Set(row, x);
        }
      });
  TRIVIUM_RETURN_IF_ERROR(weights.selection->Forward(
      selection_input_, rows, workspace,
      [&](int row, const auto& product, float* y) {
        FinishRow(product, y);
        if (weights.selection_epsilon.has_value()) {
          const float epsilon = *weights.selection_epsilon;
          DivideByRootMeanSquare(epsilon, {y, static_cast<size_t>(width)});
          for (const int at : {width, width + size}) {
            DivideByRootMeanSquare(epsilon,
                                   {y + at, static_cast<size_t>(size)});
          }
        }
        rate_input_.Set(row, y);
        std::copy_n(y + width, 2 * size,
                    selected_.data() + static_cast<size_t>(row) * 2 * size);
      }));
  return weights.rate->Forward(
      rate_input_, rows, workspace,
      [&](int row, const auto& product, float* y) {
        FinishRow(product, y);
        float* const rates = rates_.data() + static_cast<size_t>(row) * values;
        for (int c = 0; c < values; ++c) {
          rates[c] = Softplus(y[c] + weights.rate_bias.values[c]);
        }
      });
}

void MixerSublayer::Scan(const MixerTask& task, const StateGroup& group,
                         int panel) {
  const Mixer& weights = task.weights;
  const int first = panel * kStateColumns, rows = weights.key_size;
  const int n = std::min(kStateColumns, weights.values - first);
  const size_t size = static_cast<size_t>(rows) * kStateColumns;
  float* const state = task.states.Panel(group.blocks, task.layer, 0, panel);
  if (group.position == 0) std::fill_n(state, size, 0.0f);
  alignas(64) float value[kStateColumns] = {}, rate[kStateColumns] = {};
  alignas(64) float out[kStateColumns];
  const float* const skip = weights.skip.data() + first;
  auto saved = group.saved.begin();
  for (int i = 0; i < group.rows; ++i) {
    const size_t row = static_cast<size_t>(group.first) + i;
    const size_t at = row * weights.values + first;
    const float* const x = convolved_.data() + at;
    std::copy_n(rates_.data() + at, n, rate);
    for (int c = 0; c < n; ++c) value[c] = rate[c] * x[c];
    const float* const key = selected_.data() + row * 2 * rows;
    ScanState({.rows = rows,
               .decay = weights.decay.data() + panel * size,
               .rate = rate,
               .key = key,
               .query = key + rows,
               .value = value,
               .state = state,
               .out = out});
    float* const mixed = mixed_.data() + at;
    for (int c = 0; c < n; ++c) mixed[c] = out[c] + skip[c] * x[c];
    if (saved != group.saved.end() && saved->length == group.position + i + 1) {
      std::copy_n(
          state, size,
          task.states.Panel(saved->blocks.data(), task.layer, 0, panel));
      ++saved;
    }
  }
}

void MixerSublayer::PrepareRow(const Mixer& weights, int row) {
  const int channels = weights.channels, heads = weights.heads;
  float* const x = convolved_.data() + static_cast<size_t>(row) * channels;
  ActivateRow({.f32 = x, .n = channels}, weights.activation, x);
  const bool delta = weights.kind == Kind::kGatedDelta;
  if (delta) {
    const int size = weights.key_size;
    for (int i = 0; i < 2 * weights.key_heads; ++i) {
      const F32Vector& scale =
          i < weights.key_heads ? weights.query_scale : weights.key_scale;
      float* const head = x + static_cast<size_t>(i) * size;
      AddRmsNormRow({.f32 = head, .n = size}, nullptr, scale.data(),
                    kLengthEpsilon / static_cast<float>(size), head);
    }
  }
  const float* const rates = Channels(weights, row) + channels;
  float* const decays = decays_.data() + static_cast<size_t>(row) * heads;
  float* const shares = shares_.data() + static_cast<size_t>(row) * heads;
  for (int h = 0; h < heads; ++h) {
    double rate =
        Softplus(double{rates[h]} + double{weights.rate_bias.values[h]});
    if (!delta) {
      // This order keeps NaN.
      rate = std::min(std::max(rate, double{weights.least_rate}),
                      double{weights.most_rate});
    }
    decays[h] =
        static_cast<float>(std::exp(double{weights.decay.values[h]} * rate));
    shares[h] = static_cast<float>(
        delta ? 1 / (1 + std::exp(-double{rates[heads + h]})) : rate);
  }
}

void MixerSublayer::Mix(const MixerTask& task, const StateGroup& group,
                        int head, int panel) {
  const Mixer& weights = task.weights;
  const bool delta = weights.kind == Kind::kGatedDelta;
  const int keys = weights.key_heads * weights.key_size;
  const int key_at =
      head / (weights.heads / weights.key_heads) * weights.key_size;
  const int value_at = head * weights.value_size + panel * kStateColumns;
  const int n =
      std::min(kStateColumns, weights.value_size - panel * kStateColumns);
  // Offsets of the query, the key and the value among the channels.
  const int query = delta ? key_at : weights.values + keys + key_at;
  const int key = delta ? keys + key_at : weights.values + key_at;
  const int value = delta ? 2 * keys + value_at : value_at;

  const size_t size = static_cast<size_t>(weights.key_size) * kStateColumns;
  float* const state = task.states.Panel(group.blocks, task.layer, head, panel);
  if (group.position == 0) std::fill_n(state, size, 0.0f);
  alignas(64) float v[kStateColumns] = {}, out[kStateColumns];
  const float skip =
      weights.skip.values.empty() ? 0 : weights.skip.values[head];
  auto saved = group.saved.begin();
  for (int i = 0; i < group.rows; ++i) {
    const size_t row = static_cast<size_t>(group.first) + i;
    const float* const x = convolved_.data() + row * weights.channels;
    const float share = shares_.data()[row * weights.heads + head];
    std::copy_n(x + value, n, v);
    StateStep step = {.rows = weights.key_size,
                      .decay = decays_.data()[row * weights.heads + head],
                      .key = x + key,
                      .query = x + query,
                      .value = v,
                      .state = state,
                      .out = out};
    float* const mixed = mixed_.data() + row * weights.values + value_at;
    if (delta) {
      CorrectState(step, share);
      std::copy_n(out, n, mixed);
    } else {
      for (int c = 0; c < n; ++c) v[c] *= share;
      AddToState(step);
      for (int c = 0; c < n; ++c) mixed[c] = out[c] + skip * x[value + c];
    }
    if (saved != group.saved.end() && saved->length == group.position + i + 1) {
      std::copy_n(
          state, size,
          task.states.Panel(saved->blocks.data(), task.layer, head, panel));
      ++saved;
    }
  }
}

const float* MixerSublayer::FinishMixed(const Mixer& weights, int row) {
  const int values = weights.values;
  const size_t at = static_cast<size_t>(row) * values;
  float* const gate = Product(weights, row);
  const auto apply_gate = [&](const float* x, Activation activation) {
    GateRow({.f32 = gate, .n = values}, {.f32 = x, .n = values}, activation,
            gate);
  };
  const auto normalize = [&](float* x) {
    const int size = weights.norm_size;
    for (int begin = 0; begin < values; begin += size) {
      AddRmsNormRow({.f32 = x + begin, .n = size}, nullptr,
                    weights.norm.data() + begin, weights.epsilon, x + begin);
    }
  };
  if (weights.kind == Kind::kConvolution) {
    apply_gate(convolved_.data() + at, Activation::kNone);
    return gate;
  }
  float* const mixed = mixed_.data() + at;
  const bool norms = !weights.norm.values.empty();
  if (norms && !weights.norm_after_gate) normalize(mixed);
  apply_gate(mixed, Activation::kSwish);
  if (norms && weights.norm_after_gate) normalize(gate);
  return gate;
}

}  // namespace trivium
