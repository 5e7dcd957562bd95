#include "model/hub/pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "model/folder_report.h"
#include "model/gguf/architecture.h"
#include "model/hub/blob_download.h"
#include "model/hub/file_choice.h"
#include "model/hub/hub_cache.h"
#include "model/hub/hub_client.h"
#include "model/hub/listing.h"

namespace trivium {
namespace {

constexpr size_t kLargestIndex = size_t{64} << 20;

class Puller {
 public:
  Puller(const HubName& name, const HubSettings& settings,
         const PullOptions& options, PullObserver* observer)
      : name_(name),
        settings_(settings),
        options_(options),
        observer_(observer),
        cache_(settings.cache, name.repository),
        client_(settings, observer) {}

  absl::StatusOr<std::string> Run() {
    const absl::StatusOr<std::string> kept = cache_.CommitOf(name_.revision);
    if (settings_.offline) {
      if (kept.ok()) return FromCache(*kept);
      return absl::NotFoundError(fmt::format(
          "hf:{}: HF_HUB_OFFLINE is set, and {}; unset it, or fetch the model "
          "where there is a network",
          name_.repository, std::string(kept.status().message())));
    }
    const absl::StatusOr<HubListing> listing =
        client_.List(name_, kept.ok() ? 1 : HubClient::kMostTries);
    if (listing.ok()) return FromHub(*listing);
    if (!absl::IsUnavailable(listing.status()) || !kept.ok()) {
      return listing.status();
    }
    observer_->OnNote(fmt::format("{}; what the cache has is used",
                                  std::string(listing.status().message())));
    return FromCache(*kept);
  }

 private:
  std::string PathOf(const std::string& commit, const FileChoice& choice) {
    const std::string folder = cache_.Snapshot(commit);
    return choice.gguf.empty() ? folder : folder + "/" + choice.gguf;
  }

  absl::StatusOr<std::string> FromCache(const std::string& commit) {
    const std::vector<HubFile> files = cache_.Files(commit);
    const auto incomplete = [&](const absl::Status& status) {
      return absl::NotFoundError(
          fmt::format("hf:{}: the cache has only a part of the model in {}, "
                      "and the hub was not asked; fetch it once where there "
                      "is a network ({})",
                      name_.repository, cache_.Snapshot(commit),
                      std::string(status.message())));
    };
    const absl::StatusOr<FileChoice> choice = ChooseFiles(name_, files);
    if (!choice.ok()) {
      // A folder without weights is enough for a look at its configuration.
      if (!options_.weights && name_.quant.empty()) {
        return cache_.Snapshot(commit);
      }
      return incomplete(choice.status());
    }
    if (choice->index) {
      const absl::Status shards = Shards(commit, *choice, files).status();
      if (!shards.ok()) return incomplete(shards);
    }
    return PathOf(commit, *choice);
  }

  absl::StatusOr<std::vector<HubFile>> Shards(
      const std::string& commit, const FileChoice& choice,
      const std::vector<HubFile>& files) const {
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::string text,
        ReadFile(cache_.Snapshot(commit) + "/" + choice.index->path,
                 kLargestIndex));
    return ReadShards(name_, *choice.index, text, files);
  }

  absl::StatusOr<std::string> FromHub(const HubListing& listing) {
    TRIVIUM_ASSIGN_OR_RETURN(FileChoice choice,
                             ChooseFiles(name_, listing.files));
    if (!choice.gguf.empty() && options_.check_gguf != nullptr &&
        !listing.gguf_architecture.empty()) {
      TRIVIUM_RETURN_IF_ERROR(
          InContext(options_.check_gguf(listing.gguf_architecture)));
    }
    const std::string& commit = listing.commit;
    TRIVIUM_RETURN_IF_ERROR(CheckBytes(choice));
    TRIVIUM_RETURN_IF_ERROR(Fetch(commit, choice.first));
    const std::string path = PathOf(commit, choice);
    if (options_.check != nullptr && choice.gguf.empty() &&
        !HasWeights(path, choice)) {
      TRIVIUM_RETURN_IF_ERROR(InContext(options_.check(path)));
    }
    if (!options_.weights && choice.gguf.empty()) return path;
    if (choice.index) {
      TRIVIUM_RETURN_IF_ERROR(Fetch(commit, {*choice.index}));
      TRIVIUM_ASSIGN_OR_RETURN(choice.weights,
                               Shards(commit, choice, listing.files));
      TRIVIUM_RETURN_IF_ERROR(CheckBytes(choice));
    }
    TRIVIUM_RETURN_IF_ERROR(Fetch(commit, choice.weights));
    TRIVIUM_RETURN_IF_ERROR(cache_.WriteRef(name_.revision, commit));
    return path;
  }

  // FAILED_PRECONDITION: the files that are known so far are too large.
  absl::Status CheckBytes(const FileChoice& choice) const {
    if (options_.most_bytes == 0) return absl::OkStatus();
    int64_t bytes = choice.index ? choice.index->size : 0;
    for (const auto* files : {&choice.first, &choice.weights}) {
      for (const HubFile& file : *files) {
        bytes += file.size;
        if (bytes > options_.most_bytes) {
          return absl::FailedPreconditionError(fmt::format(
              "hf:{}: its files have more than {} bytes, the most that this "
              "server fetches for a client; name a smaller model, or raise "
              "--allow-pull-bytes",
              name_.repository, options_.most_bytes));
        }
      }
    }
    return absl::OkStatus();
  }

  // True if an earlier run came as far as the weights: it made the check.
  static bool HasWeights(const std::string& folder, const FileChoice& choice) {
    if (!choice.index && choice.weights.empty()) return false;  // an adapter
    const HubFile& first = choice.index ? *choice.index : choice.weights[0];
    std::error_code error;
    return std::filesystem::exists(folder + "/" + first.path, error);
  }

  // Names the model in the error of a check.
  absl::Status InContext(const absl::Status& status) const {
    if (status.ok()) return status;
    return absl::Status(status.code(),
                        fmt::format("hf:{}: {}", name_.repository,
                                    std::string(status.message())));
  }

  absl::Status Fetch(const std::string& commit,
                     const std::vector<HubFile>& files) {
    TRIVIUM_RETURN_IF_ERROR(MakeRoom(files));
    for (const HubFile& file : files) {
      TRIVIUM_RETURN_IF_ERROR(
          FetchBlob(name_, commit, file, cache_, &client_, observer_));
      TRIVIUM_RETURN_IF_ERROR(observer_->CheckWanted());
      TRIVIUM_RETURN_IF_ERROR(cache_.Link(commit, file));
    }
    return absl::OkStatus();
  }

  // Makes the cache's folders and looks at the disk, if the cache lacks any of
  // the files. A cache that has them all may be read-only.
  absl::Status MakeRoom(const std::vector<HubFile>& files) const {
    bool complete = true;
    int64_t missing = 0;
    for (const HubFile& file : files) {
      if (cache_.Has(file)) continue;
      complete = false;
      std::error_code error;
      const uintmax_t have =
          std::filesystem::file_size(cache_.Blob(file) + ".incomplete", error);
      missing +=
          error ? file.size
                : std::max<int64_t>(file.size - static_cast<int64_t>(have), 0);
    }
    if (complete) return absl::OkStatus();
    TRIVIUM_RETURN_IF_ERROR(cache_.Prepare());
    return cache_.CheckRoom(missing);
  }

  const HubName name_;
  const HubSettings settings_;
  const PullOptions options_;
  PullObserver* const observer_;
  const HubCache cache_;
  HubClient client_;
};

}  // namespace

absl::StatusOr<std::string> Pull(const HubName& name,
                                 const HubSettings& settings,
                                 const PullOptions& options,
                                 PullObserver* observer) {
  return Puller(name, settings, options, observer).Run();
}

PullOptions CheckedPull(const LoadOptions& load) {
  PullOptions options;
  options.check = [load](const std::string& folder) -> absl::Status {
    const FolderReport report = ReportFolder(folder, load);
    if (report.problems.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(fmt::format(
        "this server does not run it, so its weights are not fetched: {}",
        fmt::join(report.problems, "; ")));
  };
  options.check_gguf = [](std::string_view architecture) -> absl::Status {
    if (FindGgufArchitecture(architecture) != nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError(fmt::format(
        "this server does not run the architecture '{}', so the file is not "
        "fetched; supported in GGUF files are {}",
        architecture, GgufArchitectureNames()));
  };
  return options;
}

}  // namespace trivium
