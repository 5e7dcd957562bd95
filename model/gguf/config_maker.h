#ifndef TRIVIUM_MODEL_GGUF_CONFIG_MAKER_H_
#define TRIVIUM_MODEL_GGUF_CONFIG_MAKER_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/config_reader.h"
#include "model/weights/gguf_file.h"
#include "nlohmann/json.hpp"

namespace trivium {

// If rotary positions turn a part of each head, partial_rotary_factor says it.
enum GgufRotary { kWholeRotary, kPartialRotary };

// llama.cpp's numbers of the function that makes weights of experts' scores.
enum GgufGate { kGgufSoftmax = 1, kGgufSigmoid = 2 };

// Makes a folder's config.json from a GGUF file's metadata. Values keep their
// types, which the family checks. A value of the architecture that nobody has
// consumed becomes a problem, because it may change what the model computes.
//
//   maker.DescribeRotaryDecoder("qwen2");
//   maker.Copy("sliding_window", "attention.sliding_window");
class ConfigMaker {
 public:
  // All arguments must outlive this object.
  ConfigMaker(const GgufFile& file, std::string architecture,
              Problems* problems)
      : file_(file),
        architecture_(std::move(architecture)),
        problems_(problems) {}

  // Returns the value "ARCHITECTURE.key", and marks it as consumed; null if
  // there is none.
  const nlohmann::json* Consume(std::string_view key);
  // Like Consume, as a number; `otherwise` if it is absent or not a number.
  double Number(std::string_view key, double otherwise);
  // Returns a value that is true or false.
  bool Flag(std::string_view key, bool otherwise);
  // True if the file has such a tensor. Queries also count as part of one
  // tensor with keys and values.
  bool Has(const std::string& tensor) const;

  // True if some layer has "blk.N.NAME".
  bool HasInLayers(std::string_view name) const;
  // The first dimension of a tensor; 0 if the file does not have it.
  int64_t Rows(const std::string& tensor) const;

  // Sets a key of config.json to a value of the file, if there is one.
  void Copy(std::string_view config_key, std::string_view key);
  void Set(std::string_view config_key, nlohmann::json value) {
    config_[std::string(config_key)] = std::move(value);
  }
  // Reports "metadata: ARCHITECTURE.key is VALUE; expectation".
  void Refuse(std::string_view key, const std::string& expectation);
  Problems* problems() { return problems_; }

  // Sets the sizes that all have but for those of heads.
  void DescribeDecoder(std::string_view model_type);
  // Sets what decoders with rotary positions have in common.
  void DescribeRotaryDecoder(std::string_view model_type,
                             GgufRotary rotary = kWholeRotary);
  // Sets rope_scaling, for heads of that size.
  void DescribeRotaryScaling(int head_size);
  // Refuses scaled rotary positions.
  void RequireNoScaling();
  // Adds a value to rope_scaling, if there is one.
  void AddToScaling(const char* key, double value);
  // Adds the growth of queries with the position (Ministral 3) to rope_scaling,
  // or refuses it if there is none.
  void DescribeQueryGrowth();
  // Sets use_bidirectional_attention.
  void DescribeBothWays();
  // The share of rope_freqs.weight that turns at the usual frequency, where the
  // rest turns hardly (Gemma 4); reports other factors. 1 without the tensor.
  double TurnedShare();
  // Sets which layers have windows: as the file says, or all but each
  // `usual`th.
  void DescribeWindows(int usual);
  // Sets the type of each layer for a list of true (`one`) or false (`other`).
  void DescribeLayerTypes(const nlohmann::json& list, const char* one,
                          const char* other);
  // Sets the type of each layer: `none` if it has no heads of keys.
  void DescribeAttendingLayers(const char* none, const char* attends);
  // Sets Granite's four factors.
  void DescribeGraniteFactors();
  // Sets the class and the labels, one for each row of tensor NAME.weight.
  void DescribeClassifier(const char* architecture, const std::string& tensor);
  // Counts the positions that RoBERTa has before the first token's.
  void DescribeRobertaPositions();
  // Sets the number of experts, under `count_key`, and of experts per token.
  void DescribeExperts(std::string_view count_key);
  // Sets what DeepSeek, GLM and Nemotron-H say about their experts.
  void DescribeGroupedExperts();
  // Refuses another function that makes weights of scores. A file need not name
  // it.
  void RequireGate(GgufGate gate);
  // The values of one of Mamba's heads.
  int StateHeadSize();

  // Adds what all architectures have: the size of the vocabulary, the ids of
  // special tokens, and whether embeddings are tied. Reports values that were
  // not consumed and returns config.json.
  nlohmann::json Finish();

 private:
  void DescribePooling();
  // Sets Phi 3's scaling, which the file stores as tensors.
  void DescribeLongFactors(int head_size);
  // Sets LLaMA 3's scaling, which the file stores as divisors of the
  // frequencies, or the divisors themselves.
  void DescribeFrequencyFactors(int head_size, double theta);
  void CopyTokenId(std::string_view config_key, std::string_view key);

  const GgufFile& file_;
  const std::string architecture_;
  Problems* const problems_;
  std::set<std::string> consumed_;
  nlohmann::json config_ = nlohmann::json::object();
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_CONFIG_MAKER_H_
