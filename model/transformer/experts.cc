// For a row x, r = W_r x are the router's logits, and C is the set of its k
// greatest (of equal ones the first):
//
//   y = b + sum over e in C of p_e W_down,e (activation(W_gate,e x) * W_up,e x)
//   p = softmax of r over C ("Mixtral of Experts", Jiang et al. 2024), or over
//       all experts ("Outrageously Large Neural Networks", Shazeer et al. 2017)
//
// Without a gate it is activation(W_up,e x); b is in few models.
#include "model/transformer/experts.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"

namespace trivium {

void ExpertRunner::Resize(int rows, const FeedForward& weights) {
  rows_ = rows;
  chosen_ = weights.router->chosen;
  d_model_ = weights.router->product.in();
  bias_ = weights.router->bias.data();
  router_input_.Resize(rows, d_model_);
  choices_.resize(static_cast<size_t>(rows) * chosen_);
  const int places = rows * chosen_;
  gathered_.Resize(places, d_model_);
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
              const Range range = weights.Activate(product, y);
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
        ChooseRow(router, logits,
                  &choices_[static_cast<size_t>(row) * chosen_]);
      });
}

void ExpertRunner::ChooseRow(const Router& router, const float* logits,
                             Choice* choices) const {
  const int experts = router.product.out();
  // The best so far, best first; of equal logits the first.
  int count = 0;
  for (int e = 0; e < experts; ++e) {
    int at = count;
    while (at > 0 && logits[e] > logits[choices[at - 1].expert]) --at;
    if (at == chosen_) continue;
    if (count < chosen_) ++count;
    for (int i = count - 1; i > at; --i) choices[i] = choices[i - 1];
    choices[at] = {.expert = e, .weight = 0, .place = 0};
  }
  const float most = logits[choices[0].expert];
  double sum = 0;
  if (router.over_all) {
    for (int e = 0; e < experts; ++e) {
      sum += std::exp(double{logits[e]} - most);
    }
  } else {
    for (int i = 0; i < chosen_; ++i) {
      sum += std::exp(double{logits[choices[i].expert]} - most);
    }
  }
  for (int i = 0; i < chosen_; ++i) {
    choices[i].weight = static_cast<float>(
        std::exp(double{logits[choices[i].expert]} - most) / sum);
  }
  std::sort(choices, choices + chosen_, [](const Choice& a, const Choice& b) {
    return a.expert < b.expert;
  });
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
  const Choice* const choices = &choices_[static_cast<size_t>(row) * chosen_];
  for (int i = 0; i < chosen_; ++i) {
    AddScaledRow(
        output_.data() + static_cast<size_t>(choices[i].place) * d_model_,
        choices[i].weight, d_model_, y);
  }
}

}  // namespace trivium
