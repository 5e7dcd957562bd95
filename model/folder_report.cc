#include "model/folder_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "model/folder.h"
#include "model/precision.h"
#include "model/static_model.h"
#include "model/transformer/memory_plan.h"

namespace trivium {
namespace {

// Formats three digits: "1.23 GB".
std::string Rounded(double count, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  while (count >= 999.5 && unit + 1 != units.end()) {
    count /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g}{}", count, *unit);
}

std::vector<std::string> WarningsOf(const std::string& path,
                                    const ModelFolder& folder) {
  std::vector<std::string> warnings;
  if (folder.tokenizer == nullptr) {
    warnings.push_back(fmt::format(
        "{}: there are no tokenizer files, so the model takes token ids and no "
        "texts; fetch tokenizer.json, or the family's older files, too",
        path));
  }
  if (const std::string& why = folder.chat_templates.refusal(); !why.empty()) {
    warnings.push_back(fmt::format("the model takes no chats: {}", why));
  }
  for (const auto* stack :
       {&folder.description.encoder, &folder.description.decoder}) {
    if (!stack->has_value()) continue;
    for (const RotaryDescription& rotary : (*stack)->rotary) {
      if (!rotary.caveat.empty()) {
        warnings.push_back("config.json: " + rotary.caveat);
      }
    }
  }
  if (!folder.lexical_shortlist.empty() &&
      folder.description.shortlist == nullptr) {
    warnings.push_back(fmt::format(
        "{}: is not used; serve with --vocabulary-shortlist to make "
        "translations of the tokens that it allows, as Marian does with it",
        folder.lexical_shortlist));
  }
  return warnings;
}

}  // namespace

std::string RoundedBytes(int64_t bytes) {
  return Rounded(static_cast<double>(bytes),
                 {" bytes", " kB", " MB", " GB", " TB"});
}

namespace {

// Reports a folder, or the part of it that `list` names (SeparateModules).
FolderReport ReportList(const std::string& folder, const LoadOptions& options,
                        const ModuleList* list) {
  FolderReport report;
  if (list != nullptr && ReadsTable(*list)) {
    const auto model = LoadStaticModel(folder, *list);
    if (!model.ok()) {
      report.problems.push_back(std::string(model.status().message()));
      return report;
    }
    const ModelInfo& info = (*model)->info();
    report.has_weights = true;
    report.family = info.family;
    report.precision = info.precision;
    report.parameters = info.parameters;
    report.weight_bytes = info.weight_bytes;
    report.max_source_tokens = info.max_source_tokens;
    return report;
  }
  const ModelFolder read = ReadModelFolder(folder, options, &report.problems,
                                           /*imagine=*/true, list);
  if (!report.problems.empty()) return report;
  report.warnings = WarningsOf(folder, read);
  const MemoryPlan plan = PlanMemory(read.description, read.formats);
  report.has_weights = !read.weights->imagined();
  report.family = read.family;
  report.precision = read.precision;
  report.quantization = read.weights->Quantization();
  report.parameters = CountParameters(read.description);
  report.weight_bytes = plan.weight_bytes;
  report.kv_bytes_per_token = plan.kv_bytes_per_token;
  report.state_bytes = plan.state_bytes;
  report.longest_kv_bytes = plan.longest_kv_bytes;
  if (read.description.decoder.has_value()) {
    report.max_target_tokens = read.description.decoder->max_positions;
  }
  if (read.description.encoder.has_value()) {
    report.max_source_tokens = read.description.encoder->max_positions;
  }
  return report;
}

}  // namespace

FolderReport ReportFolder(const std::string& folder,
                          const LoadOptions& options) try {
  const std::optional<SentenceModules> modules = SeparateModules(folder);
  const std::vector<FolderPart> parts = PartsOf(folder, modules, options);
  FolderReport report =
      ReportList(folder, parts.front().options, parts.front().list);
  for (size_t i = 1; i < parts.size(); ++i) {
    FolderReport one = ReportList(folder, parts[i].options, parts[i].list);
    for (const auto& [from, to] :
         {std::pair(&one.problems, &report.problems),
          std::pair(&one.warnings, &report.warnings)}) {
      to->insert(to->end(), from->begin(), from->end());
    }
    report.has_weights &= one.has_weights;
    report.family += " and " + one.family;
    report.parameters += one.parameters;
    report.weight_bytes += one.weight_bytes;
    report.max_source_tokens =
        std::max(report.max_source_tokens, one.max_source_tokens);
  }
  return report;
} catch (const std::exception& error) {
  FolderReport report;
  report.problems.push_back(UnreadableFolder(error));
  return report;
}

std::string DescribeMemory(const FolderReport& report) {
  std::string text = fmt::format(
      "{}, {} parameters{}{}; as {} about {} of weights", report.family,
      Rounded(static_cast<double>(report.parameters),
              {"", " thousand", " million", " billion", " trillion"}),
      report.quantization.empty() ? "" : ", stored as ", report.quantization,
      PrecisionName(report.precision), RoundedBytes(report.weight_bytes));
  if (report.kv_bytes_per_token > 0) {
    const bool windows =
        report.longest_kv_bytes - report.state_bytes <
        report.kv_bytes_per_token *
            (int64_t{report.max_target_tokens} + report.max_source_tokens);
    text += fmt::format(
        ", and {} of keys and values for each token under way{}{}: {} for the "
        "longest sequence, of {} tokens",
        RoundedBytes(report.kv_bytes_per_token),
        windows ? ", less where a layer's window has passed them" : "",
        report.state_bytes > 0
            ? fmt::format(", and {} of states for each sequence",
                          RoundedBytes(report.state_bytes))
            : "",
        RoundedBytes(report.longest_kv_bytes), report.max_target_tokens);
    if (report.max_source_tokens > 0) {
      text += fmt::format(" and a source of {}", report.max_source_tokens);
    }
  }
  return text;
}

}  // namespace trivium
