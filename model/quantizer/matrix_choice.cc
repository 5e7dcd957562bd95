// A description's matrix is a tensor of the weights, or views some of its rows.
// So a tensor is found by where its bytes are, or by its packed rows.
#include "model/quantizer/matrix_choice.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "model/weights/packed_rows.h"

namespace trivium {
namespace {

// Finds the tensor that a view belongs to.
class TensorFinder {
 public:
  explicit TensorFinder(const Weights& weights) {
    for (const std::string_view name : weights.Names()) {
      const TensorView& tensor = *weights.Find(name);
      if (tensor.packed != nullptr) {
        packed_.emplace(tensor.packed, name);
      } else if (!tensor.data.empty()) {
        by_begin_.emplace(tensor.data.data(), Place{name, &tensor});
      }
    }
  }

  // Returns its name; empty: it is none of the weights.
  std::string_view Find(const TensorView& view) const {
    if (view.packed != nullptr) {
      const auto found = packed_.find(view.packed);
      return found == packed_.end() ? "" : found->second;
    }
    if (view.data.empty()) return "";
    auto found = by_begin_.upper_bound(view.data.data());
    if (found == by_begin_.begin()) return "";
    const auto& [begin, place] = *--found;
    const std::byte* const end = begin + place.tensor->data.size();
    return std::less_equal<>()(view.data.data() + view.data.size(), end)
               ? place.name
               : "";
  }

 private:
  struct Place {
    std::string_view name;
    const TensorView* tensor;
  };
  std::map<const PackedRows*, std::string_view, std::less<>> packed_;
  std::map<const std::byte*, Place, std::less<>> by_begin_;
};

// Collects the matrices of a description's layers that are in the precision's
// format. Those of routers and of a selective scan are f32 in each.
class LayerMatrices {
 public:
  explicit LayerMatrices(const TransformerDescription& description) {
    if (description.encoder) Add(*description.encoder);
    if (description.decoder) Add(*description.decoder);
    if (description.second_reading) Add(description.second_reading->stack);
  }

  const std::set<const TensorView*>& found() const { return found_; }

 private:
  void Add(const StackDescription& stack) {
    for (const LayerDescription& layer : stack.layer) Add(layer);
  }
  void Add(const LayerDescription& layer) {
    Add(layer.self_attention);
    if (layer.recurrence) {
      Add(layer.recurrence->input);
      Add(layer.recurrence->forget);
    }
    if (layer.mixer) Add(*layer.mixer);
    if (layer.cross_attention) Add(*layer.cross_attention);
    Add(layer.gate);
    Add(layer.up);
    Add(layer.down);
    if (layer.experts) {
      for (const ExpertTensors& expert : layer.experts->experts) Add(expert);
      if (layer.experts->shared) Add(*layer.experts->shared);
    }
    for (const FeedForwardTensors& earlier : layer.earlier_feed_forwards) {
      Add(earlier.up);
      Add(earlier.down);
    }
    if (layer.bottleneck) {
      Add(layer.bottleneck->input);
      Add(layer.bottleneck->attention);
      Add(layer.bottleneck->output);
    }
    if (layer.convolution) Add(layer.convolution->product);
    if (layer.token_input) {
      Add(layer.token_input->gate);
      Add(layer.token_input->output);
    }
  }
  void Add(const AttentionDescription& attention) {
    for (const auto* linear : {&attention.query, &attention.key,
                               &attention.value, &attention.output}) {
      Add(*linear);
    }
    Add(attention.gate);
    if (attention.latent) Add(attention.latent->query_down);
    if (attention.near) {
      Add(attention.near->weights);
      Add(attention.near->value);
    }
    if (attention.global) {
      const auto& [query, key, value] = *attention.global;
      for (const auto* linear : {&query, &key, &value}) Add(*linear);
    }
  }
  void Add(const MixerDescription& mixer) {
    Add(mixer.gate);
    for (const LinearTensors& part : mixer.channels) Add(part);
    Add(mixer.channel_gate);
    if (mixer.kind != MixerDescription::Kind::kSelectiveScan) Add(mixer.rate);
    Add(mixer.share);
    Add(mixer.output);
  }
  void Add(const ExpertTensors& expert) {
    Add(expert.gate);
    Add(expert.up);
    Add(expert.down);
  }
  void Add(const std::optional<LinearTensors>& linear) {
    if (linear) Add(*linear);
  }
  void Add(const LinearTensors& linear) {
    if (linear.weight != nullptr) found_.insert(linear.weight);
  }

  std::set<const TensorView*> found_;
};

}  // namespace

std::set<std::string> ChooseMatrices(const Weights& weights,
                                     const TransformerDescription& description,
                                     int group_size) {
  const TensorFinder finder(weights);
  const LayerMatrices matrices(description);
  std::set<std::string> chosen;
  for (const TensorView* const matrix : matrices.found()) {
    const std::string_view name = finder.Find(*matrix);
    if (!name.ends_with(".weight")) continue;
    const TensorView& tensor = *weights.Find(name);
    if (tensor.shape.size() == 2 && IsReal(tensor) && tensor.shape[0] > 0 &&
        tensor.shape[1] > 0 && tensor.shape[1] % group_size == 0) {
      chosen.emplace(name);
    }
  }
  // A tensor that is something else, too, such as the embeddings.
  ForEachTensor(description, [&](const TensorView& tensor) {
    if (!matrices.found().contains(&tensor)) {
      chosen.erase(std::string(finder.Find(tensor)));
    }
  });
  return chosen;
}

int64_t StoredBytes(const Weights& stored, const std::string& name,
                    const TensorView& tensor) {
  if (tensor.packed == nullptr || !tensor.data.empty()) {
    return static_cast<int64_t>(tensor.data.size());
  }
  // "NAME." of "NAME.weight"
  std::string_view module = name;
  module = module.substr(0, module.rfind('.') + 1);
  constexpr std::string_view kModel = "model.", kText = "language_model.";
  std::string inside(kModel);
  inside.append(kText).append(
      module.starts_with(kModel) ? module.substr(kModel.size()) : module);
  const std::string beside = std::string(kText).append(module);
  int64_t bytes = 0;
  for (const std::string_view one : stored.Names()) {
    if (one.starts_with(module) || one.starts_with(inside) ||
        one.starts_with(beside)) {
      bytes += static_cast<int64_t>(stored.Find(one)->data.size());
    }
  }
  return bytes;
}

}  // namespace trivium
