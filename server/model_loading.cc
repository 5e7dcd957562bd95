#include "server/model_loading.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/cpu_limits.h"
#include "base/status.h"
#include "model/chat_template.h"
#include "model/hub/hub_name.h"
#include "model/weights_cache.h"
#include "server/model_folders.h"
#include "server/model_pull.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

// The largest ratio between the bytes of a weight in a file and in memory:
// float32 files are the largest.
int64_t MostShrunk(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return 1;
    case Precision::kBf16:
      return 2;
    case Precision::kInt4:
      return 8;
    default:
      return 4;
  }
}

void LogWeightsCache(const std::string& model, const WeightsCacheUse& use) {
  if (!use.broken.empty()) {
    Log(spdlog::level::warn,
        "a file of packed weights is not used; the model's own files were read",
        {{"model", model}, {"reason", use.broken}});
  }
  if (use.kind == WeightsCacheUse::kNotWritten) {
    Log(spdlog::level::warn,
        "packed weights are not kept: the next start packs them again",
        {{"model", model}, {"reason", use.not_written}});
  }
}

}  // namespace

LoadOptions LoadOptionsOf(const ModelSpec& spec, const Options& options) {
  LoadOptions load;
  load.precision = spec.precision.value_or(options.precision);
  load.kv_precision = spec.kv_precision.value_or(options.kv_precision);
  load.vocabulary_shortlist =
      spec.shortlist.value_or(options.vocabulary_shortlist);
  load.task = spec.task;
  load.weights_cache = options.weights_cache;
  load.translate_with = spec.translate_with.value_or(options.translate_with);
  return load;
}

absl::StatusOr<std::unique_ptr<Model>> LoadModel(const ModelSpec& spec,
                                                 const Options& options) {
  TRIVIUM_RETURN_IF_ERROR(CheckModelName(spec.name));
  const absl::Time begin = SteadyNow();
  absl::StatusOr<std::unique_ptr<Model>> model =
      Model::Load(spec.folder, LoadOptionsOf(spec, options));
  if (!model.ok()) {
    return absl::Status(model.status().code(),
                        fmt::format("model '{}': {}", spec.name,
                                    std::string(model.status().message())));
  }
  const ModelInfo& info = (*model)->info();
  if (spec.translate_with.has_value() && info.design != Design::kDecoder) {
    return absl::InvalidArgumentError(fmt::format(
        "model '{}': translate_with={} is for decoders, and a model of family "
        "'{}' is none; leave it out",
        spec.name, *spec.translate_with, info.family));
  }
  if (spec.kv_precision.has_value() && !info.kv_precision.has_value()) {
    return absl::InvalidArgumentError(fmt::format(
        "model '{}': kv={} is the precision of a decoder's keys and values, "
        "but {} has no decoder; leave it out",
        spec.name, PrecisionName(*spec.kv_precision), info.family));
  }
  Log(spdlog::level::info, "model loaded",
      {{"model", spec.name},
       {"folder", spec.folder},
       {"family", info.family},
       {"precision", PrecisionName(info.precision)},
       {"kv_precision",
        info.kv_precision ? PrecisionName(*info.kv_precision) : "none"},
       {"stored_as", info.quantization.empty() ? "plain" : info.quantization},
       {"isa", IsaName(info.isa)},
       {"batch_invariant", info.batch_invariant ? "yes" : "no"},
       {"vocabulary_shortlist", info.vocabulary_shortlist ? "on" : "off"},
       {"parameters", info.parameters},
       {"revision", info.revision},
       {"weights_cache", WeightsCacheName(info.weights_cache.kind)},
       {"weights_cache_file",
        info.weights_cache.path.empty() ? "none" : info.weights_cache.path},
       {"seconds", absl::ToDoubleSeconds(SteadyNow() - begin)}});
  LogWeightsCache(spec.name, info.weights_cache);
  if ((*model)->tokenizer() == nullptr) {
    Log(spdlog::level::warn,
        "the folder has no tokenizer files: the model accepts token ids only",
        {{"model", spec.name}});
  }
  if (const std::string& why = (*model)->chat_templates().refusal();
      !why.empty()) {
    Log(spdlog::level::warn, "the model accepts no chats",
        {{"model", spec.name}, {"reason", why}});
  }
  if (!info.batch_invariant && info.precision != Precision::kBf16) {
    Log(spdlog::level::warn,
        "answers of this model may differ in their last bits when other "
        "requests run",
        {{"model", spec.name}});
  }
  return model;
}

absl::Status CheckMemoryLeft(const ModelSpec& spec, const Options& options,
                             const char* what, int64_t bytes) {
  constexpr int64_t kMiB = 1 << 20;
  const int64_t limit = options.memory_limit_bytes > 0
                            ? options.memory_limit_bytes
                            : UsableMemory();
  const int64_t left = limit - PrivateMemory();
  if (bytes <= left) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("model '{}': {} {} MiB of memory, but {} of {} MiB are left; "
                  "unload another model, or give the server more memory",
                  spec.name, what, bytes / kMiB,
                  std::max<int64_t>(left, 0) / kMiB, limit / kMiB));
}

absl::StatusOr<std::unique_ptr<Model>> LoadOrderedModel(
    ModelSpec spec, const Options& options, const ModelPuller& pull,
    const ModelReader& read, const AliveCheck& wanted) {
  if (IsHubName(spec.folder)) {
    TRIVIUM_ASSIGN_OR_RETURN(spec.folder, pull(spec, options, wanted));
  }
  TRIVIUM_RETURN_IF_ERROR(wanted());
  const int64_t shrunk = MostShrunk(LoadOptionsOf(spec, options).precision);
  TRIVIUM_RETURN_IF_ERROR(
      CheckMemoryLeft(spec, options, "its weights take at least",
                      WeightFileBytes(spec.folder) / shrunk));
  return read(spec, options);
}

}  // namespace trivium
