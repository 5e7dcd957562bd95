// Invariants:
// - What the directory has, batcher and metrics serve: a model is given to them
//   before it is put there, and taken from them after its lease has ended,
//   which is after it was taken from there.
// - An order changes the directory once, as its last step; before that it can
//   fail without a trace.
// - specs_ has every model of the directory.
#include "server/model_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/thread.h"
#include "model/chat_template.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;

// `status` with what it is about in front.
absl::Status About(const std::string& what, const absl::Status& status) {
  return absl::Status(
      status.code(),
      fmt::format("{}: {}", what, std::string(status.message())));
}

void WarnOfSmallCache(const ModelSpec& spec, const Engine& engine) {
  const EngineLimits& limits = engine.limits();
  if (limits.decoder_layers == 0) return;
  const int longest = engine.BlocksFor(limits.max_source_tokens) +
                      engine.BlocksFor(limits.max_target_tokens);
  if (limits.total_blocks >= longest) return;
  Log(spdlog::level::warn,
      "the KV cache holds less than one longest sequence of this model; "
      "requests that could need more are refused, raise --kv-cache-bytes to "
      "serve them",
      {{"model", spec.name},
       {"tokens", int64_t{limits.total_blocks} * limits.block_tokens},
       {"longest", int64_t{longest} * limits.block_tokens}});
}

absl::Status Stopping() {
  return absl::UnavailableError(
      "the server is stopping; send the call to another one");
}

bool IsModel(const fs::path& path) {
  std::error_code error;
  if (absl::StartsWith(path.filename().string(), ".")) return false;
  return path.extension() == ".gguf"
             ? fs::is_regular_file(path, error)
             : fs::is_regular_file(path / "config.json", error);
}

// "/models/opus" and "/models/opus.gguf" -> "opus".
std::string NameOf(const fs::path& path) {
  return (path.extension() == ".gguf" ? path.stem() : path.filename()).string();
}

// Names, sizes and times of a model's files: what changes where these do.
std::string Contents(const fs::path& path) {
  std::error_code error;
  std::set<std::string> files;
  const auto add = [&](const fs::path& file) {
    files.insert(fmt::format(
        "{} {} {}", file.filename().string(), fs::file_size(file, error),
        fs::last_write_time(file, error).time_since_epoch().count()));
  };
  if (fs::is_regular_file(path, error)) {
    add(path);
  } else {
    for (const auto& entry : fs::directory_iterator(path, error)) {
      if (entry.is_regular_file(error)) add(entry.path());
    }
  }
  return fmt::format("{}", fmt::join(files, "\n"));
}

}  // namespace

std::vector<ModelSpec> ModelsBelow(const std::string& root) {
  std::vector<ModelSpec> specs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    if (IsModel(entry.path())) {
      specs.push_back(
          {.name = NameOf(entry.path()), .folder = entry.path().string()});
    }
  }
  std::sort(specs.begin(), specs.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return specs;
}

absl::StatusOr<std::unique_ptr<Model>> LoadModel(const ModelSpec& spec,
                                                 const Options& options) {
  const absl::Time begin = absl::Now();
  LoadOptions load;
  load.precision = spec.precision.value_or(options.precision);
  load.kv_precision = spec.kv_precision.value_or(options.kv_precision);
  load.vocabulary_shortlist =
      spec.shortlist.value_or(options.vocabulary_shortlist);
  absl::StatusOr<std::unique_ptr<Model>> model = Model::Load(spec.folder, load);
  if (!model.ok()) {
    return About(fmt::format("model '{}'", spec.name), model.status());
  }
  const ModelInfo& info = (*model)->info();
  if (spec.kv_precision.has_value() && !info.kv_precision.has_value()) {
    return absl::InvalidArgumentError(fmt::format(
        "model '{}': kv={} says how keys and values of a decoder are kept, and "
        "{} has none; leave it out",
        spec.name, PrecisionName(*spec.kv_precision), info.family));
  }
  Log(spdlog::level::info, "model loaded",
      {{"model", spec.name},
       {"folder", spec.folder},
       {"family", info.family},
       {"precision", PrecisionName(info.precision)},
       {"kv_precision",
        info.kv_precision ? PrecisionName(*info.kv_precision) : "none"},
       {"isa", IsaName(info.isa)},
       {"batch_invariant", info.batch_invariant ? "yes" : "no"},
       {"vocabulary_shortlist", info.vocabulary_shortlist ? "on" : "off"},
       {"parameters", info.parameters},
       {"revision", info.revision},
       {"seconds", absl::ToDoubleSeconds(absl::Now() - begin)}});
  if ((*model)->tokenizer() == nullptr) {
    Log(spdlog::level::warn,
        "the folder has no tokenizer files: the model takes token ids only",
        {{"model", spec.name}});
  }
  if (const std::string& why = (*model)->chat_templates().refusal();
      !why.empty()) {
    Log(spdlog::level::warn, "the model takes no chats",
        {{"model", spec.name}, {"reason", why}});
  }
  if (!info.batch_invariant && info.precision != Precision::kBf16) {
    Log(spdlog::level::warn,
        "answers of this model may differ in their last bits with what else "
        "runs",
        {{"model", spec.name}});
  }
  return model;
}

ModelManager::ModelManager(const Options& options, const Workers& workers,
                           Metrics* metrics, Batcher* batcher)
    : options_(options),
      workers_(workers),
      metrics_(metrics),
      batcher_(batcher) {}

ModelManager::~ModelManager() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<ModelHandle> ModelManager::Serve(const ModelSpec& spec,
                                                std::unique_ptr<Model> model) {
  Batcher::Engines engines;
  for (int i = 0; i < workers_.count; ++i) {
    auto engine = model->NewEngine({options_.kv_cache_bytes, workers_.threads,
                                    options_.prefix_cache_bytes});
    if (!engine.ok()) {
      return About(fmt::format("model '{}', --kv-cache-bytes {}", spec.name,
                               options_.kv_cache_bytes),
                   engine.status());
    }
    engines.push_back(*std::move(engine));
  }
  WarnOfSmallCache(spec, *engines[0]);
  const auto served = std::make_shared<const ServedModel>(
      ServedModel{.name = spec.name,
                  .model = std::move(model),
                  .kv_cache_bytes = options_.kv_cache_bytes * workers_.count,
                  .result_cache_bytes = options_.result_cache_bytes});
  metrics_->AddModel(*served);
  if (absl::Status status = batcher_->AddModel(served, std::move(engines));
      !status.ok()) {
    metrics_->RemoveModel(*served);
    return status;
  }
  specs_[spec.name] = spec;
  return Lease(served);
}

ModelHandle ModelManager::Lease(ModelHandle served) {
  const ServedModel* model = served.get();
  return ModelHandle(model, [this, served = std::move(served),
                             orders = orders_](const ServedModel*) mutable {
    MutexLock lock(&orders->mutex);
    // Then the batcher lets go of all models.
    if (orders->stopping) return;
    orders->waiting.push_back(
        {[this, served = std::move(served)] { Retire(*served); }, [] {}});
    orders->changed.Signal();
  });
}

void ModelManager::Retire(const ServedModel& served) {
  batcher_->RemoveModel(served).IgnoreError();
  metrics_->RemoveModel(served);
}

absl::Status ModelManager::Start(ModelDirectory* directory) {
  directory_ = directory;
  // What was loaded at the start has been seen.
  for (const auto& [name, spec] : specs_) {
    const fs::path path(spec.folder);
    std::error_code error;
    if (fs::equivalent(path.parent_path(), options_.model_root, error)) {
      seen_[path.filename().string()] = {Contents(path), /*settled=*/true};
    }
  }
  std::optional<std::thread> thread = StartThread([this] { Loop(); });
  if (!thread) {
    return absl::ResourceExhaustedError(
        "the system gives no thread to load models (ulimit -u, the cgroup's "
        "pids.max)");
  }
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

void ModelManager::Stop() {
  std::deque<Orders::Order> refused;
  {
    MutexLock lock(&orders_->mutex);
    orders_->stopping = true;
    std::swap(refused, orders_->waiting);
    orders_->changed.Signal();
  }
  for (const Orders::Order& order : refused) order.refuse();
}

void ModelManager::Loop() {
  absl::Time next_look = absl::Now();
  const bool watches = options_.watch_interval > absl::ZeroDuration();
  for (;;) {
    Orders::Order order;
    {
      MutexLock lock(&orders_->mutex);
      while (orders_->waiting.empty() && !orders_->stopping) {
        if (!watches) {
          orders_->changed.Wait(&orders_->mutex);
          continue;
        }
        const absl::Duration left = next_look - absl::Now();
        if (left <= absl::ZeroDuration()) break;
        orders_->changed.WaitFor(&orders_->mutex,
                                 absl::ToChronoNanoseconds(left));
      }
      if (orders_->stopping) return;
      if (!orders_->waiting.empty()) {
        order = std::move(orders_->waiting.front());
        orders_->waiting.pop_front();
      }
    }
    if (order.run) {
      order.run();
    } else {
      Look();
      next_look = absl::Now() + options_.watch_interval;
    }
  }
}

void ModelManager::Post(std::function<absl::StatusOr<ModelHandle>()> order,
                        Done done) {
  {
    MutexLock lock(&orders_->mutex);
    if (!orders_->stopping) {
      orders_->waiting.push_back(
          {[order = std::move(order), done] { done(order()); },
           [done] { done(Stopping()); }});
      orders_->changed.Signal();
      return;
    }
  }
  done(Stopping());
}

void ModelManager::Load(LoadOrder order, Done done) {
  Post([this, order = std::move(order)] { return LoadNow(order); },
       std::move(done));
}

void ModelManager::Reload(std::string name, Done done) {
  Post([this, name = std::move(name)] { return ReloadNow(name); },
       std::move(done));
}

void ModelManager::Unload(std::string name, Done done) {
  Post([this, name = std::move(name)] { return UnloadNow(name); },
       std::move(done));
}

absl::StatusOr<std::string> ModelManager::Place(
    const std::string& folder) const {
  std::error_code error;
  const fs::path root = fs::canonical(options_.model_root, error);
  if (error) {
    return absl::FailedPreconditionError(fmt::format(
        "--model-root {}: {}", options_.model_root, error.message()));
  }
  // Wherever links lead.
  const fs::path place = fs::weakly_canonical(root / folder, error);
  const std::string below = (root / "").string();
  if (error || !absl::StartsWith(place.string(), below)) {
    return absl::InvalidArgumentError(fmt::format(
        "folder: '{}' is not below the server's --model-root", folder));
  }
  if (!fs::exists(place, error)) {
    return absl::InvalidArgumentError(fmt::format(
        "folder: there is no '{}' below the server's --model-root", folder));
  }
  return place.string();
}

absl::StatusOr<ModelHandle> ModelManager::LoadNow(const LoadOrder& order) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::string folder, Place(order.folder));
  ModelSpec spec = {.name = order.name,
                    .folder = folder,
                    .precision = order.precision,
                    .kv_precision = order.kv_precision,
                    .shortlist = order.shortlist};
  if (spec.name.empty()) spec.name = NameOf(folder);
  // Before it is read; nobody else adds models.
  if (specs_.contains(spec.name)) {
    return absl::AlreadyExistsError(fmt::format(
        "a model is named '{}' already; reload or unload it, or give another "
        "name",
        spec.name));
  }
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                           LoadModel(spec, options_));
  TRIVIUM_ASSIGN_OR_RETURN(ModelHandle lease, Serve(spec, std::move(model)));
  TRIVIUM_RETURN_IF_ERROR(directory_->Add(lease));
  return lease;
}

absl::StatusOr<ModelHandle> ModelManager::ReloadNow(const std::string& name) {
  const auto spec = specs_.find(name);
  if (spec == specs_.end()) return directory_->Find(name).status();
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                           LoadModel(spec->second, options_));
  TRIVIUM_ASSIGN_OR_RETURN(ModelHandle lease,
                           Serve(ModelSpec(spec->second), std::move(model)));
  TRIVIUM_RETURN_IF_ERROR(directory_->Replace(lease));
  return lease;
}

absl::StatusOr<ModelHandle> ModelManager::UnloadNow(const std::string& name) {
  TRIVIUM_ASSIGN_OR_RETURN(ModelHandle lease, directory_->Remove(name));
  specs_.erase(name);
  Log(spdlog::level::info, "model unloaded", {{"model", name}});
  return lease;
}

void ModelManager::Look() {
  const fs::path root(options_.model_root);
  std::error_code error;
  std::map<std::string, Seen> now;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const fs::path& path = entry.path();
    if (!IsModel(path)) continue;
    const std::string file = path.filename().string();
    Seen& found = now[file];
    found.contents = Contents(path);
    const auto before = seen_.find(file);
    if (before == seen_.end() || before->second.contents != found.contents) {
      continue;  // it may not all be there yet
    }
    found.settled = true;
    if (before->second.settled) continue;
    const std::string name = NameOf(path);
    const auto spec = specs_.find(name);
    const absl::StatusOr<ModelHandle> done =
        spec == specs_.end() ? LoadNow({.folder = file}) : ReloadNow(name);
    if (!done.ok()) {
      Log(spdlog::level::err, "a watched model cannot be served as it is",
          {{"model", name}, {"error", std::string(done.status().message())}});
    }
  }
  if (error) {
    Log(spdlog::level::err, "the folder of models cannot be read",
        {{"folder", options_.model_root}, {"error", error.message()}});
    return;  // what is served stays
  }
  for (const auto& [file, seen] : seen_) {
    const std::string name = NameOf(file);
    if (!now.contains(file) && specs_.contains(name)) {
      UnloadNow(name).IgnoreError();
    }
  }
  seen_ = std::move(now);
}

}  // namespace trivium
