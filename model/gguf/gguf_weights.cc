// For each tensor of the file: its name becomes that of a folder, then the
// converter's change is undone. Most tensors, and the slices that are experts,
// are views of the mapped file. Interleaved rows and transposed matrices are
// copied in their type. 1 + w, and transposed matrices in blocks, become f32.
// Copies live as long as the Weights.
#include "model/gguf/gguf_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/weights/tensor_file.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr int64_t kMaxExperts = 4096;

class GgufWeights : public MapWeights {
 public:
  explicit GgufWeights(std::unique_ptr<MappedFile> file)
      : file_(std::move(file)) {}

  void Add(std::string name, TensorView tensor) {
    tensors_.insert_or_assign(std::move(name), std::move(tensor));
  }
  // Allocates memory for a tensor that is not a view of the file.
  std::span<std::byte> NewMemory(size_t size) {
    return memory_.emplace_back(size);
  }

  std::string Fingerprint() const override { return FingerprintOf(tensors_); }
  absl::Status CheckUnchanged() const override {
    return file_->CheckUnchanged();
  }

 private:
  const std::unique_ptr<MappedFile> file_;
  // Bytes stay in place when a vector is moved.
  std::vector<std::vector<std::byte>> memory_;
};

// Undoes the converter's changes to the tensors of one file.
class Undo {
 public:
  Undo(const json& config, GgufWeights* weights)
      : config_(config), weights_(weights) {}

  // Adds a tensor with its change undone. Returns what is wrong with it, or an
  // empty string.
  std::string Add(const std::string& name, const TensorView& tensor,
                  GgufChange change);

 private:
  std::string AddInterleaved(const std::string& name, const TensorView& tensor,
                             const char* heads_key);
  void AddMinusOne(const std::string& name, const TensorView& tensor);
  void AddTransposed(const std::string& name, const TensorView& tensor);
  void AddExperts(const std::string& name, const TensorView& tensor);
  TensorView AsF32(const TensorView& tensor);

  const json& config_;
  GgufWeights* const weights_;
};

std::string Undo::Add(const std::string& name, const TensorView& tensor,
                      GgufChange change) {
  if (change != GgufChange::kNone && (!IsReal(tensor) || tensor.data.empty())) {
    return fmt::format("is {} [{}], which is not a weight",
                       DTypeName(tensor.dtype), fmt::join(tensor.shape, ", "));
  }
  const size_t dimensions = tensor.shape.size();
  switch (change) {
    case GgufChange::kInterleavedQuery:
      return AddInterleaved(name, tensor, "num_attention_heads");
    case GgufChange::kInterleavedKey:
      return AddInterleaved(name, tensor, "num_key_value_heads");
    case GgufChange::kPlusOne:
      AddMinusOne(name, tensor);
      return "";
    case GgufChange::kTransposed:
      if (dimensions == 2) {
        AddTransposed(name, tensor);
        return "";
      }
      break;
    case GgufChange::kExperts:
      if (dimensions < 2 || tensor.shape.front() > kMaxExperts) {
        return fmt::format("[{}] is not one of 1 to {} experts",
                           fmt::join(tensor.shape, ", "), kMaxExperts);
      }
      AddExperts(name, tensor);
      return "";
    case GgufChange::kNone:
      break;
  }
  weights_->Add(name, tensor);
  return "";
}

// A head's rows are a_0 a_1 ... b_0 b_1 ..., its two halves; the file has them
// as a_0 b_0 a_1 b_1 ...
std::string Undo::AddInterleaved(const std::string& name,
                                 const TensorView& tensor,
                                 const char* heads_key) {
  auto value = config_.find(heads_key);
  if (value == config_.end()) value = config_.find("num_attention_heads");
  const int64_t rows = tensor.shape.front();
  const int64_t heads = value != config_.end() && value->is_number_unsigned()
                            ? static_cast<int64_t>(std::min(
                                  value->get<uint64_t>(), uint64_t{INT32_MAX}))
                            : 0;
  if (heads < 1 || rows % (2 * heads) != 0) {
    return fmt::format(
        "has {} rows, which cannot be two halves for each of {} heads", rows,
        heads);
  }
  const int64_t half = rows / heads / 2;
  const size_t row = tensor.data.size() / static_cast<size_t>(rows);
  const std::span<std::byte> to = weights_->NewMemory(tensor.data.size());
  size_t at = 0;
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t side = 0; side < 2; ++side) {
      for (int64_t i = 0; i < half; ++i, at += row) {
        const int64_t from = head * 2 * half + 2 * i + side;
        std::memcpy(&to[at], &tensor.data[from * row], row);
      }
    }
  }
  weights_->Add(name, {tensor.dtype, tensor.shape, to});
  return "";
}

TensorView Undo::AsF32(const TensorView& tensor) {
  const size_t count = static_cast<size_t>(tensor.elements());
  const std::span<std::byte> bytes = weights_->NewMemory(count * sizeof(float));
  // The memory of a vector is aligned for every type.
  CopyToF32(tensor, 0,
            std::span(reinterpret_cast<float*>(bytes.data()), count));
  return {DType::kF32, tensor.shape, bytes};
}

void Undo::AddMinusOne(const std::string& name, const TensorView& tensor) {
  const size_t count = static_cast<size_t>(tensor.elements());
  const std::span<std::byte> bytes = weights_->NewMemory(count * sizeof(float));
  const std::span<float> values(reinterpret_cast<float*>(bytes.data()), count);
  CopyToF32(tensor, 0, values);
  for (float& value : values) value -= 1.0f;
  weights_->Add(name, {DType::kF32, tensor.shape, bytes});
}

void Undo::AddTransposed(const std::string& name, const TensorView& tensor) {
  const TensorView plain =
      BlockElements(tensor.dtype) == 1 ? tensor : AsF32(tensor);
  const int64_t m = plain.shape[0], n = plain.shape[1];
  const size_t size = static_cast<size_t>(DTypeSize(plain.dtype));
  const std::span<std::byte> to = weights_->NewMemory(plain.data.size());
  size_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j, at += size) {
      std::memcpy(&to[at], &plain.data[(j * n + i) * size], size);
    }
  }
  weights_->Add(name, {plain.dtype, {n, m}, to});
}

void Undo::AddExperts(const std::string& name, const TensorView& tensor) {
  const int64_t experts = tensor.shape.front();
  const size_t size = tensor.data.size() / static_cast<size_t>(experts);
  const std::vector<int64_t> shape(tensor.shape.begin() + 1,
                                   tensor.shape.end());
  for (int64_t i = 0; i < experts; ++i) {
    weights_->Add(fmt::format(fmt::runtime(name), i),
                  {tensor.dtype, shape,
                   tensor.data.subspan(static_cast<size_t>(i) * size, size)});
  }
}

// The parts of "blk.N.REST".
struct LayerName {
  std::string_view number;
  std::string_view rest;
};
std::optional<LayerName> ParseLayer(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const size_t dot = name.find('.');
  if (dot == 0 || dot > 6 || name.find_first_not_of("0123456789") != dot) {
    return std::nullopt;
  }
  return LayerName{name.substr(0, dot), name.substr(dot + 1)};
}

const GgufTensorName* FindName(std::span<const GgufTensorName> names,
                               std::string_view name) {
  const auto found =
      std::find_if(names.begin(), names.end(),
                   [name](const auto& known) { return known.gguf == name; });
  return found == names.end() ? nullptr : &*found;
}

}  // namespace

std::unique_ptr<Weights> MakeGgufWeights(std::unique_ptr<MappedFile> file,
                                         const TensorMap& tensors,
                                         const GgufArchitecture& architecture,
                                         const json& config,
                                         Problems* problems) {
  auto weights = std::make_unique<GgufWeights>(std::move(file));
  Undo undo(config, weights.get());
  for (const auto& [name, tensor] : tensors) {
    if (name == "rope_freqs.weight") continue;  // in config.json's rope_scaling
    std::string_view base = name;
    const size_t dot = base.rfind('.');
    const std::string_view suffix =
        dot == base.npos ? std::string_view() : base.substr(dot);
    std::string folder_name;
    GgufChange change = GgufChange::kNone;
    if (suffix == ".weight" || suffix == ".bias") {
      base.remove_suffix(suffix.size());
      const auto layer = ParseLayer(base);
      const GgufTensorName* known;
      if (layer) {
        known = FindName(architecture.own_tensors, layer->rest);
        if (known == nullptr) {
          known = FindName(architecture.layer_tensors, layer->rest);
        }
        folder_name =
            fmt::format(fmt::runtime(architecture.layer_prefix), layer->number);
      } else {
        known = FindName(architecture.tensors, base);
      }
      if (known != nullptr) {
        folder_name += fmt::format("{}{}", known->folder, suffix);
        change = known->change;
      } else {
        folder_name.clear();
      }
    }
    if (folder_name.empty()) {
      problems->push_back(
          fmt::format("weights: tensor {} is not a known tensor of {}; use the "
                      "model's Hugging Face folder",
                      Quoted(name), architecture.name));
      break;  // one problem is enough
    }
    const std::string problem = undo.Add(folder_name, tensor, change);
    if (!problem.empty()) {
      problems->push_back(
          fmt::format("weights: tensor {} {}; fetch the model "
                      "again",
                      Quoted(name), problem));
    }
  }
  return weights;
}

}  // namespace trivium
