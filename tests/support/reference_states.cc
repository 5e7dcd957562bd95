#include "tests/support/reference_states.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "tests/support/reference_rows.h"

namespace trivium::reference {
namespace {

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

// x divided by its root mean square, if there is an epsilon.
std::vector<double> Part(const double* x, int size,
                         const std::optional<float>& epsilon) {
  std::vector<double> part(x, x + size);
  if (!epsilon) return part;
  double squares = 0;
  for (const double value : part) squares += value * value / size;
  for (double& value : part) value /= std::sqrt(squares + double{*epsilon});
  return part;
}

// The outputs of a selective scan, [tokens, values].
Matrix Scanned(const Matrix& c, const MixerDescription& tensors) {
  const std::vector<float> decays = Values(tensors.decay);
  const std::vector<float> bias = Values(tensors.rate_bias);
  const std::vector<float> skips = Values(tensors.skip);
  const Matrix selected = Linear(c, *tensors.selection);
  const int n = tensors.key_size, width = tensors.rate_width;
  Matrix low(c.rows, width), state(c.columns, n), y(c.rows, c.columns);
  const auto& epsilon = tensors.selection_epsilon;
  for (int t = 0; t < c.rows; ++t) {
    const std::vector<double> part = Part(selected.row(t), width, epsilon);
    std::copy(part.begin(), part.end(), low.row(t));
  }
  const Matrix rates = Linear(low, *tensors.rate);
  for (int t = 0; t < c.rows; ++t) {
    const auto k = Part(selected.row(t) + width, n, epsilon);
    const auto q = Part(selected.row(t) + width + n, n, epsilon);
    for (int j = 0; j < c.columns; ++j) {
      const double rate = std::log1p(std::exp(rates.row(t)[j] + bias[j]));
      const double v = c.row(t)[j];
      double& out = y.row(t)[j];
      out = skips[j] * v;
      for (int i = 0; i < n; ++i) {
        double& s = state.row(j)[i];
        s = std::exp(-std::exp(decays[j * n + i]) * rate) * s + rate * v * k[i];
        out += s * q[i];
      }
    }
  }
  return y;
}

}  // namespace

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
  Matrix y = tensors.kind == MixerDescription::Kind::kSelectiveScan
                 ? Scanned(c, tensors)
                 : StateOutputs(x, c, tensors, numbers);
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

}  // namespace trivium::reference
