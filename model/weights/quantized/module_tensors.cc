#include "model/weights/quantized/module_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/weights/tensor_file.h"

namespace trivium {

const TensorView* ModuleTensors::Find(std::string_view suffix) {
  std::string full = name_ + std::string(suffix);
  const TensorView* const tensor = weights_.Find(full);
  if (tensor != nullptr) taken_.insert(std::move(full));
  return tensor;
}

const TensorView* ModuleTensors::Required(std::string_view suffix,
                                          std::initializer_list<DType> types,
                                          const Shape& shape) {
  const TensorView* const tensor = Find(suffix);
  if (tensor == nullptr) {
    Report(suffix, "is missing");
    return nullptr;
  }
  if (std::find(types.begin(), types.end(), tensor->dtype) == types.end()) {
    std::string names;
    for (const DType type : types) {
      names += (names.empty() ? "" : " or ") + std::string(DTypeName(type));
    }
    Report(suffix, fmt::format("is {} where its format has {}",
                               DTypeName(tensor->dtype), names));
    return nullptr;
  }
  bool fits = tensor->shape.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    fits = shape[i] == kAnySize ? tensor->shape[i] > 0
                                : tensor->shape[i] == shape[i];
  }
  if (!fits) {
    std::vector<std::string> sizes;
    for (const int64_t size : shape) {
      sizes.push_back(size == kAnySize ? "any" : std::to_string(size));
    }
    Report(suffix,
           fmt::format("is [{}] where its format and the module's other "
                       "tensors make it [{}]",
                       fmt::join(tensor->shape, ", "), fmt::join(sizes, ", ")));
    return nullptr;
  }
  return tensor;
}

void ModuleTensors::Report(std::string_view suffix, const std::string& what,
                           std::string_view mend) {
  problems_->push_back(fmt::format("weights: tensor {} {}; {}",
                                   Quoted(name_ + std::string(suffix)), what,
                                   mend));
}

std::optional<int64_t> OneInteger(const TensorView& tensor) {
  if (tensor.elements() != 1) return std::nullopt;
  switch (tensor.dtype) {
    case DType::kI64: {
      int64_t value;
      std::memcpy(&value, tensor.data.data(), sizeof(value));
      return value;
    }
    case DType::kI32: {
      int32_t value;
      std::memcpy(&value, tensor.data.data(), sizeof(value));
      return value;
    }
    case DType::kI8:
      return static_cast<int8_t>(tensor.data[0]);
    case DType::kU8:
      return std::to_integer<uint8_t>(tensor.data[0]);
    default:
      return std::nullopt;
  }
}

}  // namespace trivium
