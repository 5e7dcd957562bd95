#include "model/transformer/output_projection.h"

#include "base/status.h"

namespace trivium {

OutputProjection::OutputProjection(const Transformer& weights)
    : weights_(weights),
      vocabulary_(weights.decoder()->vocabulary),
      d_model_(weights.decoder()->d_model),
      x_(weights.formats()),
      narrow_(weights.formats()),
      shortlist_rows_(d_model_, weights.formats().hadamard) {}

void OutputProjection::Start(int rows, int all_rows) {
  if (rows > 0) x_.Resize(rows, d_model_);
  answers_.clear();
  // Answers must not move: rows hold pointers to them.
  answers_.reserve(rows);
  places_.clear();
  all_.clear();
  queries_.clear();
  shortlist_rows_.Clear();
  projected_ = 0;
  all_logits_.Reserve(static_cast<size_t>(all_rows) * vocabulary_);
  all_rows_ = 0;
}

void OutputProjection::Add(const float* x, const LogitsQuery& query,
                           const AllowedTokens* allowed) {
  LogitsRow& answer = answers_.emplace_back();
  if (!query.asks()) return;
  ++projected_;
  float* all = nullptr;
  if (query.all) {
    all = all_logits_.data() + static_cast<size_t>(all_rows_++) * vocabulary_;
  }
  if (allowed != nullptr) {
    shortlist_rows_.Add({allowed, x, &query, all, &answer});
    return;
  }
  if (const float factor = weights_.logit_factor(); factor != 1) {
    float* const scaled = scaled_.Reserve(d_model_);
    for (int i = 0; i < d_model_; ++i) scaled[i] = factor * x[i];
    x = scaled;
  }
  x_.Set(static_cast<int>(places_.size()), x);
  places_.push_back(static_cast<int>(answers_.size()) - 1);
  all_.push_back(all);
  queries_.push_back(&query);
}

absl::Status OutputProjection::Run(Workspace* workspace) {
  if (weights_.shortlist() != nullptr) {
    shortlist_rows_.Run(*weights_.shortlist(), workspace);
  }
  if (places_.empty()) return absl::OkStatus();
  candidates_.resize(workspace->threads());
  for (std::vector<RowCandidates>& of_thread : candidates_) {
    if (of_thread.size() < places_.size()) of_thread.resize(places_.size());
    for (size_t row = 0; row < places_.size(); ++row) {
      of_thread[row].Start(queries_[row]->top_k, queries_[row]->watched);
    }
  }
  TRIVIUM_RETURN_IF_ERROR(Narrow(workspace));
  TRIVIUM_RETURN_IF_ERROR(Project(workspace));
  for (size_t row = 0; row < places_.size(); ++row) {
    RowCandidates& candidates = candidates_.front()[row];
    for (size_t thread = 1; thread < candidates_.size(); ++thread) {
      candidates.Append(candidates_[thread][row]);
    }
    candidates.Finish();
    LogitsRow& answer = answers_[places_[row]];
    answer.best = candidates.best();
    answer.rest_log_sum_exp = candidates.rest_log_sum_exp();
    answer.watched = candidates.watched();
    if (all_[row] != nullptr) {
      answer.all = {all_[row], static_cast<size_t>(vocabulary_)};
    }
  }
  return absl::OkStatus();
}

absl::Status OutputProjection::Narrow(Workspace* workspace) {
  const Linear* const narrowing = weights_.output_narrowing();
  if (narrowing == nullptr) return absl::OkStatus();
  const int rows = static_cast<int>(places_.size());
  narrow_.Resize(rows, narrowing->out());
  return narrowing->Forward(x_, rows, workspace,
                            [&](int row, const auto& product, float* y) {
                              FinishRow(product, y);
                              narrow_.Set(row, y);
                            });
}

absl::Status OutputProjection::Project(Workspace* workspace) {
  const Operand& x = weights_.output_narrowing() == nullptr ? x_ : narrow_;
  const std::vector<Linear>& blocks = weights_.output_blocks();
  const float soft_cap = weights_.logit_soft_cap();
  return workspace->Run(
      static_cast<int>(blocks.size()), 1,
      [&](int begin, int end, int thread) -> absl::Status {
        for (int block = begin; block < end; ++block) {
          const int first = block * kOutputBlock;
          TRIVIUM_RETURN_IF_ERROR(blocks[block].ForwardRows(
              x, 0, static_cast<int>(places_.size()),
              &workspace->thread(thread),
              [&](int row, const auto& product, float* y) {
                float* all = all_[row] == nullptr ? nullptr : all_[row] + first;
                RowCandidates& candidates = candidates_[thread][row];
                if (soft_cap == 0)
                  return candidates.Add(first, product, y, all);
                SoftCapRow(product, soft_cap, y);
                candidates.Add(first, {.f32 = y, .n = product.n}, y, all);
              }));
        }
        return absl::OkStatus();
      });
}

}  // namespace trivium
