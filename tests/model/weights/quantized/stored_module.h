#ifndef TRIVIUM_TESTS_MODEL_WEIGHTS_QUANTIZED_STORED_MODULE_H_
#define TRIVIUM_TESTS_MODEL_WEIGHTS_QUANTIZED_STORED_MODULE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/config_reader.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Bytes of tensors.
std::string Halves(const std::vector<float>& values);  // f16
std::string Words(const std::vector<uint32_t>& values);
std::string Longs(const std::vector<int64_t>& values);
std::string Chars(const std::vector<int>& values);

// Returns `count` integers from 0 to `most`.
std::vector<int> RandomCodes(size_t count, int most, std::mt19937* random);
// Returns `count` numbers that f16 and bf16 hold, positive and negative.
std::vector<float> RandomScales(size_t count, std::mt19937* random);

// Packs codes of `bits` bits: the first code in the lowest bits of the first
// word, every bit by itself.
std::vector<uint32_t> PackedBits(const std::vector<int>& codes, int bits);

// The stored tensors of a module "x", which are read as a format of
// quantization_config.
class StoredModule {
 public:
  explicit StoredModule(nlohmann::json quantization_config)
      : config_(std::move(quantization_config)) {}

  nlohmann::json& config() { return config_; }
  void Set(const std::string& name, const char* dtype,
           const std::vector<int64_t>& shape, const std::string& bytes) {
    tensors_[name] = {dtype, shape, bytes};
  }
  void Remove(const std::string& name) { tensors_.erase(name); }

  // Reads the module as config_ says.
  std::unique_ptr<Weights> Read(Problems* problems) const;
  // Returns the values of "x.weight", in parts of several sizes; fails the test
  // on a problem, and if the shape is another.
  std::vector<float> Values(int64_t rows, int64_t columns) const;
  // Tries tensors that are missing, empty, of another type and of other sizes,
  // except those `optional` ones that may be missing; fails the test unless
  // each is a problem that names a tensor of the module.
  void ExpectDamageIsReported(const std::set<std::string>& optional = {}) const;

 private:
  struct Stored {
    const char* dtype;
    std::vector<int64_t> shape;
    std::string bytes;
  };
  nlohmann::json config_;
  std::map<std::string, Stored> tensors_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_WEIGHTS_QUANTIZED_STORED_MODULE_H_
