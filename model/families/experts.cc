#include "model/families/experts.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>

#include "model/families/sizes.h"

namespace trivium {

ExpertCounts ReadExpertCounts(ConfigReader* config, const std::string& all_key,
                              const ExpertCounts& usual,
                              const std::string& chosen_key) {
  const auto count = [config](const std::string& key, int if_absent) {
    return if_absent == 0
               ? config->RequiredInteger(key, 1, kMaxExperts)
               : config->Integer(key, 1, kMaxExperts).value_or(if_absent);
  };
  const ExpertCounts counts = {.all = count(all_key, usual.all),
                               .chosen = count(chosen_key, usual.chosen)};
  if (counts.chosen > counts.all) {
    config->Report(chosen_key, config->Find(chosen_key),
                   fmt::format("there are {} experts", counts.all));
  }
  // Families report another number of layers themselves.
  const ConfigReader::Layer layers = config->Find("num_hidden_layers");
  if (layers.json != nullptr && layers.json->is_number_integer() &&
      *layers.json <= kMaxLayers &&
      layers.json->get<int>() > kMaxAllExperts / counts.all) {
    config->Report(all_key, config->Find(all_key),
                   fmt::format("times num_hidden_layers, {}, it must be at "
                               "most {}",
                               layers.json->get<int>(), kMaxAllExperts));
  }
  return counts;
}

std::string ExpertCountKey(ConfigReader* config, const char* own) {
  return config->Find(own).json != nullptr ? own : "num_local_experts";
}

ExpertsDescription ReadExperts(TensorReader* tensors, const ExpertNames& names,
                               const ExpertCounts& counts, int inner,
                               int d_model) {
  ExpertsDescription description;
  description.chosen = counts.chosen;
  description.router =
      tensors->Linear(names.router, counts.all, d_model, names.router_bias);
  for (int e = 0; e < counts.all; ++e) {
    const std::string name = fmt::format("{}{}.", names.experts, e);
    if (!tensors->HasAnyWith(name)) {
      tensors->problems()->push_back(fmt::format(
          "config.json: there are {} experts, but the weights have only {} "
          "({}* is missing); take both files from the same model",
          counts.all, e, name));
      break;
    }
    const auto linear = [&](const std::string& part, int out, int in) {
      return tensors->Linear(name + part, out, in, names.expert_biases);
    };
    ExpertTensors& expert = description.experts.emplace_back();
    if (!names.gate.empty()) expert.gate = linear(names.gate, inner, d_model);
    expert.up = linear(names.up, inner, d_model);
    expert.down = linear(names.down, d_model, inner);
  }
  return description;
}

ExpertsDescription ReadStackedExperts(TensorReader* tensors,
                                      const StackedExpertNames& names,
                                      const ExpertCounts& counts, int inner,
                                      int d_model, TensorMemory* memory) {
  ExpertsDescription description;
  description.chosen = counts.chosen;
  description.router = {
      tensors->RequiredOneOf(names.router, {counts.all, d_model})};
  const auto matrices = [&](const std::vector<std::string>& name, int rows,
                            int columns) {
    return tensors->RequiredOneOf(
        name, names.transposed
                  ? TensorReader::Shape{counts.all, columns, rows}
                  : TensorReader::Shape{counts.all, rows, columns});
  };
  const TensorView* const up = matrices(names.up, 2 * inner, d_model);
  const TensorView* const down = matrices(names.down, d_model, inner);
  if (up == nullptr || down == nullptr) return description;
  if (names.transposed) {
    const int64_t parts[] = {inner, inner};
    for (int e = 0; e < counts.all; ++e) {
      const auto both = SplitRows(*TransposedColumns(*up, e, 0, 1, memory),
                                  /*groups=*/1, parts, memory);
      description.experts.push_back(
          {{both[0]}, {both[1]}, {TransposedColumns(*down, e, 0, 1, memory)}});
    }
    return description;
  }
  // Matrices one below the other, cut again.
  const auto flat = [memory](const TensorView& stacked) {
    auto view = std::make_shared<TensorView>(stacked);
    view->shape = {stacked.shape[0] * stacked.shape[1], stacked.shape[2]};
    memory->push_back(view);
    return view.get();
  };
  const std::vector<int64_t> halves(2 * counts.all, inner);
  const std::vector<int64_t> wholes(counts.all, d_model);
  const auto ups = SplitRows(*flat(*up), /*groups=*/1, halves, memory);
  const auto downs = SplitRows(*flat(*down), /*groups=*/1, wholes, memory);
  for (int e = 0; e < counts.all; ++e) {
    description.experts.push_back({{ups[2 * e]}, {ups[2 * e + 1]}, {downs[e]}});
  }
  return description;
}

ExpertsDescription ReadUsualExperts(TensorReader* tensors,
                                    const std::string& block,
                                    const ExpertCounts& counts, int inner,
                                    int d_model, TensorMemory* memory) {
  const std::string all = block + "experts.";
  const std::string up = all + "gate_up_proj", down = all + "down_proj";
  const TensorReader::Shape up_shape = tensors->ShapeOf(up);
  if (up_shape.empty()) {
    return ReadExperts(tensors, {.router = block + "gate", .experts = all},
                       counts, inner, d_model);
  }
  // One of the two may have the same shape either way around, but not both.
  const bool transposed =
      up_shape == TensorReader::Shape{counts.all, d_model, 2 * inner} &&
      tensors->ShapeOf(down) == TensorReader::Shape{counts.all, inner, d_model};
  return ReadStackedExperts(tensors,
                            {.router = {block + "gate.weight"},
                             .up = {up},
                             .down = {down},
                             .transposed = transposed},
                            counts, inner, d_model, memory);
}

}  // namespace trivium
