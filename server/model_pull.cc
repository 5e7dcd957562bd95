#include "server/model_pull.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status.h"
#include "model/hub/hub_name.h"
#include "model/hub/hub_settings.h"
#include "model/hub/pull.h"
#include "model/hub/pull_display.h"
#include "server/model_loading.h"
#include "server/observability/log.h"
#include "server/startup.h"

namespace trivium {
namespace {

constexpr absl::Duration kLogInterval = absl::Seconds(10);

// Logs a pull.
class PullLog : public PullObserver {
 public:
  explicit PullLog(const std::function<void()>& alive, AliveCheck wanted = {})
      : alive_(alive), wanted_(std::move(wanted)) {}

  void OnFile(const HubFile& file, int64_t have) override {
    path_ = file.path;
    logged_ = SteadyNow();
    alive_();
    Log(spdlog::level::info, "fetching",
        {{"file", path_}, {"bytes", file.size}, {"fetched", have}});
  }
  void OnBytes(int64_t have) override {
    const absl::Time now = SteadyNow();
    if (now - logged_ < kLogInterval) return;
    logged_ = now;
    alive_();
    Log(spdlog::level::info, "fetching", {{"file", path_}, {"fetched", have}});
  }
  void OnNote(const std::string& text) override {
    alive_();
    Log(spdlog::level::warn, text);
  }
  absl::Status CheckWanted() override { return wanted_(); }

 private:
  const std::function<void()> alive_;
  const AliveCheck wanted_;
  std::string path_;
  absl::Time logged_;
};

absl::StatusOr<std::string> PullOne(const std::string& text,
                                    const PullOptions& pull,
                                    PullObserver* observer) {
  TRIVIUM_ASSIGN_OR_RETURN(const HubName name, ParseHubName(text));
  TRIVIUM_ASSIGN_OR_RETURN(const HubSettings settings,
                           HubSettings::FromEnvironment());
  return Pull(name, settings, pull, observer);
}

void LogFetched(const std::string& name, const std::string& folder,
                absl::Time begin) {
  Log(spdlog::level::info, "model fetched",
      {{"model", name},
       {"folder", folder},
       {"seconds", absl::ToDoubleSeconds(SteadyNow() - begin)}});
}

}  // namespace

absl::Status CheckMayPull(const std::string& name, const Options& options) {
  TRIVIUM_ASSIGN_OR_RETURN(const HubName hub, ParseHubName(name));
  const size_t slash = hub.repository.find('/');
  const std::string owner =
      slash == hub.repository.npos ? "" : hub.repository.substr(0, slash);
  for (const std::string& allowed : options.pull_owners) {
    // The hub's names are the same in any case.
    if (allowed == "*" ||
        (!owner.empty() && absl::EqualsIgnoreCase(allowed, owner))) {
      return absl::OkStatus();
    }
  }
  return absl::PermissionDeniedError(fmt::format(
      "folder: '{}' is a model of a hub, which this server does not fetch for "
      "clients; its --allow-pull names the owners whose models it fetches. Or "
      "put the model into a folder below --model-root, and name that",
      name));
}

absl::StatusOr<std::string> PullOrdered(const ModelSpec& spec,
                                        const Options& options,
                                        const AliveCheck& wanted) {
  TRIVIUM_RETURN_IF_ERROR(CheckMayPull(spec.folder, options));
  PullOptions pull = CheckedPull(LoadOptionsOf(spec, options));
  pull.most_bytes = options.pull_bytes;
  PullLog log([] {}, wanted);
  const absl::Time begin = SteadyNow();
  TRIVIUM_ASSIGN_OR_RETURN(const std::string folder,
                           PullOne(spec.folder, pull, &log));
  LogFetched(spec.folder, folder, begin);
  return folder;
}

absl::Status PullModels(const std::function<void()>& alive, Options* options) {
  const bool check = IsHubName(options->check_folder);
  if (!check && std::none_of(options->models.begin(), options->models.end(),
                             [](const ModelSpec& spec) {
                               return IsHubName(spec.folder);
                             })) {
    return absl::OkStatus();
  }
  std::unique_ptr<PullObserver> observer = std::make_unique<PullLog>(alive);
  if (options->log_format == LogFormat::kText && isatty(STDERR_FILENO) == 1) {
    observer = std::make_unique<PullDisplay>(stderr);
  }
  if (check) {
    // --check itself lists the problems, and needs no weights.
    PullOptions pull = CheckedPull({});
    pull.check = nullptr;
    pull.weights = false;
    TRIVIUM_ASSIGN_OR_RETURN(
        options->check_folder,
        PullOne(options->check_folder, pull, observer.get()));
    return absl::OkStatus();
  }
  // Cheap errors come before long waits.
  TRIVIUM_RETURN_IF_ERROR(CheckOptions(*options));
  for (ModelSpec& spec : options->models) {
    if (!IsHubName(spec.folder)) continue;
    const std::string name = spec.folder;
    const absl::Time begin = SteadyNow();
    TRIVIUM_ASSIGN_OR_RETURN(
        spec.folder, PullOne(name, CheckedPull(LoadOptionsOf(spec, *options)),
                             observer.get()));
    LogFetched(name, spec.folder, begin);
  }
  return absl::OkStatus();
}

}  // namespace trivium
