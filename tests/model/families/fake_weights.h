#ifndef TRIVIUM_TESTS_MODEL_FAMILIES_FAKE_WEIGHTS_H_
#define TRIVIUM_TESTS_MODEL_FAMILIES_FAKE_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/weights/tensor_file.h"
#include "model/weights/weights.h"

namespace trivium {

// Names, types and shapes without data: all that families look at.
class FakeWeights : public Weights {
 public:
  void Set(const std::string& name, std::vector<int64_t> shape,
           DType dtype = DType::kF32) {
    tensors_[name] = TensorView{dtype, std::move(shape), {}};
  }
  void SetScales(const std::string& name, const TensorView* scales) {
    tensors_.at(name).row_scales = scales;
  }
  void Remove(const std::string& name) { tensors_.erase(name); }
  void Rename(const std::string& from, const std::string& to) {
    tensors_[to] = tensors_.at(from);
    tensors_.erase(from);
  }

  const TensorView* Find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string_view> Names() const override {
    std::vector<std::string_view> names;
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
  }
  std::string Fingerprint() const override { return "fake"; }

 private:
  TensorMap tensors_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_FAMILIES_FAKE_WEIGHTS_H_
