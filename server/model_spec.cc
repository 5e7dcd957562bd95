#include "server/model_spec.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/nearest.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/hub/hub_name.h"
#include "model/translator_prompts.h"

namespace trivium {
namespace {

// Reads one setting of a --model.
absl::Status ReadSetting(const std::string& key, const std::string& value,
                         ModelSpec* spec) {
  if (key == "precision") {
    TRIVIUM_ASSIGN_OR_RETURN(spec->precision, ParsePrecision(value));
    return absl::OkStatus();
  }
  if (key == "kv") {
    TRIVIUM_ASSIGN_OR_RETURN(spec->kv_precision, ParseKvPrecision(value));
    return absl::OkStatus();
  }
  if (key == "translate_with") {
    TRIVIUM_ASSIGN_OR_RETURN(spec->translate_with, ParseTranslateWith(value));
    return absl::OkStatus();
  }
  if (key == "task") {
    if (value.empty()) {
      return absl::InvalidArgumentError("task is empty; give a task's name");
    }
    spec->task = value;
    return absl::OkStatus();
  }
  if (key == "shortlist") {
    if (value != "on" && value != "off") {
      return absl::InvalidArgumentError(
          fmt::format("shortlist is '{}', but must be on or off", value));
    }
    spec->shortlist = value == "on";
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is not a setting of a model; did you mean {}? (If it "
      "is part of the folder's name, put a slash after it)",
      key,
      Nearest(key,
              {"kv", "precision", "shortlist", "task", "translate_with"})));
}

// "/models/opus/" -> "opus"; "." -> the name of the current folder.
std::string NameOfFolder(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::weakly_canonical(folder, error);
  if (error) return "";
  return path.has_filename() ? path.filename().string()
                             : path.parent_path().filename().string();
}

}  // namespace

absl::StatusOr<ModelSpec> ParseModelSpec(const std::string& text) {
  ModelSpec spec;
  spec.folder = text;
  // A name has neither slashes nor commas, so they belong to the folder.
  const size_t equals = text.find('=');
  if (equals < text.find_first_of("/,")) {
    spec.name = text.substr(0, equals);
    spec.folder = text.substr(equals + 1);
    if (spec.name.empty()) {
      return absl::InvalidArgumentError(
          fmt::format("'{}' has no name before its '='", text));
    }
  }
  // Folders may have commas in their names; only KEY=VALUE is a setting.
  for (size_t comma; (comma = spec.folder.rfind(',')) != std::string::npos;
       spec.folder.resize(comma)) {
    const std::string setting = spec.folder.substr(comma + 1);
    const size_t end = setting.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
    if (end == 0 || end == std::string::npos || setting[end] != '=' ||
        setting.find('/') != std::string::npos) {
      break;
    }
    TRIVIUM_RETURN_IF_ERROR(
        ReadSetting(setting.substr(0, end), setting.substr(end + 1), &spec));
  }
  if (spec.folder.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' names no folder", text));
  }
  if (IsHubName(spec.folder)) {
    TRIVIUM_ASSIGN_OR_RETURN(const HubName hub, ParseHubName(spec.folder));
    if (spec.name.empty()) spec.name = hub.ShortName();
  }
  if (spec.name.empty()) spec.name = NameOfFolder(spec.folder);
  if (spec.name.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "the folder '{}' has no name; give NAME={}", spec.folder, text));
  }
  TRIVIUM_RETURN_IF_ERROR(CheckModelName(spec.name));
  return spec;
}

absl::Status CheckModelName(std::string_view name) {
  bool printable = true;
  std::string shown;
  for (size_t i = 0; i < name.size();) {
    const CodePoint c = FirstCodePoint(name.substr(i));
    // Controls, line and paragraph separators, and what turns the direction.
    const bool fits = c.well_formed && c.value >= 0x20 &&
                      (c.value < 0x7F || c.value > 0x9F) &&
                      (c.value < 0x2028 || c.value > 0x202E) &&
                      (c.value < 0x2066 || c.value > 0x2069);
    if (fits) shown += name.substr(i, c.size);
    printable = printable && fits;
    i += c.size;
  }
  if (printable) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "the model name '{}' has more characters, which cannot be printed; give "
      "another name",
      shown));
}

}  // namespace trivium
