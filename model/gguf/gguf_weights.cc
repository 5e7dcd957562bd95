// For each tensor of the file: its name becomes that of a folder, then the
// converter's change is undone. Most tensors, and the slices that are experts,
// are views of the mapped file. Interleaved rows and transposed matrices are
// copied in their type. 1 + w, and transposed matrices in blocks, become f32.
// Copies live as long as the Weights.
#include "model/gguf/gguf_weights.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/gguf/gguf_changes.h"

namespace trivium {
namespace {

using nlohmann::json;

// The parts of "blk.N.REST", or of "enc.blk.N.REST" and "dec.blk.N.REST" of
// encoder-decoders, whose rest is then "enc.REST".
struct LayerName {
  std::string_view number;
  std::string rest;
  std::string_view stack;  // of the folder's name: "encoder.", or empty
};
std::optional<LayerName> ParseLayer(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  std::string_view side, stack;
  for (const auto& [beginning, folder] :
       {std::pair<std::string_view, std::string_view>("enc.", "encoder."),
        {"dec.", "decoder."}}) {
    if (!name.starts_with(beginning)) continue;
    side = beginning;
    stack = folder;
    name.remove_prefix(side.size());
    break;
  }
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const size_t dot = name.find('.');
  if (dot == 0 || dot > 6 || name.find_first_not_of("0123456789") != dot) {
    return std::nullopt;
  }
  return LayerName{name.substr(0, dot),
                   std::string(side).append(name.substr(dot + 1)), stack};
}

struct FolderName {
  const GgufTensorName* known = nullptr;
  std::string name;
};

// Looks a name up in each list, with and without its ending.
FolderName FindName(
    std::initializer_list<std::span<const GgufTensorName>> lists,
    std::string_view name, const json& config) {
  const size_t dot = name.rfind('.');
  const std::string_view ending =
      dot == name.npos ? std::string_view() : name.substr(dot);
  const bool usual = ending == ".weight" || ending == ".bias";
  const std::string_view base =
      usual ? name.substr(0, name.size() - ending.size()) : name;
  for (const auto& list : lists) {
    for (const GgufTensorName& known : list) {
      if (!known.only_with.empty() &&
          config.value(std::string(known.only_with), json()) != true) {
        continue;
      }
      // States' decays and skips have names without an ending.
      const bool whole = usual || known.change == GgufChange::kDecay ||
                         known.change == GgufChange::kDecayMatrix ||
                         known.change == GgufChange::kVector;
      if (whole && known.gguf == name)
        return {&known, std::string(known.folder)};
      if (usual && known.gguf == base) {
        return {&known, fmt::format("{}{}", known.folder, ending)};
      }
    }
  }
  return {};
}

// Returns the number of the first layer that is left out.
int64_t FirstLeftOut(const json& config) {
  const auto layers = config.find("num_hidden_layers");
  return config.contains("num_nextn_predict_layers") &&
                 layers != config.end() && layers->is_number_integer()
             ? layers->get<int64_t>()
             : INT64_MAX;
}

}  // namespace

std::unique_ptr<Weights> MakeGgufWeights(std::unique_ptr<MappedFile> file,
                                         const TensorMap& tensors,
                                         const GgufArchitecture& architecture,
                                         const json& config,
                                         Problems* problems) {
  auto weights = std::make_unique<GgufWeights>(std::move(file));
  GgufChanges changes(config, weights.get());
  const int64_t layers = FirstLeftOut(config);
  const auto report = [&](std::string_view name, const std::string& problem) {
    problems->push_back(fmt::format(
        "weights: tensor {} {}; fetch the model again", Quoted(name), problem));
  };
  // Adds the tensor `rest` of the layer, or of none; false if no list has it.
  const auto add = [&](const std::optional<LayerName>& layer,
                       std::string_view rest, std::string_view name,
                       const TensorView& tensor) {
    const FolderName found =
        layer ? FindName({architecture.own_tensors, architecture.layer_tensors},
                         rest, config)
              : FindName({architecture.tensors}, rest, config);
    if (found.known == nullptr) return false;
    std::string folder_name = found.name;
    if (layer) {
      folder_name =
          std::string(layer->stack) +
          fmt::format(fmt::runtime(architecture.layer_prefix), layer->number) +
          found.name;
    }
    const std::string problem = changes.Undo(folder_name, tensor, *found.known);
    if (!problem.empty()) report(name, problem);
    return true;
  };
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with("rope_f")) continue;  // in config.json's rope_scaling
    const auto layer = ParseLayer(name);
    if (layer && std::atoi(std::string(layer->number).c_str()) >= layers) {
      continue;
    }
    const std::string_view rest = layer ? std::string_view(layer->rest) : name;
    if (add(layer, rest, name, tensor)) continue;
    // Some files join what the architecture has as three tensors.
    constexpr std::string_view kJoined = "attn_qkv.";
    bool known = layer && rest.starts_with(kJoined);
    if (known) {
      std::vector<TensorView> parts;
      const std::string problem = changes.Split(tensor, &parts);
      if (!problem.empty()) report(name, problem);
      constexpr std::string_view kParts[] = {"attn_q.", "attn_k.", "attn_v."};
      for (size_t i = 0; known && i < parts.size(); ++i) {
        const std::string part =
            std::string(kParts[i]).append(rest.substr(kJoined.size()));
        known = add(layer, part, name, parts[i]);
      }
    }
    if (known) continue;
    problems->push_back(
        fmt::format("weights: tensor {} is not a known tensor of {}; use the "
                    "model's Hugging Face folder",
                    Quoted(name), architecture.name));
    break;  // one problem is enough
  }
  const std::string problem = changes.Join();
  if (!problem.empty()) {
    problems->push_back(
        fmt::format("weights: {}; fetch the model again", problem));
  }
  return weights;
}

}  // namespace trivium
