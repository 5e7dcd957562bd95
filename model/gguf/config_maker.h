#ifndef TRIVIUM_MODEL_GGUF_CONFIG_MAKER_H_
#define TRIVIUM_MODEL_GGUF_CONFIG_MAKER_H_

#include <set>
#include <string>
#include <string_view>

#include "base/config_reader.h"
#include "model/weights/gguf_file.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Makes a folder's config.json from a GGUF file's metadata. Values keep their
// types, which the family checks. A value of the architecture that nobody has
// consumed becomes a problem, because it may change what the model computes.
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
  // True if the file has such a tensor.
  bool Has(const std::string& tensor) const {
    return file_.tensors.contains(tensor);
  }

  // Sets a key of config.json to a value of the file, if there is one.
  void Copy(std::string_view config_key, std::string_view key);
  void Set(std::string_view config_key, nlohmann::json value) {
    config_[std::string(config_key)] = std::move(value);
  }
  // Reports "metadata: ARCHITECTURE.key is VALUE; expectation".
  void Refuse(std::string_view key, const std::string& expectation);
  Problems* problems() { return problems_; }

  // Sets what decoders with rotary positions have in common.
  void DescribeRotaryDecoder(std::string_view model_type);
  // Sets the number of experts, under `count_key`, and of experts per token.
  void DescribeExperts(std::string_view count_key);

  // Adds what all architectures have: the size of the vocabulary, the ids of
  // special tokens, and whether embeddings are tied. Reports values that were
  // not consumed and returns config.json.
  nlohmann::json Finish();

 private:
  void DescribeRotaryScaling(int head_size);
  void DescribePooling();
  // Sets LLaMA 3's scaling, which the file stores as divisors of the
  // frequencies.
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
