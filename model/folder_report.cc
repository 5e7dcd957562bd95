#include "model/folder_report.h"

#include <fmt/format.h>

#include <exception>

#include "model/folder.h"
#include "model/precision.h"
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

FolderReport ReportFolder(const std::string& folder,
                          const LoadOptions& options) try {
  FolderReport report;
  const ModelFolder read =
      ReadModelFolder(folder, options, &report.problems, /*imagine=*/true);
  if (!report.problems.empty()) return report;
  report.warnings = WarningsOf(folder, read);
  const MemoryPlan plan = PlanMemory(read.description, read.formats);
  report.has_weights = !read.weights->imagined();
  report.family = read.family;
  report.precision = read.precision;
  report.parameters = CountParameters(read.description);
  report.weight_bytes = plan.weight_bytes;
  report.kv_bytes_per_token = plan.kv_bytes_per_token;
  report.longest_kv_bytes = plan.longest_kv_bytes;
  if (read.description.decoder.has_value()) {
    report.max_target_tokens = read.description.decoder->max_positions;
  }
  if (read.description.encoder.has_value()) {
    report.max_source_tokens = read.description.encoder->max_positions;
  }
  return report;
} catch (const std::exception& error) {
  FolderReport report;
  report.problems.push_back(UnreadableFolder(error));
  return report;
}

std::string DescribeMemory(const FolderReport& report) {
  std::string text = fmt::format(
      "{}, {} parameters; as {} about {} of weights", report.family,
      Rounded(static_cast<double>(report.parameters),
              {"", " thousand", " million", " billion", " trillion"}),
      PrecisionName(report.precision), RoundedBytes(report.weight_bytes));
  if (report.kv_bytes_per_token > 0) {
    const bool windows =
        report.longest_kv_bytes <
        report.kv_bytes_per_token *
            (int64_t{report.max_target_tokens} + report.max_source_tokens);
    text += fmt::format(
        ", and {} of keys and values for each token under way{}: {} for the "
        "longest sequence, of {} tokens",
        RoundedBytes(report.kv_bytes_per_token),
        windows ? ", less where a layer's window has passed them" : "",
        RoundedBytes(report.longest_kv_bytes), report.max_target_tokens);
    if (report.max_source_tokens > 0) {
      text += fmt::format(" and a source of {}", report.max_source_tokens);
    }
  }
  return text;
}

}  // namespace trivium
