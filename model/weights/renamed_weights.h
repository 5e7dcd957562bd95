#ifndef TRIVIUM_MODEL_WEIGHTS_RENAMED_WEIGHTS_H_
#define TRIVIUM_MODEL_WEIGHTS_RENAMED_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "model/weights/weights.h"

namespace trivium {

// Weights under other names. Messages about the tensors have these names, too.
class RenamedWeights : public Weights {
 public:
  // Returns a tensor's new name, or an empty one to leave the tensor out.
  using Rename = absl::FunctionRef<std::string(std::string_view name)>;

  // Imagined tensors keep the names that they are requested by.
  RenamedWeights(std::shared_ptr<const Weights> all, Rename rename);

  const TensorView* Find(std::string_view name) const override;
  std::vector<std::string_view> Names() const override;
  std::string Fingerprint() const override { return all_->Fingerprint(); }
  std::string Origin() const override { return all_->Origin(); }
  void ReadAhead() const override { all_->ReadAhead(); }
  std::string Quantization() const override { return all_->Quantization(); }
  bool imagined() const override { return all_->imagined(); }
  const TensorView* Imagine(std::string_view name,
                            const std::vector<int64_t>& shape) const override {
    return all_->Imagine(name, shape);
  }
  absl::Status CheckUnchanged() const override {
    return all_->CheckUnchanged();
  }

 private:
  const std::shared_ptr<const Weights> all_;
  std::map<std::string, const TensorView*, std::less<>> tensors_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_RENAMED_WEIGHTS_H_
