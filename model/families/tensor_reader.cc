#include "model/families/tensor_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace trivium {

std::pair<std::string, const TensorView*> TensorReader::Find(
    std::string_view name) const {
  std::string full = prefix_ + std::string(name);
  const TensorView* tensor = weights_.Find(full);
  if (tensor != nullptr) return {std::move(full), tensor};
  return {std::string(name), weights_.Find(name)};
}

bool TensorReader::HasAnyWith(std::string_view beginning) const {
  if (weights_.imagined()) return true;
  const auto begins = [&](const std::string& full) {
    const auto found = std::lower_bound(names_.begin(), names_.end(), full);
    return found != names_.end() && found->substr(0, full.size()) == full;
  };
  return begins(prefix_ + std::string(beginning)) ||
         begins(std::string(beginning));
}

TensorReader::Shape TensorReader::ShapeOf(std::string_view name) const {
  const TensorView* const tensor = Find(name).second;
  return tensor == nullptr ? Shape() : tensor->shape;
}

const TensorView* TensorReader::Required(std::string_view name,
                                         const Shape& shape) {
  return RequiredOneOf({std::string(name)}, shape);
}

const TensorView* TensorReader::RequiredOneOf(
    const std::vector<std::string>& names, const Shape& shape) {
  return RequiredOf(names, shape, /*bytes=*/false);
}

const TensorView* TensorReader::RequiredBytes(std::string_view name,
                                              const Shape& shape) {
  return RequiredOf({std::string(name)}, shape, /*bytes=*/true);
}

const TensorView* TensorReader::RequiredOf(
    const std::vector<std::string>& names, const Shape& shape, bool bytes) {
  for (const std::string& name : names) {
    const auto [full, tensor] = Find(name);
    if (tensor == nullptr) continue;
    if (tensor->shape != shape) {
      problems_->push_back(fmt::format(
          "weights: tensor {} is [{}] where {} makes it [{}]; take both from "
          "the same model",
          full, fmt::join(tensor->shape, ", "), config_,
          fmt::join(shape, ", ")));
      return nullptr;
    }
    if (bytes) {
      if (tensor->dtype == DType::kU8) return tensor;
      problems_->push_back(
          fmt::format("weights: tensor {} is {} where this format has u8; "
                      "fetch the model again",
                      full, DTypeName(tensor->dtype)));
      return nullptr;
    }
    if (!IsReal(*tensor)) {
      problems_->push_back(
          fmt::format("weights: tensor {} is {}; save it as f32, f16 or bf16",
                      full, DTypeName(tensor->dtype)));
      return nullptr;
    }
    return tensor;
  }
  if (weights_.imagined()) return weights_.Imagine(names.front(), shape);
  std::vector<std::string> full_names;
  for (const std::string& name : names) {
    full_names.push_back(prefix_ + name);
  }
  problems_->push_back(
      fmt::format("weights: tensor {} [{}] is missing; fetch a complete model",
                  fmt::join(full_names, " or "), fmt::join(shape, ", ")));
  return nullptr;
}

LinearTensors TensorReader::Linear(const std::string& name, int out, int in,
                                   bool bias) {
  return {Required(name + ".weight", {out, in}),
          bias ? Required(name + ".bias", {out}) : nullptr};
}

NormTensors TensorReader::Norm(const std::string& name, int size, bool bias) {
  // Checkpoints that began in TensorFlow have other names.
  if (Has(name + ".gamma")) {
    return {Required(name + ".gamma", {size}),
            bias ? Required(name + ".beta", {size}) : nullptr};
  }
  return {Required(name + ".weight", {size}),
          bias ? Required(name + ".bias", {size}) : nullptr};
}

std::string PrefixOf(const Weights* weights,
                     const std::vector<std::string>& prefixes) {
  if (weights == nullptr) return prefixes.front();
  const std::vector<std::string_view> names = weights->Names();
  for (const std::string& prefix : prefixes) {
    if (std::any_of(names.begin(), names.end(), [&](std::string_view name) {
          return name.starts_with(prefix);
        })) {
      return prefix;
    }
  }
  return prefixes.front();
}

}  // namespace trivium
