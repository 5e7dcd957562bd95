#ifndef TRIVIUM_MODEL_FAMILIES_FAMILY_READER_H_
#define TRIVIUM_MODEL_FAMILIES_FAMILY_READER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "base/config_reader.h"
#include "model/families/tensor_reader.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads a model folder in the order of all families: the whole config.json
// first, then the tensors, if that is of use.
class FamilyReader {
 public:
  // Same arguments as FamilyLoader; all must outlive this.
  FamilyReader(const nlohmann::json& json, const Weights* weights,
               Problems* problems)
      : config_({{"config.json", &json}}, problems),
        weights_(weights),
        reported_(problems->size()) {}

  ConfigReader* config() { return &config_; }

  // Opens the tensors, whose names may begin with `prefix`. Call it after
  // config() has been read. Null if there are none, or after a problem: without
  // usable sizes, shapes cannot be checked.
  TensorReader* OpenTensors(std::string prefix) {
    Problems* const problems = config_.problems();
    if (weights_ == nullptr || problems->size() > reported_) return nullptr;
    return &tensors_.emplace(*weights_, std::move(prefix), problems);
  }

 private:
  ConfigReader config_;
  const Weights* weights_;
  const size_t reported_;  // problems before this
  std::optional<TensorReader> tensors_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_FAMILY_READER_H_
