// Intel's AutoRound (Cheng et al. 2023), which packs as GPTQ or AWQ do. Its
// packing_format says how (inference/backend.py of PyPI's auto-round):
//
//   auto_round:auto_gptq                GPTQ, zeros stored as one less
//   auto_round, auto_round:gptqmodel    GPTQ, zeros as they are
//   auto_round:auto_awq                 AWQ
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "model/weights/quantized/quantized_format.h"

namespace trivium {
namespace {

using nlohmann::json;

// Reports modules with other settings than the rest; those of 16 bits or more
// are stored plainly.
void RefuseOtherSettings(ConfigReader* config) {
  constexpr char kKey[] = "extra_config";
  const ConfigReader::Layer extra = config->Find(kKey);
  if (extra.json == nullptr || extra.json->empty()) return;
  const auto is_plain = [](const json& module) {
    const json bits =
        module.is_object() ? module.value("bits", json()) : json();
    return bits.is_number() && bits.get<double>() >= 16;
  };
  if (!extra.json->is_object() ||
      !std::all_of(extra.json->begin(), extra.json->end(), is_plain)) {
    config->Report(kKey, extra,
                   "this server reads models whose quantized modules share "
                   "their settings");
  }
}

}  // namespace

std::unique_ptr<const QuantizedFormat> ReadAutoRoundConfig(
    ConfigReader* config) {
  const size_t problems = config->problems()->size();
  RefuseOtherSettings(config);
  constexpr char kPacking[] = "packing_format";
  const ConfigReader::Layer packing = config->Find(kPacking);
  const std::string name = config->Text(kPacking).value_or("");
  const bool less = name == "auto_round:auto_gptq";
  const bool gptq =
      less || name == "auto_round" || name == "auto_round:gptqmodel";
  if (!gptq && name != "auto_round:auto_awq" &&
      config->problems()->size() == problems) {
    config->Report(kPacking, packing,
                   "this server reads auto_round, auto_round:gptqmodel, "
                   "auto_round:auto_gptq and auto_round:auto_awq");
  }
  if (config->problems()->size() > problems) return nullptr;
  json settings = {{"checkpoint_format", less ? "gptq" : "gptq_v2"}};
  for (const char* key : {"bits", "group_size"}) {
    const ConfigReader::Layer value = config->Find(key);
    if (value.json != nullptr) settings[key] = *value.json;
  }
  ConfigReader reader({{packing.file, &settings}}, config->problems());
  return gptq ? ReadGptqConfig(&reader) : ReadAwqConfig(&reader);
}

}  // namespace trivium
