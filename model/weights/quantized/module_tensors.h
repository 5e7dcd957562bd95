#ifndef TRIVIUM_MODEL_WEIGHTS_QUANTIZED_MODULE_TENSORS_H_
#define TRIVIUM_MODEL_WEIGHTS_QUANTIZED_MODULE_TENSORS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.h"
#include "model/weights/weights.h"

namespace trivium {

// In a shape that is required: any size of at least 1.
inline constexpr int64_t kAnySize = -1;

// The stored tensors of one quantized module, such as "NAME.qweight" and
// "NAME.scales", for the format that makes "NAME.weight" of them. What does not
// fit becomes a problem that names the tensor.
class ModuleTensors {
 public:
  using Shape = std::vector<int64_t>;

  ModuleTensors(const Weights& weights, std::string name, Problems* problems)
      : weights_(weights), name_(std::move(name)), problems_(problems) {}

  const std::string& name() const { return name_; }

  // Returns the tensor "NAME" + `suffix`, or null.
  const TensorView* Find(std::string_view suffix);
  // Returns null and adds a problem if there is no such tensor, or if its type
  // or shape is another.
  const TensorView* Required(std::string_view suffix,
                             std::initializer_list<DType> types,
                             const Shape& shape);
  // Adds a problem. `what` continues the tensor's name, `mend` says what to do.
  void Report(std::string_view suffix, const std::string& what,
              std::string_view mend = "fetch a complete model");

  // The full names of all tensors that were found.
  const std::set<std::string>& taken() const { return taken_; }

 private:
  const Weights& weights_;
  const std::string name_;
  Problems* const problems_;
  std::set<std::string> taken_;
};

// Returns the integer of a tensor with one element of an integer type; nullopt
// of any other tensor.
std::optional<int64_t> OneInteger(const TensorView& tensor);

// The types of scales.
inline constexpr std::initializer_list<DType> kRealTypes = {
    DType::kF16, DType::kBf16, DType::kF32};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_QUANTIZED_MODULE_TENSORS_H_
