// For a row x, r = W_r x are the router's logits, and C is the set of the k
// experts with the greatest scores (of equal ones the first):
//
//   y = b + sum over e in C of p_e W_down,e (activation(W_gate,e x) * W_up,e x)
//   p = softmax of r over C ("Mixtral of Experts", Jiang et al. 2024), or over
//       all experts ("Outrageously Large Neural Networks", Shazeer et al.
//       2017), or sigmoid(r), divided by its sum over C or not ("DeepSeek-V3
//       Technical Report", DeepSeek-AI 2024)
//
// or the sparse mixer's p, see layer_description.h.
//
// Scores are r, or p plus a correction, and -infinity in groups of experts that
// do not take part. Without a gate it is activation(W_up,e x); b is in few
// models.
#include "model/transformer/experts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status.h"

namespace trivium {
namespace {

using Scores = ExpertsDescription::Scores;

float Sigmoid(float x) {
  return static_cast<float>(1 / (1 + std::exp(-double{x})));
}

// Sets the scores of experts in groups that do not take part to -infinity.
void LeaveOutGroups(const Router& router, std::span<float> scores) {
  constexpr float kOut = -std::numeric_limits<float>::infinity();
  const size_t size = scores.size() / router.groups;
  static thread_local std::vector<float> groups;
  groups.clear();
  for (int g = 0; g < router.groups; ++g) {
    float first = kOut, second = kOut;
    for (const float score : scores.subspan(g * size, size)) {
      second = std::max(second, std::min(first, score));
      first = std::max(first, score);
    }
    groups.push_back(router.groups_by_two && size > 1 ? first + second : first);
  }
  for (int g = 0; g < router.groups; ++g) {
    // Counts the groups that are better, or as good and before this one.
    int better = 0;
    for (int other = 0; other < router.groups; ++other) {
      better += groups[other] > groups[g] ||
                (groups[other] == groups[g] && other < g);
    }
    if (better < router.chosen_groups) continue;
    std::fill_n(scores.begin() + static_cast<ptrdiff_t>(g * size), size, kOut);
  }
}

// Returns the sparse mixer's weight of the expert `chosen`; `before` are the
// better ones.
template <typename Choice>
double SparseMixerWeight(const Router& router, const float* logits,
                         std::span<const Choice> before, int chosen) {
  const double best = logits[chosen];
  double sum = 0;
  for (int e = 0; e < router.experts(); ++e) {
    const double r = logits[e];
    const bool taken =
        std::any_of(before.begin(), before.end(),
                    [e](const auto& choice) { return choice.expert == e; });
    // A quotient of two zeros is near.
    if (taken || (best - r) / std::max(std::fabs(r), best) > router.nearness) {
      continue;
    }
    sum += std::exp(r - best);
  }
  return 1 / sum;
}

}  // namespace

void ExpertRunner::Resize(int rows, const FeedForward& weights) {
  rows_ = rows;
  chosen_ = weights.router->chosen;
  d_model_ = weights.router->product.in();
  bias_ = weights.router->bias.data();
  router_input_.Resize(rows, d_model_);
  choices_.resize(static_cast<size_t>(rows) * chosen_);
  const int places = rows * chosen_;
  gathered_.Resize(places, d_model_);
  gates_.resize(weights.router->shared_gate ? rows : 0);
  hidden_.Resize(places, weights.inner());
  output_.Reserve(static_cast<size_t>(places) * d_model_);
}

absl::Status ExpertRunner::Run(const FeedForward& weights, const Operand& input,
                               Workspace* workspace) {
  TRIVIUM_RETURN_IF_ERROR(Choose(weights, workspace));
  begin_.assign(weights.experts.size() + 1, 0);
  Gather(input);
  // A product may read rows after its own, which no other thread may write
  // meanwhile. So all first products run before any second one.
  TRIVIUM_RETURN_IF_ERROR(ForEachExpert(
      weights, workspace,
      [&](const Expert& expert, int begin, int end, auto* thread) {
        return expert.up.ForwardRows(
            gathered_, begin, end, thread,
            [&](int row, const ProductRow& product, float* y) {
              const Range range = weights.Activate(product, weights.inner(), y);
              hidden_.Set(row, y, range);
            });
      }));
  return ForEachExpert(
      weights, workspace,
      [&](const Expert& expert, int begin, int end, auto* thread) {
        return expert.down.ForwardRows(
            hidden_, begin, end, thread,
            [&](int row, const ProductRow& product, float*) {
              FinishRow(product,
                        output_.data() + static_cast<size_t>(row) * d_model_);
            });
      });
}

template <typename F>
absl::Status ExpertRunner::ForEachExpert(const FeedForward& weights,
                                         Workspace* workspace, const F& f) {
  return workspace->Run(
      static_cast<int>(weights.experts.size()), /*least=*/1,
      [&](int begin, int end, int thread) -> absl::Status {
        for (int e = begin; e < end; ++e) {
          if (begin_[e] == begin_[e + 1]) continue;
          TRIVIUM_RETURN_IF_ERROR(f(weights.experts[e], begin_[e],
                                    begin_[e + 1], &workspace->thread(thread)));
        }
        return absl::OkStatus();
      });
}

absl::Status ExpertRunner::Choose(const FeedForward& weights,
                                  Workspace* workspace) {
  const Router& router = *weights.router;
  return router.product.Forward(
      router_input_, rows_, workspace,
      [&](int row, const ProductRow& product, float* logits) {
        FinishRow(product, logits);
        if (router.shared_gate) gates_[row] = Sigmoid(logits[router.experts()]);
        ChooseRow(router, logits,
                  &choices_[static_cast<size_t>(row) * chosen_]);
      });
}

void ExpertRunner::ChooseRow(const Router& router, const float* logits,
                             Choice* choices) const {
  const auto experts = static_cast<size_t>(router.experts());
  if (router.scores == Scores::kSparseMixer) {
    ChooseBest(std::span(logits, experts), choices);
    for (int i = 0; i < chosen_; ++i) {
      choices[i].weight = static_cast<float>(
          SparseMixerWeight(router, logits, std::span<const Choice>(choices, i),
                            choices[i].expert));
    }
    FinishChoices(router, choices);
    return;
  }
  const bool softmax = router.scores == Scores::kSoftmax;
  const float most = *std::max_element(logits, logits + experts);
  // An expert's part of its weight that does not depend on the choice.
  const auto part = [&](size_t expert) {
    return softmax ? std::exp(double{logits[expert]} - most)
                   : double{Sigmoid(logits[expert])};
  };
  double of_all = 0;
  const bool corrected = !router.correction.values.empty();
  // The order of logits is that of their softmax.
  const bool by_logits = softmax && !corrected && router.groups == 1;
  const bool sums_all = softmax && (router.over_all || !by_logits);
  for (size_t e = 0; sums_all && e < experts; ++e) of_all += part(e);
  if (by_logits) {
    ChooseBest(std::span(logits, experts), choices);
  } else {
    static thread_local std::vector<float> scores;
    scores.resize(experts);
    for (size_t e = 0; e < experts; ++e) {
      scores[e] = static_cast<float>(softmax ? part(e) / of_all : part(e));
      if (corrected) scores[e] += router.correction.values[e];
    }
    if (router.groups > 1) LeaveOutGroups(router, scores);
    ChooseBest(scores, choices);
  }
  double divisor = 1;
  if (!router.over_all) {
    // Sigmoids may all be zero, which Transformers guards against so.
    divisor = softmax ? 0 : 1e-20;
    for (int i = 0; i < chosen_; ++i) divisor += part(choices[i].expert);
  } else if (softmax) {
    divisor = of_all;
  }
  for (int i = 0; i < chosen_; ++i) {
    choices[i].weight = static_cast<float>(part(choices[i].expert) / divisor);
  }
  FinishChoices(router, choices);
}

void ExpertRunner::FinishChoices(const Router& router, Choice* choices) const {
  for (int i = 0; i < chosen_; ++i) {
    if (!router.scales.values.empty()) {
      choices[i].weight *= router.scales.values[choices[i].expert];
    }
    choices[i].weight *= router.factor;
  }
  std::sort(choices, choices + chosen_, [](const Choice& a, const Choice& b) {
    return a.expert < b.expert;
  });
}

void ExpertRunner::ChooseBest(std::span<const float> scores,
                              Choice* choices) const {
  int count = 0;
  for (size_t e = 0; e < scores.size(); ++e) {
    int at = count;
    while (at > 0 && scores[e] > scores[choices[at - 1].expert]) --at;
    if (at == chosen_) continue;
    if (count < chosen_) ++count;
    for (int i = count - 1; i > at; --i) choices[i] = choices[i - 1];
    choices[at] = {.expert = static_cast<int>(e), .weight = 0, .place = 0};
  }
}

void ExpertRunner::Gather(const Operand& input) {
  for (const Choice& choice : choices_) ++begin_[choice.expert + 1];
  for (size_t e = 1; e < begin_.size(); ++e) begin_[e] += begin_[e - 1];
  // begin_[e] advances to the end of e's rows while they are placed, then all
  // are shifted back.
  for (size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    choice.place = begin_[choice.expert]++;
    gathered_.CopyFrom(input, static_cast<int>(i) / chosen_, choice.place);
  }
  for (size_t e = begin_.size() - 1; e > 0; --e) begin_[e] = begin_[e - 1];
  begin_[0] = 0;
}

void ExpertRunner::Output(int row, float* y) const {
  if (bias_ != nullptr) {
    std::copy_n(bias_, d_model_, y);
  } else {
    std::fill_n(y, d_model_, 0.0f);
  }
  AddChoices(row, y);
}

void ExpertRunner::AddToShared(int row, float* y) const {
  if (!gates_.empty()) {
    for (int i = 0; i < d_model_; ++i) y[i] *= gates_[row];
  }
  if (bias_ != nullptr) AddRow({.f32 = bias_, .n = d_model_}, y);
  AddChoices(row, y);
}

void ExpertRunner::AddChoices(int row, float* y) const {
  const Choice* const choices = &choices_[static_cast<size_t>(row) * chosen_];
  for (int i = 0; i < chosen_; ++i) {
    AddScaledRow(
        output_.data() + static_cast<size_t>(choices[i].place) * d_model_,
        choices[i].weight, d_model_, y);
  }
}

}  // namespace trivium
