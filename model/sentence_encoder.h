#ifndef TRIVIUM_MODEL_SENTENCE_ENCODER_H_
#define TRIVIUM_MODEL_SENTENCE_ENCODER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "model/dense_module.h"
#include "model/engine.h"
#include "model/multi_vectors.h"
#include "model/sentence_modules.h"
#include "model/similarity.h"
#include "model/sparse_auto_encoder.h"
#include "model/text_kind.h"
#include "model/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Ways to turn the vectors of a text's tokens into one vector.
enum class TokenPooling {
  kMean,
  kFirst,
  kLast,
  kMax,       // the largest value of each dimension
  kMeanRoot,  // the sum over the square root of the count
  // The mean with weights 1, 2, 3 ...: later tokens have seen more of a text.
  kWeightedMean,
};

// The score that a decoder gives to what it has read. x is the logit of one
// token, or its difference to another token's; the score is 1 / (1 + exp(-x)),
// or x itself.
struct LogitScore {
  int32_t true_id = 0;
  std::optional<int32_t> false_id = std::nullopt;
  bool sigmoid = true;
};

// The modules of a sentence-transformers folder after the one that reads texts:
// pooling, dense layers and normalization, or a decoder's score, or SPLADE's
// pooling, which the engine does, or what makes a vector of each token. Also
// holds the prompts that texts begin with. A folder without modules.json pools
// the mean. bge-m3's has three outputs, all made of the same states.
//
//   encoder.Embed(states, d_model, {})         // [embedding_size]
//   encoder.multi_vectors()->Rows(states, ids, kind, 0)
class SentenceEncoder {
 public:
  struct Overrides {
    // An override of the pooling leaves out the dense layers.
    std::optional<TokenPooling> pooling = std::nullopt;
    std::optional<bool> normalize = std::nullopt;
    // Tokens at the beginning that pooling leaves out: the prompt's, if
    // !includes_prompt().
    int skipped_tokens = 0;
  };

  // Reads the modules of `folder`: `list`, or those of modules.json if it is
  // null. Errors name the file, what is wrong and what is possible.
  static absl::StatusOr<SentenceEncoder> Load(const std::string& folder,
                                              int d_model,
                                              const ModuleList* list = nullptr);

  // Reads a folder of Stanford's ColBERT, which has no modules.json: its one
  // dense layer is the tensor linear.weight among the model's.
  static absl::StatusOr<SentenceEncoder> LoadStanford(const std::string& folder,
                                                      const Weights& weights,
                                                      int d_model);

  // Adds the outputs of bge-m3's own files, if `folder` has them.
  absl::Status AddM3Outputs(const std::string& folder, int d_model,
                            const Tokenizer* tokenizer);

  // Finds the tokens that the folder names, below `vocabulary`. Errors name
  // the file. Called once, last.
  absl::Status FindTokens(const std::string& folder, const Tokenizer* tokenizer,
                          int vocabulary);

  // Returns an encoder with `pooling` ("lasttoken", as sentence-transformers
  // names it) whose vectors have length 1; null if the name is unknown.
  // `dense` are matrices [out, in] that multiply the pooled vector in turn;
  // they must fit.
  static std::optional<SentenceEncoder> OfPooling(
      std::string_view pooling, std::span<const TensorView* const> dense = {});

  // True if Embed takes all tokens alike, so that it can be given those of a
  // part of a text: it makes nothing of the first or the last one.
  bool PoolsParts(const Overrides& overrides) const;
  // Returns which states Embed needs.
  States Reads(const Overrides& overrides) const;
  // `states` is [tokens, d_model] with at least one token: the states that
  // Reads() names, or all.
  std::vector<float> Embed(std::span<const float> states, int d_model,
                           const Overrides& overrides) const;
  // Makes a sparse embedding, if makes_sparse(), of the same states (those of
  // all tokens, if it is of tokens). At most `most` weights, or as many as the
  // folder says.
  std::vector<SparseWeight> EmbedSparse(std::span<const float> states,
                                        int d_model,
                                        std::span<const int32_t> ids,
                                        const Overrides& overrides,
                                        std::optional<int> most) const;
  // Size of Embed's result without overrides; 0: the modules make no dense
  // embedding.
  int embedding_size(int d_model) const;

  // The embeddings that the modules make; pooling may be overridden where they
  // make none that is dense.
  bool has_dense() const { return dense_; }
  bool has_sparse() const { return sparse_ || makes_sparse(); }
  bool has_multi_vector() const { return multi_vectors_ != nullptr; }
  // Null if they make no vectors of tokens.
  const MultiVectors* multi_vectors() const { return multi_vectors_.get(); }
  // True if EmbedSparse makes sparse embeddings, and not the engine.
  bool makes_sparse() const {
    return token_weights_.has_value() || auto_encoder_.has_value();
  }
  // Set if sparse embeddings are of features, and not of tokens.
  const std::optional<SparseAutoEncoder>& auto_encoder() const {
    return auto_encoder_;
  }
  // Set if they pool the logits of a fill-mask head.
  const std::optional<VocabularyPooling>& vocabulary_pooling() const {
    return vocabulary_pooling_;
  }

  // The ways in which token vectors become one; several results are
  // concatenated.
  const std::vector<TokenPooling>& poolings() const { return poolings_; }
  // The function by which the folder compares dense embeddings.
  SimilarityFunction similarity() const { return similarity_; }
  // The most tokens of a text, special ones included; 0: as many as the model
  // reads.
  int max_tokens() const { return max_tokens_; }
  // The prompts by name; texts begin with `default_prompt` if a call names
  // none.
  const std::map<std::string, std::string>& prompts() const { return prompts_; }
  const std::string& default_prompt() const { return default_prompt_; }
  // Makes the prompt of a task the default. `instructions` has the prompts of
  // tasks that the folder's list of prompts may lack.
  void UseTask(const std::string& task, const nlohmann::json& instructions);
  // False if pooling leaves the prompt's tokens out.
  bool includes_prompt() const { return includes_prompt_; }
  // The most weights of a sparse embedding, unless a call asks for another
  // number.
  std::optional<int> most_active() const {
    return active_ || !auto_encoder_ ? active_ : auto_encoder_->most_active();
  }
  // Set if the folder computes scores instead of embeddings.
  const std::optional<LogitScore>& logit_score() const { return logit_score_; }

 private:
  // y = activation(weight x + bias) + residual x
  struct Dense {
    int in = 0, out = 0;
    std::vector<float> weight;    // [out, in]
    std::vector<float> bias;      // [out] or empty
    bool adds_input = false;      // the residual is x itself
    std::vector<float> residual;  // [out, in] or empty
    double (*activation)(double) = nullptr;
  };
  // y = (x - mean) / sqrt(variance + epsilon) * weight + bias
  struct LayerNorm {
    std::vector<float> weight, bias;  // [size of x]
  };
  struct Normalize {};
  // A module that modules.json names after the pooling.
  using Step = std::variant<Dense, LayerNorm, Normalize>;

  static std::vector<float> Apply(const Dense& dense,
                                  const std::vector<float>& x);
  static void Apply(const LayerNorm& norm, std::vector<float>* x);

  absl::Status ReadModules(const std::string& file, const ModuleList& list,
                           int d_model, bool by_tokens,
                           MultiVectors::Settings settings);
  absl::Status ReadPooling(const std::string& folder, int d_model);
  void AddDense(const DenseModule& module);
  absl::Status ReadLayerNorm(const std::string& folder, int size);
  absl::Status ReadSplade(const std::string& folder);
  absl::Status ReadLogitScore(const std::string& folder);
  // Read the prompts, and what else config_sentence_transformers.json says.
  void ReadPrompts(const nlohmann::json& config);
  absl::Status ReadSettings(const std::string& file,
                            const nlohmann::json& config);
  absl::Status ReadTruncation(const std::string& file,
                              const nlohmann::json& config);

  std::vector<TokenPooling> poolings_ = {
      TokenPooling::kMean};  // their results are concatenated
  std::vector<Step> steps_ = {Normalize()};
  bool dense_ = true;
  bool sparse_ = false;  // made by the engine
  std::optional<TokenWeights> token_weights_;
  std::optional<SparseAutoEncoder> auto_encoder_;  // the last step
  std::shared_ptr<MultiVectors> multi_vectors_;
  std::optional<VocabularyPooling> vocabulary_pooling_;
  SimilarityFunction similarity_ = SimilarityFunction::kCosine;
  bool includes_prompt_ = true;
  int max_tokens_ = 0;
  std::optional<int> dimensions_;
  std::optional<int> active_;
  std::map<std::string, std::string> prompts_;
  std::string default_prompt_;
  std::optional<LogitScore> logit_score_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SENTENCE_ENCODER_H_
