// Order: pooled outputs and means first, because a head may read them; then the
// rows of logits that sources request, in slices of kSliceRows. Within a slice
// the head's dense layer and norm run over all rows, then the output product
// block by block, so that no [rows, vocabulary] array exists if only the best
// logits are requested. A sparse embedding pools the rows of its source block
// by block in the same way: threads divide the vocabulary, and each adds the
// rows of a source in their order. Results that come from states which are not
// finite are set to NaN at the end.
#include "model/transformer/head_runner.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/finite.h"
#include "base/status.h"

namespace trivium {
namespace {

// Rows are computed in slices of this many, which bounds the memory that a text
// with many masks needs.
constexpr size_t kSliceRows = 1024;

// An activation may turn NaN into a number (a clipped one does), so inputs are
// checked instead of outputs.
constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
bool IsFinite(const float* row, int size) {
  return AllFinite({row, static_cast<size_t>(size)});
}

// True if `position` is that of the last token that is no padding, or 0 in a
// text of nothing else. Asked for every position of a text, it looks at each
// token at most twice.
bool IsLast(std::span<const int32_t> ids, size_t position,
            std::optional<int32_t> padding_id) {
  if (ids[position] == padding_id && position > 0) return false;
  return std::all_of(ids.begin() + position + 1, ids.end(),
                     [&](int32_t id) { return id == padding_id; });
}

int LastToken(std::span<const int32_t> ids, const Head& head) {
  if (head.end_id.has_value()) {
    const auto end = std::find(ids.rbegin(), ids.rend(), *head.end_id);
    if (end != ids.rend()) return static_cast<int>(ids.rend() - end) - 1;
  }
  size_t last = ids.size() - 1;
  while (last > 0 && ids[last] == head.padding_id) --last;
  return static_cast<int>(last);
}

// The value of one logit, or of the largest, see VocabularyPooling.
float WeightOf(const VocabularyPooling& pooling, float logit) {
  const float weight = std::log1p(std::max(logit, 0.0f));
  return pooling.double_log ? std::log1p(weight) : weight;
}

// Adds `logits` [n] to a pool. The maximum is taken of the logits: the function
// of it is monotonic.
void AddToPool(const VocabularyPooling& pooling, const float* logits, int n,
               float* pool) {
  if (pooling.sum) {
    for (int i = 0; i < n; ++i) pool[i] += WeightOf(pooling, logits[i]);
  } else {
    for (int i = 0; i < n; ++i) pool[i] = std::max(pool[i], logits[i]);
  }
}

}  // namespace

HeadRunner::HeadRunner(const Pooler* pooler, const Head* head)
    : pooler_(pooler),
      head_(head),
      input_(OperandType::kF32),
      hidden_(head != nullptr ? head->output_operands : OperandType::kF32) {}

bool HeadRunner::PoolsForHead(const SourceState& source) const {
  return source.options.logits && head_ != nullptr &&
         head_->input == HeadDescription::Input::kPooled;
}

bool HeadRunner::Reads(const SourceState& source, int position) const {
  const SourceOptions& options = source.options;
  if (options.sparse) return true;
  if (position == 0 && (options.pooled || PoolsForHead(source))) return true;
  if (!options.logits || head_ == nullptr) return false;
  switch (head_->input) {
    case HeadDescription::Input::kPooled:
      return false;
    case HeadDescription::Input::kFirstToken:
      return position == 0;
    case HeadDescription::Input::kLastToken:
      if (head_->end_id.has_value()) {
        return position == LastToken(source.input.ids, *head_);
      }
      return IsLast(source.input.ids, position, head_->padding_id);
    case HeadDescription::Input::kMean:
    case HeadDescription::Input::kMeanOfDense:
      return true;
    case HeadDescription::Input::kEveryToken:
      break;
  }
  const std::vector<int>& chosen = options.logits_positions;
  return chosen.empty() ||
         std::find(chosen.begin(), chosen.end(), position) != chosen.end();
}

absl::Status HeadRunner::Run(std::span<SourceState* const> sources,
                             StateOf state, Workspace* workspace) {
  if (pooler_ != nullptr) {
    TRIVIUM_RETURN_IF_ERROR(Pool(sources, state, workspace));
  }
  if (head_ != nullptr) {
    TRIVIUM_RETURN_IF_ERROR(Logits(sources, state, workspace));
    if (head_->sparse) {
      TRIVIUM_RETURN_IF_ERROR(Sparse(sources, state, workspace));
    }
  }
  return absl::OkStatus();
}

absl::Status HeadRunner::Pool(std::span<SourceState* const> sources,
                              StateOf state, Workspace* workspace) {
  const int out = pooler_->dense.out();
  results_.clear();
  input_.Resize(static_cast<int>(sources.size()), pooler_->dense.in());
  for (size_t s = 0; s < sources.size(); ++s) {
    SourceState& source = *sources[s];
    if (!source.options.pooled && !PoolsForHead(source)) continue;
    input_.Set(static_cast<int>(results_.size()), state(s, 0));
    source.pooled.resize(out);
    results_.push_back(source.pooled.data());
  }
  TRIVIUM_RETURN_IF_ERROR(pooler_->dense.Forward(
      input_, static_cast<int>(results_.size()), workspace,
      [&](int i, const auto& product, float*) {
        ActivateRow(product, pooler_->activation, results_[i]);
      }));
  for (size_t s = 0; s < sources.size(); ++s) {
    std::vector<float>& pooled = sources[s]->pooled;
    if (!pooled.empty() && !IsFinite(state(s, 0), pooler_->dense.in())) {
      std::fill(pooled.begin(), pooled.end(), kNoNumber);
    }
  }
  return absl::OkStatus();
}

// Sums in the order of the tokens.
absl::Status HeadRunner::Mean(std::span<SourceState* const> sources,
                              StateOf state, Workspace* workspace) {
  const bool of_dense = head_->input == HeadDescription::Input::kMeanOfDense;
  const Linear& first =
      head_->dense.has_value() ? *head_->dense : head_->output_blocks.front();
  const int in = first.in();
  const int width = of_dense ? first.out() : in;
  means_.assign(sources.size() * width, 0);
  for (size_t s = 0; s < sources.size(); ++s) {
    if (!sources[s]->options.logits) continue;
    float* const mean = &means_[s * width];
    const int tokens = sources[s]->tokens();
    bool finite = true;
    for (int begin = 0; begin < tokens; begin += kSliceRows) {
      const int count = std::min<int>(kSliceRows, tokens - begin);
      if (of_dense) {
        input_.Resize(count, in);
        for (int i = 0; i < count; ++i) {
          const float* x = state(s, begin + i);
          finite = finite && IsFinite(x, in);
          input_.Set(i, x);
        }
        activated_.resize(static_cast<size_t>(count) * width);
        TRIVIUM_RETURN_IF_ERROR(head_->dense->Forward(
            input_, count, workspace, [&](int i, const auto& product, float*) {
              ActivateRow(product, head_->activation,
                          &activated_[static_cast<size_t>(i) * width]);
            }));
      }
      for (int i = 0; i < count; ++i) {
        AddRow({.f32 = of_dense ? &activated_[static_cast<size_t>(i) * width]
                                : state(s, begin + i),
                .n = width},
               mean);
      }
    }
    for (int k = 0; k < width; ++k) {
      mean[k] = finite ? mean[k] / static_cast<float>(tokens) : kNoNumber;
    }
  }
  return absl::OkStatus();
}

absl::Status HeadRunner::Logits(std::span<SourceState* const> sources,
                                StateOf state, Workspace* workspace) {
  using Input = HeadDescription::Input;
  if (head_->input == Input::kMean || head_->input == Input::kMeanOfDense) {
    TRIVIUM_RETURN_IF_ERROR(Mean(sources, state, workspace));
  }
  const size_t mean_width = means_.size() / std::max<size_t>(1, sources.size());
  rows_.clear();
  for (size_t s = 0; s < sources.size(); ++s) {
    SourceState& source = *sources[s];
    if (!source.options.logits) continue;
    const size_t before = rows_.size();
    const std::vector<int>& positions = source.options.logits_positions;
    switch (head_->input) {
      case Input::kPooled:
        rows_.push_back({source.pooled.data()});
        break;
      case Input::kFirstToken:
        rows_.push_back({state(s, 0)});
        break;
      case Input::kLastToken:
        rows_.push_back({state(s, LastToken(source.input.ids, *head_))});
        break;
      case Input::kMean:
      case Input::kMeanOfDense:
        rows_.push_back({&means_[s * mean_width]});
        break;
      case Input::kEveryToken:
        for (int i = 0; positions.empty() && i < source.tokens(); ++i) {
          rows_.push_back({state(s, i)});
        }
        for (const int position : positions) {
          rows_.push_back({state(s, position)});
        }
        break;
    }
    const size_t count = rows_.size() - before;
    if (source.options.logits_best > 0) {
      source.best_logits.resize(count);
    } else {
      source.logits.resize(count * head_->outputs);
    }
    for (size_t i = 0; i < count; ++i) {
      Row& row = rows_[before + i];
      if (source.options.logits_best > 0) {
        row.best = &source.best_logits[i];
        row.best_count = source.options.logits_best;
      } else {
        row.logits = &source.logits[i * head_->outputs];
      }
    }
  }
  const std::span<Row> all(rows_);
  for (size_t begin = 0; begin < all.size(); begin += kSliceRows) {
    const size_t count = std::min(kSliceRows, all.size() - begin);
    TRIVIUM_RETURN_IF_ERROR(LogitsOf(all.subspan(begin, count), workspace));
  }
  return absl::OkStatus();
}

absl::Status HeadRunner::Sparse(std::span<SourceState* const> sources,
                                StateOf state, Workspace* workspace) {
  const auto outputs = static_cast<size_t>(head_->outputs);
  const auto wanted = std::count_if(
      sources.begin(), sources.end(),
      [](const SourceState* source) { return source->options.sparse; });
  pools_.assign(wanted * outputs, 0);
  rows_.clear();
  float* pool = pools_.data();
  for (size_t s = 0; s < sources.size(); ++s) {
    if (!sources[s]->options.sparse) continue;
    for (int i = 0; i < sources[s]->tokens(); ++i) {
      rows_.push_back({.input = state(s, i), .pool = pool});
    }
    pool += outputs;
  }
  const std::span<const Row> all(rows_);
  for (size_t begin = 0; begin < all.size(); begin += kSliceRows) {
    const size_t count = std::min(kSliceRows, all.size() - begin);
    TRIVIUM_RETURN_IF_ERROR(PoolLogits(all.subspan(begin, count), workspace));
  }
  const int in =
      runs_dense() ? head_->dense->in() : head_->output_blocks.front().in();
  const Row* row = rows_.data();
  for (SourceState* const source : sources) {
    if (!source->options.sparse) continue;
    const std::span<const Row> of_source(row, source->tokens());
    row += of_source.size();
    if (!std::all_of(of_source.begin(), of_source.end(),
                     [&](const Row& one) { return IsFinite(one.input, in); })) {
      source->sparse = {{.weight = kNoNumber}};
      continue;
    }
    const float* const pooled = of_source.front().pool;
    for (int id = 0; id < head_->outputs; ++id) {
      if (!(pooled[id] > 0)) continue;
      source->sparse.push_back(
          {.id = id,
           .weight = head_->sparse->sum
                         ? pooled[id]
                         : WeightOf(*head_->sparse, pooled[id])});
    }
  }
  return absl::OkStatus();
}

absl::Status HeadRunner::PoolLogits(std::span<const Row> rows,
                                    Workspace* workspace) {
  TRIVIUM_RETURN_IF_ERROR(Hidden(rows, workspace));
  const std::vector<Linear>& blocks = head_->output_blocks;
  const auto pool = [&](int block, int thread) {
    const int first = block * kOutputBlock;
    return blocks[block].ForwardRows(
        hidden_, 0, static_cast<int>(rows.size()), &workspace->thread(thread),
        [&](int row, const auto& product, float* y) {
          FinishRow(product, y);
          AddToPool(*head_->sparse, y, product.n, rows[row].pool + first);
        });
  };
  return workspace->Run(static_cast<int>(blocks.size()), 1,
                        [&](int begin, int end, int thread) -> absl::Status {
                          for (int block = begin; block < end; ++block) {
                            TRIVIUM_RETURN_IF_ERROR(pool(block, thread));
                          }
                          return absl::OkStatus();
                        });
}

absl::Status HeadRunner::Hidden(std::span<const Row> rows,
                                Workspace* workspace) {
  const int count = static_cast<int>(rows.size());
  hidden_.Resize(count, head_->output_blocks.front().in());
  if (runs_dense()) {
    input_.Resize(count, head_->dense->in());
    for (int i = 0; i < count; ++i) input_.Set(i, rows[i].input);
    TRIVIUM_RETURN_IF_ERROR(head_->dense->Forward(
        input_, count, workspace, [&](int i, const auto& product, float* y) {
          ActivateRow(product, head_->activation, y);
          if (head_->norm.has_value()) head_->norm->Apply(y, y);
          hidden_.Set(i, y);
        }));
  } else {
    for (int i = 0; i < count; ++i) hidden_.Set(i, rows[i].input);
  }
  return absl::OkStatus();
}

absl::Status HeadRunner::LogitsOf(std::span<Row> rows, Workspace* workspace) {
  const int count = static_cast<int>(rows.size());
  if (candidates_.size() < rows.size()) candidates_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].best != nullptr) candidates_[i].Start(rows[i].best_count, {});
  }

  TRIVIUM_RETURN_IF_ERROR(Hidden(rows, workspace));
  int begin = 0;
  for (const Linear& block : head_->output_blocks) {
    TRIVIUM_RETURN_IF_ERROR(block.Forward(
        hidden_, count, workspace, [&](int i, const auto& product, float* y) {
          if (rows[i].best == nullptr) {
            FinishRow(product, rows[i].logits + begin);
          } else {
            candidates_[i].Add(begin, product, y, nullptr);
          }
        }));
    begin += block.out();
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].best == nullptr) continue;
    candidates_[i].Finish();
    const std::span<const Candidate> best = candidates_[i].best();
    rows[i].best->best.assign(best.begin(), best.end());
    rows[i].best->log_sum_exp = candidates_[i].rest_log_sum_exp();
  }
  const int in =
      runs_dense() ? head_->dense->in() : head_->output_blocks.front().in();
  for (const Row& row : rows) {
    if (IsFinite(row.input, in)) continue;
    if (row.best != nullptr) {
      row.best->log_sum_exp = kNoNumber;
    } else {
      std::fill_n(row.logits, head_->outputs, kNoNumber);
    }
  }
  return absl::OkStatus();
}

}  // namespace trivium
