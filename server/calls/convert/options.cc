// Converts and checks options of requests: languages, tasks, attention, and the
// size of the answer.
#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "model/language_names.h"
#include "server/calls/convert/convert.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// More tokens than any model reads at once.
constexpr int kMaxRows = 1 << 24;

absl::StatusOr<const Task*> FindTask(std::string_view name,
                                     const std::string& path,
                                     const Model& model) {
  std::string names;
  for (const Task& task : model.tasks()) {
    if (task.name == name) return &task;
    names += (names.empty() ? "" : ", ") + task.name;
  }
  if (names.empty()) {
    return InvalidField(path,
                        "is given, but the model's folder names no tasks "
                        "(config.json's task_specific_params); leave it "
                        "out");
  }
  return InvalidField(path, "is none of the model's: " + names);
}

absl::StatusOr<Direction> ResolveLanguages(
    std::optional<std::string_view> source,
    std::optional<std::string_view> target, const std::string& path,
    const Model& model) {
  auto direction = model.ResolveDirection(source, target);
  if (direction.ok() ||
      direction.status().code() != absl::StatusCode::kInvalidArgument) {
    return direction;
  }
  // The message may not say which of the two languages the model refuses. Then
  // it is the target, by which models choose, unless only the source was given.
  const absl::string_view message = direction.status().message();
  const bool of_source = absl::StartsWith(message, "source_language") ||
                         (source.has_value() && !target.has_value());
  const char* field = of_source ? "source_language" : "target_language";
  // The message begins with the name of the field.
  return InvalidField(path + field, std::string(absl::StripPrefix(
                                        message, absl::StrCat(field, " "))));
}

}  // namespace

absl::StatusOr<Direction> ConvertDirection(
    std::optional<std::string_view> source,
    std::optional<std::string_view> target,
    std::optional<std::string_view> task, const std::string& path,
    const Model& model) {
  Direction direction;
  if (!task) {
    TRIVIUM_ASSIGN_OR_RETURN(direction,
                             ResolveLanguages(source, target, path, model));
  } else if (source || target) {
    return InvalidField(path + "task",
                        "is set beside languages; send only one of them");
  } else {
    TRIVIUM_ASSIGN_OR_RETURN(direction.task,
                             FindTask(*task, path + "task", model));
    if (const auto codes = CodesOfTask(*task)) {
      direction.source_language = ToBcp47(codes->source);
      direction.target_language = ToBcp47(codes->target);
    }
  }
  if (direction.task != nullptr) {
    direction.text_prefix = direction.task->prefix;
  }
  if (!direction.forced_first_id) {
    direction.forced_first_id =
        DecodingDefaults(direction, model).forced_first_id;
  }
  return direction;
}

absl::StatusOr<Direction> DirectionOfPlainText(
    std::optional<std::string_view> source,
    std::optional<std::string_view> target, const std::string& path,
    const Model& model) {
  if (source || target) {
    return InvalidField(
        path + (source ? "source_language" : "target_language"),
        "is for Translate, which writes this model's prompt; leave it out, or "
        "call Translate");
  }
  Direction direction;
  direction.forced_first_id =
      DecodingDefaults(direction, model).forced_first_id;
  return direction;
}

const DecodingOptions& DecodingDefaults(const Direction& direction,
                                        const Model& model) {
  return direction.task != nullptr ? direction.task->decoding
                                   : model.decoding_defaults();
}

absl::StatusOr<MapSelection> ConvertSelection(const v1::AttentionSelection& in,
                                              const std::string& path,
                                              int layers, int heads) {
  const auto convert = [&path](const auto& list, const char* name, int size,
                               std::vector<int>* out) {
    if (list.size() > size) {
      return InvalidField(
          fmt::format("{}.{}", path, name),
          fmt::format("names {}, and the model has {}; give each once",
                      list.size(), size));
    }
    for (int i = 0; i < list.size(); ++i) {
      if (list[i] >= static_cast<uint32_t>(size)) {
        return InvalidField(
            fmt::format("{}.{}[{}]", path, name, i),
            fmt::format("is {}; the model has 0 .. {}", list[i], size - 1));
      }
      out->push_back(static_cast<int>(list[i]));
    }
    std::sort(out->begin(), out->end());
    if (std::adjacent_find(out->begin(), out->end()) != out->end()) {
      return InvalidField(fmt::format("{}.{}", path, name),
                          "names one of them twice");
    }
    return absl::OkStatus();
  };
  MapSelection out;
  TRIVIUM_RETURN_IF_ERROR(
      convert(in.layers(), "layers", layers, &out.maps.layers));
  TRIVIUM_RETURN_IF_ERROR(convert(in.heads(), "heads", heads, &out.maps.heads));
  TRIVIUM_RETURN_IF_ERROR(convert(in.rows(), "rows", kMaxRows, &out.rows));
  return out;
}

absl::StatusOr<MapSelection> ConvertDecoderSelection(
    const v1::AttentionSelection& in, const std::string& path,
    const ModelInfo& info) {
  if (info.recurrent_decoder) {
    return InvalidField(path,
                        "is asked of a model whose decoder has a recurrence "
                        "instead of self-attention; leave it out");
  }
  if (info.decoder_has_states) {
    return InvalidField(path,
                        "is asked of a model whose layers keep a state per "
                        "sequence instead of attending to earlier tokens; "
                        "leave it out");
  }
  return ConvertSelection(in, path, info.decoder_layers, info.decoder_heads);
}

int64_t AttentionBytes(const MapSelection& selection, int layers, int heads,
                       int64_t queries, int64_t keys) {
  const AttentionSelection& maps = selection.maps;
  const int64_t l = maps.layers.empty() ? layers : maps.layers.size();
  const int64_t h = maps.heads.empty() ? heads : maps.heads.size();
  const int64_t row = l * h * keys * static_cast<int64_t>(sizeof(float));
  const int64_t rows = selection.rows.empty()
                           ? queries
                           : std::min<int64_t>(queries, selection.rows.size());
  return std::max(row * rows, row * queries / 16);
}

absl::Status CheckResponseBytes(int64_t bytes, const RequestLimits& limits) {
  if (bytes <= limits.max_response_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the response would have up to {} bytes and the server sends "
                  "at most {}; ask for fewer inputs, hypotheses, new tokens, "
                  "layers, heads, rows or details in a call",
                  bytes, limits.max_response_bytes));
}

absl::Status CheckResponseSize(const google::protobuf::Message& response,
                               const RequestLimits& limits) {
  return CheckResponseSize(static_cast<int64_t>(response.ByteSizeLong()),
                           limits);
}

absl::Status CheckResponseSize(int64_t bytes, const RequestLimits& limits) {
  if (bytes <= limits.max_response_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the response has {} bytes or more and the server sends at "
                  "most {}; ask for "
                  "fewer inputs, hypotheses or details in a call",
                  bytes, limits.max_response_bytes));
}

}  // namespace trivium
