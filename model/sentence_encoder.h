#ifndef TRIVIUM_MODEL_SENTENCE_ENCODER_H_
#define TRIVIUM_MODEL_SENTENCE_ENCODER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/engine.h"

namespace trivium {

// How the vectors of a text's tokens become one.
enum class TokenPooling {
  kMean,
  kFirst,
  kLast,
  kMax,       // of each dimension
  kMeanRoot,  // the sum over the square root of the count
};

// A decoder's score of what it read: the logit of one token, or by how much it
// is above another's; then score = 1 / (1 + exp(-x)) of that x, or x itself.
struct LogitScore {
  int32_t true_id = 0;
  std::optional<int32_t> false_id = std::nullopt;
  bool sigmoid = true;
};

// What a sentence-transformers folder does after the Transformer, as its
// modules.json says: pooling, dense layers, normalization, or the score of a
// decoder; and the prompts that texts begin with. A folder without modules.json
// pools the mean.
//
//   encoder.Embed(states, d_model, {})   // [embedding_size]
class SentenceEncoder {
 public:
  struct Overrides {
    // Then dense layers are left out.
    std::optional<TokenPooling> pooling = std::nullopt;
    std::optional<bool> normalize = std::nullopt;
  };

  // Reads modules.json and the folders that it names. Errors name the file,
  // what is wrong and what is possible.
  static absl::StatusOr<SentenceEncoder> Load(const std::string& folder,
                                              int d_model);

  // The vector of `pooling` ("lasttoken", as sentence-transformers names them),
  // of length 1; null where there is no such.
  static std::optional<SentenceEncoder> OfPooling(std::string_view pooling);

  // The states that Embed needs.
  States Reads(const Overrides& overrides) const;
  // states [tokens, d_model], at least one token: those that Reads() tells, or
  // all.
  std::vector<float> Embed(std::span<const float> states, int d_model,
                           const Overrides& overrides) const;
  // Of Embed's result without overrides.
  int embedding_size(int d_model) const;

  // Most tokens of a text, special ones included; 0: as many as the model
  // reads.
  int max_tokens() const { return max_tokens_; }
  // By name. `default_prompt` is what texts begin with where nothing is asked.
  const std::map<std::string, std::string>& prompts() const { return prompts_; }
  const std::string& default_prompt() const { return default_prompt_; }
  // Instead of embeddings.
  const std::optional<LogitScore>& logit_score() const { return logit_score_; }

 private:
  struct Dense {
    int in = 0, out = 0;
    std::vector<float> weight;  // [out, in]
    std::vector<float> bias;    // [out] or empty
    bool tanh = false;
  };

  absl::Status ReadPooling(const std::string& folder, int d_model);
  absl::Status ReadDense(const std::string& folder, int in);
  absl::Status ReadLogitScore(const std::string& folder);
  absl::Status ReadSettings(const std::string& folder);

  std::vector<TokenPooling> poolings_ = {TokenPooling::kMean};  // joined
  std::vector<Dense> dense_;
  bool normalize_ = true;
  int max_tokens_ = 0;
  std::map<std::string, std::string> prompts_;
  std::string default_prompt_;
  std::optional<LogitScore> logit_score_;
};

// To Euclidean length 1; a vector of zeros stays one.
void NormalizeLength(std::vector<float>* vector);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SENTENCE_ENCODER_H_
