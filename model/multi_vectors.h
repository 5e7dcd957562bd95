#ifndef TRIVIUM_MODEL_MULTI_VECTORS_H_
#define TRIVIUM_MODEL_MULTI_VECTORS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/dense_module.h"
#include "model/engine.h"
#include "model/text_kind.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/linear.h"

namespace trivium {

// The vectors of a text.
struct VectorRows {
  int size = 0;               // of a vector
  std::vector<float> values;  // [rows, size]
  // [rows] the token that each row is of, ascending; empty after pooling.
  std::vector<int> positions;

  int rows() const {
    return size > 0 ? static_cast<int>(values.size()) / size : 0;
  }
  std::span<const float> row(int i) const {
    return std::span(values).subspan(static_cast<size_t>(i) * size, size);
  }
};

// Makes a vector of each token of a text that counts in comparisons ("late
// interaction", ColBERT, Khattab and Zaharia 2020):
//
//   row_t = normalize(f(W state_t))
//
// Dense layers and normalizations come in the folder's order. Two texts are
// compared by MaxSim (similarity.h).
//
//   multi.Expand(&input);                            // if it is a query
//   multi.Rows(states, input.ids, kQuery, input.unattended)   // [rows, size]
class MultiVectors {
 public:
  // The tokens that queries are filled up with. They count in comparisons, and
  // hold what a query may also mean.
  struct Expansion {
    int length = 0;          // tokens of a query with them
    bool cuts = true;        // longer queries are cut to `length`
    bool attended = false;   // other tokens attend to them
    std::string token = {};  // a piece; empty: the mask, or the end token
  };
  struct Settings {
    // The most tokens of a text, special ones included; 0: as many as the model
    // reads.
    int query_length = 0;
    int document_length = 0;
    int text_length = 0;  // of texts of no kind, or of one without a length
    std::optional<Expansion> expansion = std::nullopt;
    // Expanded tokens have rows though no token attends to them.
    bool keeps_expansion = false;
    // Pieces whose tokens have no row, and in which texts. Texts of no kind
    // count as documents.
    std::vector<std::string> skipped = {};
    bool skips_in_queries = false;
    bool skips_in_documents = true;
    // If not empty, only these ids have rows in documents.
    std::vector<int32_t> kept_ids = {};
    int first = 0;  // the first token that has a row
    // Comparisons take the mean over a query's rows, not the sum.
    bool takes_mean = false;
    // Beginnings of prompts that are one token each, which a tokenizer may
    // read as several ("[unused0]").
    std::vector<std::string> markers = {};
  };

  MultiVectors(int d_model, Settings settings)
      : d_model_(d_model), size_(d_model), settings_(std::move(settings)) {}

  // Appends a layer, whose tensors are not read after this.
  absl::Status Add(const DenseModule& dense);
  absl::Status Add(const LinearTensors& dense);
  void AddNormalization() { steps_.emplace_back(Normalize()); }
  // Finds the ids of the settings' pieces, below `vocabulary`. Called once,
  // before the functions below. An error names `file`.
  absl::Status FindTokens(const std::string& file, const Tokenizer& tokenizer,
                          int vocabulary);

  const Settings& settings() const { return settings_; }
  int size() const { return size_; }  // of a vector

  // The most tokens of a text; 0: as many as the model reads.
  int MostTokens(std::optional<TextKind> kind) const;
  // Fills a query up, to at most `most` tokens.
  void Expand(int most, EncoderInput* query) const;
  // Takes a marker from the beginning of `prompt` and returns its id.
  std::optional<int32_t> TakeMarker(std::string* prompt) const;

  // `states` are those of all tokens, [ids, d_model]; the last `unattended` are
  // tokens that no token attends to. A row's bits depend on its state alone.
  absl::StatusOr<VectorRows> Rows(std::span<const float> states,
                                  std::span<const int32_t> ids,
                                  std::optional<TextKind> kind,
                                  int unattended) const;

 private:
  struct Dense {
    Linear linear;
    std::optional<Linear> residual;
    bool adds_input = false;
    double (*activation)(double) = nullptr;  // null: none
  };
  struct Normalize {};
  using Step = std::variant<Dense, Normalize>;

  bool HasRow(int32_t id, std::optional<TextKind> kind) const;
  static absl::Status Apply(const Dense& dense, int rows, VectorRows* x);

  const int d_model_;
  int size_;
  const Settings settings_;
  std::vector<Step> steps_;
  std::vector<int32_t> skipped_ids_;
  int32_t expansion_id_ = -1;
  std::vector<std::pair<std::string, int32_t>> markers_;
};

// Weights of a text's tokens as a sparse embedding (bge-m3, Chen et al. 2024):
//
//   weight of id v = max over the tokens t with that id of max(0, w state_t +
//   b)
struct TokenWeights {
  std::vector<float> weight;  // [d_model]
  float bias = 0;
  std::vector<int32_t> left_out;  // ids that have no weight

  // Returns the weights above 0, ascending by id. `states` is [ids, d_model].
  std::vector<SparseWeight> Of(std::span<const float> states,
                               std::span<const int32_t> ids) const;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_MULTI_VECTORS_H_
