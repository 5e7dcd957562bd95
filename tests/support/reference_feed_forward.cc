#include "tests/support/reference_feed_forward.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/support/reference_rows.h"

namespace trivium::reference {
namespace {

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

// A token's scores of all experts, as ExpertsDescription says it.
std::vector<double> ExpertScores(const ExpertsDescription& description,
                                 const double* logits) {
  const int experts = static_cast<int>(description.experts.size());
  std::vector<double> scores(logits, logits + experts);
  if (description.scores == ExpertsDescription::Scores::kSigmoid) {
    for (double& score : scores) score = Activate(Activation::kSigmoid, score);
    return scores;
  }
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - most);
  for (double& score : scores) score /= sum;
  return scores;
}

// The sparse mixer's weights of the first experts of `order`: each a softmax
// over the logits of those that are left, of which far ones are left out.
std::vector<double> SparseMixerWeights(const ExpertsDescription& description,
                                       const double* logits,
                                       const std::vector<int>& order) {
  std::vector<double> weights;
  for (int c = 0; c < description.chosen; ++c) {
    const double best = logits[order[c]];
    double sum = 0;
    for (size_t i = c; i < order.size(); ++i) {
      const double r = logits[order[i]];
      const double distance = (best - r) / std::max(std::abs(r), best);
      if (!(distance > double{description.nearness})) sum += std::exp(r - best);
    }
    weights.push_back(1 / sum);
  }
  return weights;
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
    const bool mixes =
        description.scores == ExpertsDescription::Scores::kSparseMixer;
    const std::vector<double> mixed =
        mixes ? SparseMixerWeights(description, logits.row(i), order)
              : std::vector<double>();
    double sum = description.over_all ? 1 : 0;
    for (int c = 0; c < description.chosen && !description.over_all; ++c) {
      sum += scores[order[c]];
    }
    Matrix one(1, x.columns);
    std::copy_n(x.row(i), x.columns, one.row(0));
    for (int c = 0; c < description.chosen; ++c) {
      const int e = order[c];
      const Matrix out = Gated(one, description.experts[e], stack, numbers);
      double weight = description.factor * (mixes ? mixed[c] : scores[e] / sum);
      if (description.scales) weight *= Values(description.scales)[e];
      for (int k = 0; k < x.columns; ++k) y.row(i)[k] += weight * out.data[k];
    }
  }
  return y;
}

}  // namespace

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
          shared.row(i)[k] *= Activate(Activation::kSigmoid, gate.row(i)[0]);
        }
      }
    }
    return Add(std::move(shared), sum);
  }
  return Gated(
      x, {tensors.gate.value_or(LinearTensors()), tensors.up, tensors.down},
      stack, numbers);
}

}  // namespace trivium::reference
