#include "model/weights_cache.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/build_id.h"
#include "base/isa.h"
#include "base/status.h"
#include "model/kernels/runtime.h"
#include "model/transformer/packing.h"

namespace trivium {

WeightsCache::WeightsCache(std::string folder, PackedFile::Key key)
    : folder_(std::move(folder)),
      path_(fmt::format("{}/{}.packed", folder_, key.Hex())),
      key_(key) {}

absl::StatusOr<WeightsCache> WeightsCache::Of(const ModelFolder& folder,
                                              const LoadOptions& options) {
  const Formats formats =
      Transformer::FormatsOf(folder.description, folder.formats);
  TRIVIUM_ASSIGN_OR_RETURN(const std::string packing, DescribePacking(formats));
  // modules.json and the like, which are not in the revision, decide what a
  // decoder's layers are packed for (state_use.h).
  const std::string text = fmt::format(
      "build {}\nisa {} {}\nformats {} {} {}\nstacks {} {}\nrevision {}\n{}",
      BuildId(), IsaName(ActiveIsa()), packing,
      static_cast<int>(formats.weights), static_cast<int>(formats.operands),
      formats.hadamard, folder.description.encoder.has_value(),
      folder.description.decoder.has_value(), folder.revision,
      folder.weights->Origin());
  return WeightsCache(options.weights_cache, PackedFile::Key::Of(text));
}

std::shared_ptr<const PackedFile> WeightsCache::Open(
    WeightsCacheUse* use) const {
  auto file = PackedFile::Open(path_, key_);
  use->path = path_;
  if (file.ok()) {
    use->kind = WeightsCacheUse::kMapped;
    return *std::move(file);
  }
  use->kind = WeightsCacheUse::kPacked;
  if (!absl::IsNotFound(file.status())) {
    use->broken = std::string(file.status().message());
  }
  return nullptr;
}

void WeightsCache::Write(const Transformer& transformer,
                         WeightsCacheUse* use) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const absl::Status status =
      PackedFile::Write(path_, key_, transformer.pieces());
  use->kind = status.ok()               ? WeightsCacheUse::kWritten
              : absl::IsAborted(status) ? WeightsCacheUse::kPacked
                                        : WeightsCacheUse::kNotWritten;
  if (!status.ok()) use->not_written = std::string(status.message());
}

std::string_view WeightsCacheName(WeightsCacheUse::Kind kind) {
  switch (kind) {
    case WeightsCacheUse::kOff:
      return "off";
    case WeightsCacheUse::kMapped:
      return "mapped";
    case WeightsCacheUse::kWritten:
      return "written";
    case WeightsCacheUse::kPacked:
      return "being written by another process";
    case WeightsCacheUse::kNotWritten:
      break;
  }
  return "not written";
}

}  // namespace trivium
