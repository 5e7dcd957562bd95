#include "model/weights/quantized/scheme.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "model/weights/tensor_file.h"

namespace trivium {
namespace {

using nlohmann::json;
using Strategy = QuantizationScheme::Strategy;

std::optional<Strategy> ReadStrategy(ConfigReader* weights) {
  constexpr std::pair<std::string_view, Strategy> kStrategies[] = {
      {"tensor", Strategy::kTensor},
      {"channel", Strategy::kChannel},
      {"group", Strategy::kGroup},
      {"tensor_group", Strategy::kGroup},
      {"block", Strategy::kBlock}};
  const ConfigReader::Layer value = weights->Find("strategy");
  // Older folders leave it out where a group size tells.
  if (value.json == nullptr) {
    const ConfigReader::Layer size = weights->Find("group_size");
    if (size.json == nullptr) return Strategy::kTensor;
    return *size.json == -1 ? Strategy::kChannel : Strategy::kGroup;
  }
  for (const auto& [name, strategy] : kStrategies) {
    if (*value.json == name) return strategy;
  }
  weights->Report("strategy", value,
                  "this server reads tensor, channel, group, tensor_group and "
                  "block");
  return std::nullopt;
}

// Reads the numbers of weights, of which `weights` is the object.
std::optional<QuantizationScheme> ReadScheme(ConfigReader* weights) {
  const size_t problems = weights->problems()->size();
  QuantizationScheme scheme;
  scheme.bits = weights->RequiredInteger("num_bits", 1, 8);
  const std::string type = weights->Text("type").value_or("int");
  scheme.real = type == "float";
  if (type != "int" && type != "float") {
    weights->Report("type", weights->Find("type"), "give int or float");
  }
  const bool known =
      scheme.real ? scheme.bits == 4 || scheme.bits == 8
                  : scheme.bits == 2 || scheme.bits == 4 || scheme.bits == 8;
  if (!known && weights->problems()->size() == problems) {
    weights->Report("num_bits", weights->Find("num_bits"),
                    "this server reads 2, 4 or 8 bits of integers and 4 or 8 "
                    "of floats");
  }
  scheme.symmetric = weights->Boolean("symmetric").value_or(true);
  scheme.strategy = ReadStrategy(weights).value_or(Strategy::kTensor);
  if (scheme.strategy == Strategy::kGroup) {
    scheme.group_size = weights->RequiredInteger("group_size", 1, 1 << 20);
  }
  if (scheme.strategy == Strategy::kBlock) {
    const std::vector<int> block =
        weights->Integers("block_structure", 1, 1 << 20);
    if (block.size() == 2) {
      scheme.block_rows = block[0];
      scheme.block_columns = block[1];
    } else if (weights->problems()->size() == problems) {
      weights->Report("block_structure", weights->Find("block_structure"),
                      "give rows and columns of a block");
    }
  }
  if (weights->problems()->size() > problems) return std::nullopt;
  return scheme;
}

}  // namespace

std::string QuantizationScheme::Describe() const {
  std::string text =
      real ? (bits == 8 ? "FP8" : "FP4") : fmt::format("{}-bit integers", bits);
  switch (strategy) {
    case Strategy::kTensor:
      return text + ", a scale a tensor";
    case Strategy::kChannel:
      return text + ", a scale a row";
    case Strategy::kGroup:
      return fmt::format("{}, groups of {}", text, group_size);
    case Strategy::kBlock:
      return fmt::format("{}, blocks of {} x {}", text, block_rows,
                         block_columns);
  }
  return text;
}

std::vector<int64_t> QuantizationScheme::ScaleShape(int64_t rows,
                                                    int64_t columns,
                                                    ScaleGrid* grid) const {
  *grid = ScaleGrid();
  grid->block_columns = columns;
  switch (strategy) {
    case Strategy::kTensor:
      grid->block_rows = rows;
      return {1};
    case Strategy::kChannel:
      return {rows, 1};
    case Strategy::kGroup:
      if (columns % group_size != 0) return {};
      grid->block_columns = group_size;
      grid->grid_columns = columns / group_size;
      return {rows, grid->grid_columns};
    case Strategy::kBlock:
      grid->block_rows = block_rows;
      grid->block_columns = block_columns;
      grid->grid_columns = (columns - 1) / block_columns + 1;
      return {(rows - 1) / block_rows + 1, grid->grid_columns};
  }
  return {};
}

std::vector<QuantizationScheme> ReadSchemes(ConfigReader* config) {
  constexpr char kGroups[] = "config_groups";
  std::vector<QuantizationScheme> schemes;
  const ConfigReader::Layer groups = config->Find(kGroups);
  const size_t problems = config->problems()->size();
  // Each module tries them in turn.
  constexpr size_t kMostGroups = 100;
  if (groups.json != nullptr && groups.json->size() > kMostGroups) {
    config->Report(kGroups, groups,
                   fmt::format("give at most {} groups", kMostGroups));
  } else if (groups.json != nullptr && groups.json->is_object()) {
    for (const auto& item : groups.json->items()) {
      const std::string name = item.key();
      const json& group = item.value();
      const auto part = [&](const char* key) {
        ConfigReader layer({{groups.file, &group}}, config->problems());
        const json* const found =
            group.is_object() ? layer.Find(key).json : nullptr;
        return found != nullptr && found->is_object() ? found : nullptr;
      };
      const json* const weights = part("weights");
      if (weights == nullptr) continue;  // quantizes activations only
      ConfigReader reader({{fmt::format("{}: {}.{}.weights", groups.file,
                                        kGroups, Quoted(name)),
                            weights}},
                          config->problems());
      std::optional<QuantizationScheme> scheme = ReadScheme(&reader);
      if (!scheme) continue;
      const json* const activations = part("input_activations");
      scheme->int8_activations = activations != nullptr &&
                                 activations->value("type", json()) == "int" &&
                                 activations->value("num_bits", json()) == 8;
      schemes.push_back(*scheme);
    }
  }
  if (schemes.empty() && config->problems()->size() == problems) {
    config->Report(kGroups, groups,
                   "give groups with the numbers of their weights");
  }
  return schemes;
}

}  // namespace trivium
