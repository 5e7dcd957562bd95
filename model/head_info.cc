#include "model/head_info.h"

#include <fmt/format.h>

#include <string>

namespace trivium {
namespace {

using nlohmann::json;

std::vector<std::string> ReadLabels(int outputs, ConfigReader* config) {
  std::vector<std::string> labels;
  for (int i = 0; i < outputs; ++i)
    labels.push_back(fmt::format("LABEL_{}", i));
  const ConfigReader::Layer given = config->Find("id2label");
  if (given.json == nullptr) return labels;
  bool usable = given.json->is_object();
  if (usable) {
    for (int i = 0; i < outputs; ++i) {
      const auto label = given.json->find(std::to_string(i));
      usable = usable && label != given.json->end() && label->is_string();
      if (usable) labels[i] = label->get<std::string>();
    }
  }
  if (!usable) {
    config->Report("id2label", given,
                   fmt::format("give an object with the keys \"0\" to \"{}\" "
                               "and strings",
                               outputs - 1));
  }
  return labels;
}

HeadInfo::Scores ReadScores(int outputs, ConfigReader* config) {
  const std::string type = config->Text("problem_type").value_or("");
  if (type == "regression") return HeadInfo::Scores::kNone;
  if (type == "multi_label_classification" || outputs == 1) {
    return HeadInfo::Scores::kSigmoid;
  }
  if (!type.empty() && type != "single_label_classification") {
    config->Report("problem_type", config->Find("problem_type"),
                   "give regression, single_label_classification or "
                   "multi_label_classification");
  }
  return HeadInfo::Scores::kSoftmax;
}

}  // namespace

HeadInfo ReadHeadInfo(HeadKind kind, int outputs, ConfigReader* config) {
  HeadInfo info;
  info.kind = kind;
  switch (kind) {
    case HeadKind::kClassify:
      info.labels = ReadLabels(outputs, config);
      info.scores = ReadScores(outputs, config);
      break;
    case HeadKind::kTag:
      info.labels = ReadLabels(outputs, config);
      break;
    case HeadKind::kDiscriminate:
      info.labels = {"original", "replaced"};
      break;
    case HeadKind::kAnswer:
    case HeadKind::kFillMask:
      break;
  }
  return info;
}

std::optional<int32_t> FindMask(const Tokenizer& tokenizer,
                                const json& tokenizer_config) {
  std::vector<std::string> pieces = {"[MASK]", "<mask>"};
  if (tokenizer_config.is_object()) {
    // A string, or an object with "content".
    json mask = tokenizer_config.value("mask_token", json());
    if (mask.is_object()) mask = mask.value("content", json());
    if (mask.is_string()) pieces = {mask.get<std::string>()};
  }
  for (const std::string& piece : pieces) {
    const int32_t id = tokenizer.PieceToId(piece, TextSide::kSource);
    if (id >= 0) return id;
  }
  return std::nullopt;
}

}  // namespace trivium
