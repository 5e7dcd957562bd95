#ifndef TRIVIUM_MODEL_TRANSFORMER_SHORTLIST_PROJECTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_SHORTLIST_PROJECTION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/kernels/buffer.h"
#include "model/kernels/candidates.h"
#include "model/logits.h"
#include "model/transformer/description.h"
#include "model/transformer/linear.h"
#include "model/transformer/shortlist.h"

namespace trivium {

// The tokens that a source's translations may contain, with the factors that
// convert their products to floats. No tokens means the whole vocabulary.
struct AllowedTokens {
  std::vector<int32_t> tokens;  // ascending
  AlignedVector<float> scale;   // [tokens], int8 only
  AlignedVector<float> offset;  // [tokens], int8 only
  AlignedVector<float> bias;    // [tokens], or empty

  bool all() const { return tokens.empty(); }
};

// A second, row-major copy of the output projection's weights, for sources with
// a shortlist. If the model's weights are int8 it holds the same s8 numbers as
// the full projection, so that an allowed token's logit has the same bits; else
// it is f32.
class ShortlistProjection {
 public:
  ShortlistProjection(const Formats& formats, const LinearTensors& output,
                      std::shared_ptr<const Shortlist> shortlist);

  AllowedTokens Allow(std::span<const int32_t> source) const;

  int vocabulary() const { return vocabulary_; }
  int64_t bytes() const;
  // Sets y[q][i] = x[q] . row tokens[i] of the weights. x is u8 or f32; strides
  // are as in ShortlistProduct.
  void Run(std::span<const int32_t> tokens, const void* x, int queries,
           int32_t* y, int y_stride) const;
  // Values per row of x, which are u8 or f32.
  int stride() const { return stride_; }
  bool int8() const { return int8_; }

 private:
  bool int8_;
  std::shared_ptr<const Shortlist> shortlist_;
  int vocabulary_;
  int stride_;
  Buffer<int8_t> s8_;            // [vocabulary, stride], or empty
  Buffer<float> f32_;            // [vocabulary, stride], or empty
  AlignedVector<float> scale_;   // [vocabulary], int8 only
  AlignedVector<float> offset_;  // [vocabulary], int8 only
  AlignedVector<float> bias_;    // [vocabulary], or empty
};

// Answers the queries of rows whose source has a shortlist. Each worker has
// one.
//
//   rows.Clear();
//   rows.Add({&source.allowed, x, &query, all, &answer});  // for each row
//   rows.Run(projection, &workspace);   // answers hold until the next Clear
class ShortlistRows {
 public:
  struct Row {
    const AllowedTokens* allowed;  // a real list: not all()
    const float* x;                // [d_model]
    const LogitsQuery* query;
    float* all;  // [vocabulary], or null if not requested
    LogitsRow* answer;
  };

  // `hadamard` is as in Operand.
  ShortlistRows(int d_model, bool hadamard);

  void Clear() { rows_.clear(); }
  void Add(const Row& row) { rows_.push_back(row); }
  // Adjacent rows with the same allowed tokens, the hypotheses of one source,
  // share the reading of the weights.
  void Run(const ShortlistProjection& projection, Workspace* workspace);

 private:
  // A row's candidates, indexed by place in the list of allowed tokens, and its
  // answer, indexed by token.
  struct Answer {
    RowCandidates candidates;
    std::vector<int32_t> watched_places;
    std::vector<Candidate> best;
    std::vector<float> watched;
  };

  void RunGroup(const ShortlistProjection& projection,
                std::span<const Row> rows, std::span<Answer> answers,
                Workspace* workspace);
  // Converts the rows to the product's operands.
  void SetOperands(const ShortlistProjection& projection,
                   std::span<const Row> rows);
  static void Finish(const Row& row, Answer* answer);

  const int d_model_;
  std::vector<Row> rows_;
  std::vector<Answer> answers_;  // [rows], or more
  Operand quantized_;            // used if weights are int8
  Buffer<char> operands_;        // [group, stride]
  Buffer<int32_t> product_;      // [group, kOutputBlock], s32 or f32
  Buffer<float> logits_;         // [kOutputBlock]
  Buffer<float> listed_;         // [kOutputBlock], for queries for all logits
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_SHORTLIST_PROJECTION_H_
