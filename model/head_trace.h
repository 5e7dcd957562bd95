#ifndef TRIVIUM_MODEL_HEAD_TRACE_H_
#define TRIVIUM_MODEL_HEAD_TRACE_H_

#include <cstddef>
#include <optional>
#include <vector>

namespace trivium {

// Names one attention head of a stack of layers.
struct HeadChoice {
  // True: a decoder's attention to the source. False: attention of a stack to
  // its own tokens.
  bool cross = false;
  int layer = 0;
  int head = 0;

  friend bool operator==(const HeadChoice&, const HeadChoice&) = default;
};

// The most tokens, of a text or of a decoder's text, that a trace has.
inline constexpr int kMostTracedTokens = 128;

// Rows of equal width. Without columns: the model has no such step.
struct TracedRows {
  int columns = 0;
  std::vector<float> values;  // [rows, columns]

  // Sets the size; the values of rows that are there already stay.
  void Resize(int rows, int width) {
    columns = width;
    values.resize(static_cast<size_t>(rows) * width);
  }
  float* Row(int row) {
    return values.data() + static_cast<size_t>(row) * columns;
  }
  const float* Row(int row) const {
    return values.data() + static_cast<size_t>(row) * columns;
  }
};

// The numbers of one attention head, step by step, as the engine computed them
// for one text: from the embeddings to the sum behind the sublayer. A query is
// a token that asks; a key is one that is looked at. With e_i a token's
// embedding and x_i the input of the layer:
//
//   e_i = token + segment + position, then `embedded` enters the first layer
//   q_i, k_j, v_j = W_q, W_k, W_v norm(x)       of this head
//   score_ij = scale q_i . k_j
//   weight_ij = softmax_j(cap(score_ij) + bias_ij)   over the keys i sees
//   sum_i = sum over j of weight_ij v_j
//   output_i = W_o [sum_i of all heads]
//   result_i = norm(x_i + factor norm(output_i))     norms where there are any
//
// Whoever asks sets `choice`, `queries` and `keys`, and leaves the rest empty.
// A step of the engine fills in the rows of the tokens that it reads.
struct HeadTrace {
  enum class Positions {
    kNone,        // attention does not know the order of the tokens
    kSinusoidal,  // `position` has the waves
    kLearned,     // `position` has a table's rows
    kRotary,      // queries and keys are turned by position x frequency
    kDistance,    // `bias` is learned for distances between tokens
    kSlope,       // `bias` is -slope x distance (ALiBi)
  };

  HeadChoice choice;
  int queries = 0;
  int keys = 0;

  TracedRows token, segment, position;  // [queries, width of embeddings]
  TracedRows embedded;                  // [queries, d_model]
  TracedRows input;                     // x, [queries, d_model]
  TracedRows normed;  // norm(x), [queries, d_model], if a norm comes first
  // [queries, head size]. As they meet: behind norms and rotary turns.
  TracedRows query;
  // [keys, head size], as they are stored: rounded, if stored in less than f32.
  TracedRows key, value;
  // [queries, keys]. In formats of less than f32 the engine also rounds q for
  // the scores. It computes none for keys that a query does not see: those are
  // 0 here (see FillUnseenScores).
  TracedRows scores;
  TracedRows bias;     // [queries, keys], 0 for unseen keys
  TracedRows weights;  // [queries, keys], 0 for unseen keys
  TracedRows sum;      // [queries, head size]
  TracedRows joined;   // of all heads, [queries, heads x head size]
  TracedRows output;   // [queries, d_model]
  TracedRows result;   // [queries, d_model]

  Positions positions = Positions::kNone;
  std::vector<float> frequencies;  // of kRotary: radians a token
  float scale = 1;
  float soft_cap = 0;         // cap(s) = soft_cap tanh(s / soft_cap); 0: s
  std::optional<float> sink;  // logit of a key without a value
  int kv_head = 0;            // the head of keys and values that it reads
  int heads = 0;              // of queries in the layer
  int layers = 0;             // of the stack
  bool gated = false;         // `joined` is multiplied by gates
  bool parallel = false;      // the feed-forward reads x, not `result`
  bool norm_of_output = false;
  bool norm_of_sum = false;  // a norm comes behind the sum with x
  bool rms = false;          // these norms have no mean and no bias
  float factor = 1;
  // [queries] Query i sees the keys seen_begin[i] .. seen_end[i] - 1.
  std::vector<int> seen_begin, seen_end;

  // Sets the scores of unseen keys in a copy of `scores` [queries, keys]: what
  // `query` and `key` make, for show. All rows must be there.
  void FillUnseenScores(float* all) const;

  // Returns how many floats its matrices have.
  size_t floats() const;
};

// Returns about how many floats such a trace will have, for models whose heads
// together are as wide as d_model.
size_t TracedFloats(int queries, int keys, int d_model, int heads);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HEAD_TRACE_H_
