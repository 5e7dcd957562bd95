#include "model/transformer/output_projection.h"

#include "base/status.h"

namespace trivium {

OutputProjection::OutputProjection(const Transformer& weights)
    : weights_(weights),
      vocabulary_(weights.decoder()->vocabulary),
      d_model_(weights.decoder()->d_model),
      x_(weights.formats().operands),
      shortlist_rows_(d_model_) {}

void OutputProjection::Start(int rows, int all_rows) {
  if (static_cast<int>(candidates_.size()) < rows) candidates_.resize(rows);
  if (rows > 0) x_.Resize(rows, d_model_);
  answers_.clear();
  answers_.reserve(rows);  // they are written to where they are
  places_.clear();
  all_.clear();
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
  const size_t row = places_.size();
  x_.Set(static_cast<int>(row), x);
  candidates_[row].Start(query.top_k, query.watched);
  places_.push_back(static_cast<int>(answers_.size()) - 1);
  all_.push_back(all);
}

absl::Status OutputProjection::Run(LinearScratch* scratch) {
  if (weights_.shortlist() != nullptr) {
    shortlist_rows_.Run(*weights_.shortlist());
  }
  if (places_.empty()) return absl::OkStatus();
  int first = 0;
  for (const Linear& block : weights_.output_blocks()) {
    TRIVIUM_RETURN_IF_ERROR(block.Forward(
        x_, static_cast<int>(places_.size()), scratch,
        [&](int row, const auto& product) {
          float* all = all_[row] == nullptr ? nullptr : all_[row] + first;
          candidates_[row].Add(first, product, scratch->row.data(), all);
        }));
    first += block.out();
  }
  for (size_t row = 0; row < places_.size(); ++row) {
    candidates_[row].Finish();
    LogitsRow& answer = answers_[places_[row]];
    answer.best = candidates_[row].best();
    answer.rest_log_sum_exp = candidates_[row].rest_log_sum_exp();
    answer.watched = candidates_[row].watched();
    if (all_[row] != nullptr) {
      answer.all = {all_[row], static_cast<size_t>(vocabulary_)};
    }
  }
  return absl::OkStatus();
}

}  // namespace trivium
