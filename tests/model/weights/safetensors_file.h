#ifndef TRIVIUM_TESTS_MODEL_WEIGHTS_SAFETENSORS_FILE_H_
#define TRIVIUM_TESTS_MODEL_WEIGHTS_SAFETENSORS_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/model/weights/weight_files.h"

namespace trivium {

// Builds a safetensors file of whole tensors.
class SafetensorsFile {
 public:
  void Add(const std::string& name, const char* dtype,
           const std::vector<int64_t>& shape, const std::string& bytes) {
    header_[name] = {
        {"dtype", dtype},
        {"shape", shape},
        {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_ += bytes;
  }
  std::string Finish() const { return Safetensors(header_.dump(), data_); }

 private:
  nlohmann::json header_ = nlohmann::json::object();
  std::string data_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_WEIGHTS_SAFETENSORS_FILE_H_
