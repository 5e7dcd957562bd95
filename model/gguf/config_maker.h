#ifndef TRIVIUM_MODEL_GGUF_CONFIG_MAKER_H_
#define TRIVIUM_MODEL_GGUF_CONFIG_MAKER_H_

#include <set>
#include <string>
#include <string_view>

#include "base/config_reader.h"
#include "model/weights/gguf_file.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Makes a folder's config.json of a GGUF file's metadata. Values keep their
// types, which the family judges. A value of the architecture that nobody took
// becomes a problem: it may change what the model computes.
class ConfigMaker {
 public:
  // All outlive this.
  ConfigMaker(const GgufFile& file, std::string architecture,
              Problems* problems)
      : file_(file),
        architecture_(std::move(architecture)),
        problems_(problems) {}

  // The value "ARCHITECTURE.key"; null when there is none.
  const nlohmann::json* Take(std::string_view key);
  // The same as a number; `otherwise` where it is none.
  double Number(std::string_view key, double otherwise);
  // Whether there is such a tensor.
  bool Has(const std::string& tensor) const {
    return file_.tensors.contains(tensor);
  }

  // config.json's key of that value, if there is one.
  void Copy(std::string_view config_key, std::string_view key);
  void Set(std::string_view config_key, nlohmann::json value) {
    config_[std::string(config_key)] = std::move(value);
  }
  // "FILE: ARCHITECTURE.key is VALUE; expectation".
  void Refuse(std::string_view key, const std::string& expectation);
  Problems* problems() { return problems_; }

  // What decoders with rotary positions have in common.
  void DescribeRotaryDecoder(std::string_view model_type);
  // Mixtures of experts under these keys.
  void DescribeExperts(std::string_view count_key);

  // With what all have: the size of the vocabulary, the ids of special tokens,
  // whether the embeddings are tied. Reports what was not taken.
  nlohmann::json Finish();

 private:
  void DescribeRotaryScaling(int head_size);
  void DescribePooling();
  // LLaMA 3's scaling, which is stored as what it divides frequencies by.
  void DescribeFrequencyFactors(int head_size, double theta);
  void CopyTokenId(std::string_view config_key, std::string_view key);

  const GgufFile& file_;
  const std::string architecture_;
  Problems* const problems_;
  std::set<std::string> taken_;
  nlohmann::json config_ = nlohmann::json::object();
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_CONFIG_MAKER_H_
