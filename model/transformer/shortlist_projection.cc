// A row with a shortlist goes through these steps:
//
//   1. Adjacent rows of one source form a group of up to kGroup rows.
//   2. Watched token ids become places in the source's list of allowed tokens,
//      and so do candidates: RowCandidates sees a vocabulary of the list alone.
//   3. For each block of kOutputBlock listed tokens: gather their weight rows
//      and multiply (threads split the block), then add bias and scales and
//      choose candidates, one row after the other.
//   4. Finish() converts places back to token ids. Tokens outside the list get
//      the logit -infinity, in `watched` and in `all`.
//
// An allowed token's logit has the same bits as in the full int8 projection: s8
// weights, their scales and offsets, and the quantized row are the same, and
// integer sums are exact. Blocks have the size of the full projection's, so
// that rest_log_sum_exp of a list of all tokens has the same bits, too. With
// other weights the product is f32 and differs in rounding.
//
// The weights are stored twice because the full projection's copy is packed in
// panels of columns, from which single tokens cannot be read fast.
#include "model/transformer/shortlist_projection.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "model/kernels/shortlist_product.h"
#include "model/transformer/hadamard.h"
#include "model/transformer/heads.h"

namespace trivium {
namespace {

// Rows of one source that share the reading of the weights.
constexpr int kGroup = 16;
// Tokens whose columns justify another thread.
constexpr int kLeastTokens = 128;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

ShortlistProjection::ShortlistProjection(
    const Formats& formats, const LinearTensors& output,
    std::shared_ptr<const Shortlist> shortlist)
    : int8_(formats.weights == WeightType::kInt8),
      shortlist_(std::move(shortlist)),
      vocabulary_(static_cast<int>(output.weight->shape[0])) {
  const int k = static_cast<int>(output.weight->shape[1]);
  stride_ = ShortlistStride(k, int8() ? 1 : sizeof(float));
  const size_t size = static_cast<size_t>(vocabulary_) * stride_;
  if (int8()) {
    s8_.Reserve(size);
    scale_.resize(vocabulary_);
    offset_.resize(vocabulary_);
  } else {
    f32_.Reserve(size);
  }
  std::vector<float> row(k);
  for (int i = 0; i < vocabulary_; ++i) {
    const size_t at = static_cast<size_t>(i) * stride_;
    CopyToF32(*output.weight, int64_t{i} * k, row);
    if (int8()) {
      if (formats.hadamard) HadamardWeights(row);
      QuantizeWeights(row, s8_.data() + at, &scale_[i], &offset_[i]);
    } else {
      std::copy(row.begin(), row.end(), f32_.data() + at);
    }
  }
  if (output.bias != nullptr) {
    bias_.resize(vocabulary_);
    CopyToF32(*output.bias, 0, bias_);
  }
}

AllowedTokens ShortlistProjection::Allow(
    std::span<const int32_t> source) const {
  AllowedTokens allowed;
  allowed.tokens = shortlist_->TokensOf(source);
  const auto pick = [&](const AlignedVector<float>& from,
                        AlignedVector<float>* to) {
    if (from.empty()) return;
    to->reserve(allowed.tokens.size());
    for (const int32_t token : allowed.tokens) to->push_back(from[token]);
  };
  pick(scale_, &allowed.scale);
  pick(offset_, &allowed.offset);
  pick(bias_, &allowed.bias);
  return allowed;
}

int64_t ShortlistProjection::bytes() const {
  return static_cast<int64_t>(s8_.bytes() + f32_.bytes() +
                              (scale_.size() + offset_.size() + bias_.size()) *
                                  sizeof(float));
}

void ShortlistProjection::Run(std::span<const int32_t> tokens, const void* x,
                              int queries, int32_t* y, int y_stride) const {
  if (int8()) {
    ShortlistProduct(s8_.data(), stride_, tokens,
                     static_cast<const uint8_t*>(x), queries, y, y_stride);
  } else {
    ShortlistProduct(f32_.data(), stride_, tokens, static_cast<const float*>(x),
                     queries, reinterpret_cast<float*>(y), y_stride);
  }
}

ShortlistRows::ShortlistRows(int d_model, bool hadamard)
    : d_model_(d_model), quantized_(OperandType::kInt8, hadamard) {}

void ShortlistRows::Run(const ShortlistProjection& projection,
                        Workspace* workspace) {
  if (rows_.empty()) return;
  if (answers_.size() < rows_.size()) answers_.resize(rows_.size());
  quantized_.Resize(kGroup, d_model_);
  operands_.Reserve(static_cast<size_t>(kGroup) * projection.stride() *
                    sizeof(float));
  product_.Reserve(static_cast<size_t>(kGroup) * kOutputBlock);
  logits_.Reserve(kOutputBlock);
  listed_.Reserve(kOutputBlock);
  for (size_t first = 0, last; first < rows_.size(); first = last) {
    for (last = first + 1; last < rows_.size() && last < first + kGroup &&
                           rows_[last].allowed == rows_[first].allowed;) {
      ++last;
    }
    RunGroup(projection, std::span(rows_).subspan(first, last - first),
             std::span(answers_).subspan(first, last - first), workspace);
  }
}

// Blocks have as many columns as the full projection's, so that the sums over a
// list of all tokens are the same.
void ShortlistRows::RunGroup(const ShortlistProjection& projection,
                             std::span<const Row> rows,
                             std::span<Answer> answers, Workspace* workspace) {
  const AllowedTokens& allowed = *rows.front().allowed;
  const std::span<const int32_t> tokens = allowed.tokens;
  for (size_t q = 0; q < rows.size(); ++q) {
    Answer& answer = answers[q];
    answer.watched_places.clear();
    auto place = tokens.begin();
    for (const int32_t token : rows[q].query->watched) {
      place = std::lower_bound(place, tokens.end(), token);
      if (place == tokens.end()) break;
      if (*place != token) continue;
      answer.watched_places.push_back(
          static_cast<int32_t>(place - tokens.begin()));
    }
    answer.candidates.Start(rows[q].query->top_k, answer.watched_places);
    if (rows[q].all != nullptr) {
      std::fill_n(rows[q].all, projection.vocabulary(), -kInfinity);
    }
  }
  SetOperands(projection, rows);
  const auto from = [](const AlignedVector<float>& values, size_t begin) {
    return values.empty() ? nullptr : values.data() + begin;
  };
  for (size_t begin = 0; begin < tokens.size(); begin += kOutputBlock) {
    const auto block = tokens.subspan(
        begin, std::min<size_t>(kOutputBlock, tokens.size() - begin));
    const int columns = static_cast<int>(block.size());
    workspace->team().Run(
        (columns + kShortlistRows - 1) / kShortlistRows,
        kLeastTokens / kShortlistRows, [&](int first, int last, int) {
          first *= kShortlistRows;
          last = std::min(last * kShortlistRows, columns);
          projection.Run(block.subspan(first, last - first), operands_.data(),
                         static_cast<int>(rows.size()), product_.data() + first,
                         kOutputBlock);
        });
    for (size_t q = 0; q < rows.size(); ++q) {
      const int32_t* sums = product_.data() + q * kOutputBlock;
      const bool int8 = projection.int8();
      const ProductRow product = {
          .f32 = int8 ? nullptr : reinterpret_cast<const float*>(sums),
          .s32 = int8 ? sums : nullptr,
          .x = int8 ? quantized_.scale(static_cast<int>(q)) : RowScale(),
          .scale = from(allowed.scale, begin),
          .offset = from(allowed.offset, begin),
          .bias = from(allowed.bias, begin),
          .n = static_cast<int>(block.size())};
      float* all = rows[q].all;
      answers[q].candidates.Add(static_cast<int>(begin), product,
                                logits_.data(),
                                all == nullptr ? nullptr : listed_.data());
      if (all == nullptr) continue;
      for (size_t i = 0; i < block.size(); ++i) {
        all[block[i]] = listed_.data()[i];
      }
    }
  }
  for (size_t q = 0; q < rows.size(); ++q) {
    answers[q].candidates.Finish();
    Finish(rows[q], &answers[q]);
    if (rows[q].all != nullptr) {
      rows[q].answer->all = std::span<const float>(
          rows[q].all, static_cast<size_t>(projection.vocabulary()));
    }
  }
}

void ShortlistRows::SetOperands(const ShortlistProjection& projection,
                                std::span<const Row> rows) {
  const size_t value = projection.int8() ? 1 : sizeof(float);
  for (size_t q = 0; q < rows.size(); ++q) {
    const void* x = rows[q].x;
    if (projection.int8()) {
      quantized_.Set(static_cast<int>(q), rows[q].x);
      x = quantized_.row(static_cast<int>(q));
    }
    char* to = operands_.data() + q * projection.stride() * value;
    std::memcpy(to, x, d_model_ * value);
    std::memset(to + d_model_ * value, 0,
                (projection.stride() - d_model_) * value);
  }
}

// Converts places to tokens. A token outside the list has no logit.
void ShortlistRows::Finish(const Row& row, Answer* answer) {
  const std::span<const int32_t> tokens = row.allowed->tokens;
  answer->best.clear();
  for (const Candidate& candidate : answer->candidates.best()) {
    answer->best.push_back({tokens[candidate.token], candidate.logit});
  }
  answer->watched.assign(row.query->watched.size(), -kInfinity);
  const std::span<const float> found = answer->candidates.watched();
  size_t next = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const int32_t token = tokens[answer->watched_places[i]];
    while (row.query->watched[next] != token) ++next;
    answer->watched[next] = found[i];
  }
  *row.answer = {.best = answer->best,
                 .rest_log_sum_exp = answer->candidates.rest_log_sum_exp(),
                 .watched = answer->watched,
                 .all = {}};
}

}  // namespace trivium
