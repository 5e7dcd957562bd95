// Invariants:
// - The batcher and the metrics serve every model in the directory. A model is
//   added to them before it is added to the directory. It is removed from them
//   when its lease ends, which is after it was removed from the directory.
// - An order changes the directory once, as its last step; until then it can
//   fail without a trace.
// - specs_ has every model of the directory.
// - At most kMostOrders orders of clients wait, and kMostOrdersOfClient of
// each.
//   Orders that leases give at their end do not count: there are no more of
//   them than models were served.
// - A watch reloads and unloads only models that are served from a folder that
//   it sees, whatever their names. If a folder's name is that of another model,
//   the log says so, and the folder is left alone.
#include "server/model_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/cpu_limits.h"
#include "base/status.h"
#include "base/thread.h"
#include "model/chat_template.h"
#include "server/errors/status.h"
#include "server/model_folders.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

constexpr absl::Duration kOrderRetry = absl::Seconds(1);

// Puts the subject in front of the message of `status`.
absl::Status About(const std::string& what, const absl::Status& status) {
  return absl::Status(
      status.code(),
      fmt::format("{}: {}", what, std::string(status.message())));
}

void WarnOfSmallCache(const ModelSpec& spec, const Engine& engine) {
  const EngineLimits& limits = engine.limits();
  if (limits.decoder_layers == 0) return;
  const int64_t longest = limits.SourceBlocks(limits.max_source_tokens) +
                          limits.HypothesisBlocks(limits.max_target_tokens);
  if (limits.total_blocks >= longest) return;
  Log(spdlog::level::warn,
      "the KV cache holds less than one longest sequence of this model; "
      "requests that could need more are refused, raise --kv-cache-bytes to "
      "serve them",
      {{"model", spec.name},
       {"kv_cache_bytes", limits.total_blocks * limits.block_bytes},
       {"longest", longest * limits.block_bytes}});
}

absl::Status Stopping() {
  return absl::UnavailableError(
      "the server is stopping; send the call to another one");
}

absl::Status TooManyOrders(const char* whose, int count) {
  return WithRetry(
      absl::ResourceExhaustedError(fmt::format(
          "{} orders {}to load, reload or unload models already wait; retry "
          "when some of them are done",
          count, whose)),
      kOrderRetry);
}

// The largest ratio between the bytes of a weight in a file and in memory:
// float32 files are the largest.
int64_t MostShrunk(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return 1;
    case Precision::kBf16:
      return 2;
    default:
      return 4;
  }
}

}  // namespace

LoadOptions LoadOptionsOf(const ModelSpec& spec, const Options& options) {
  LoadOptions load;
  load.precision = spec.precision.value_or(options.precision);
  load.kv_precision = spec.kv_precision.value_or(options.kv_precision);
  load.vocabulary_shortlist =
      spec.shortlist.value_or(options.vocabulary_shortlist);
  return load;
}

absl::StatusOr<std::unique_ptr<Model>> LoadModel(const ModelSpec& spec,
                                                 const Options& options) {
  TRIVIUM_RETURN_IF_ERROR(CheckModelName(spec.name));
  const absl::Time begin = absl::Now();
  absl::StatusOr<std::unique_ptr<Model>> model =
      Model::Load(spec.folder, LoadOptionsOf(spec, options));
  if (!model.ok()) {
    return About(fmt::format("model '{}'", spec.name), model.status());
  }
  const ModelInfo& info = (*model)->info();
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
       {"isa", IsaName(info.isa)},
       {"batch_invariant", info.batch_invariant ? "yes" : "no"},
       {"vocabulary_shortlist", info.vocabulary_shortlist ? "on" : "off"},
       {"parameters", info.parameters},
       {"revision", info.revision},
       {"seconds", absl::ToDoubleSeconds(absl::Now() - begin)}});
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
    auto engine = model->NewEngine({workers_.kv_cache_bytes, workers_.threads,
                                    options_.prefix_cache_bytes});
    if (!engine.ok()) {
      return About(fmt::format("model '{}', --kv-cache-bytes {}", spec.name,
                               workers_.kv_cache_bytes),
                   engine.status());
    }
    engines.push_back(*std::move(engine));
  }
  WarnOfSmallCache(spec, *engines[0]);
  const auto served = std::make_shared<const ServedModel>(
      ServedModel{.name = spec.name,
                  .model = std::move(model),
                  .kv_cache_bytes = workers_.kv_cache_bytes * workers_.count,
                  .result_cache_bytes = options_.result_cache_bytes});
  metrics_->AddModel(*served);
  if (absl::Status status = batcher_->AddModel(served, std::move(engines));
      !status.ok()) {
    metrics_->RemoveModel(*served);
    return status;
  }
  specs_[spec.name] = spec;
  specs_[spec.name].folder = AbsoluteFolder(spec.folder);
  return Lease(served);
}

ModelHandle ModelManager::Lease(ModelHandle served) {
  const ServedModel* model = served.get();
  return ModelHandle(model, [this, served = std::move(served),
                             orders = orders_](const ServedModel*) mutable {
    MutexLock lock(&orders->mutex);
    // The batcher of a stopping server frees all models anyway.
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
  // Models that were loaded at the start count as seen.
  for (const ModelSpec& spec : ListModelFolders(options_.model_root)
                                   .value_or(std::vector<ModelSpec>())) {
    if (ServedFrom(spec.folder).empty()) continue;
    seen_[spec.folder] = {FingerprintOfFolder(spec.folder), /*settled=*/true};
  }
  std::optional<Thread> thread = StartThread([this] { Loop(); });
  if (!thread) {
    return absl::ResourceExhaustedError(
        "the system cannot start a thread to load models (see ulimit -u and "
        "the cgroup's pids.max)");
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
        orders_->changed.WaitFor(&orders_->mutex, left);
      }
      if (orders_->stopping) return;
      if (!orders_->waiting.empty()) {
        order = std::move(orders_->waiting.front());
        orders_->waiting.pop_front();
        if (order.client) {
          --orders_->of_clients;
          const auto of_client = orders_->of_client.find(*order.client);
          if (--of_client->second == 0) orders_->of_client.erase(of_client);
        }
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

void ModelManager::Post(ClientId client,
                        std::function<absl::StatusOr<ModelHandle>()> order,
                        Done done) {
  absl::Status refusal;
  {
    MutexLock lock(&orders_->mutex);
    const auto of_client = orders_->of_client.find(client);
    if (orders_->stopping) {
      refusal = Stopping();
    } else if (orders_->of_clients == kMostOrders) {
      refusal = TooManyOrders("", kMostOrders);
    } else if (of_client != orders_->of_client.end() &&
               of_client->second == kMostOrdersOfClient) {
      refusal = TooManyOrders("of this client ", kMostOrdersOfClient);
    } else {
      ++orders_->of_clients;
      ++orders_->of_client[client];
      orders_->waiting.push_back(
          {[order = std::move(order), done] { done(order()); },
           [done] { done(Stopping()); }, client});
      orders_->changed.Signal();
      return;
    }
  }
  done(refusal);
}

absl::Status ModelManager::CheckRoom(const ModelSpec& spec, const char* what,
                                     int64_t bytes) const {
  constexpr int64_t kMiB = 1 << 20;
  const int64_t limit = options_.memory_limit_bytes > 0
                            ? options_.memory_limit_bytes
                            : UsableMemory();
  const int64_t left = limit - PrivateMemory();
  if (bytes <= left) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("model '{}': {} {} MiB of memory, but {} of {} MiB are left; "
                  "unload another model, or give the server more memory",
                  spec.name, what, bytes / kMiB,
                  std::max<int64_t>(left, 0) / kMiB, limit / kMiB));
}

absl::StatusOr<std::unique_ptr<Model>> ModelManager::LoadIntoRoom(
    const ModelSpec& spec) const {
  const int64_t shrunk = MostShrunk(LoadOptionsOf(spec, options_).precision);
  TRIVIUM_RETURN_IF_ERROR(CheckRoom(spec, "its weights take at least",
                                    WeightFileBytes(spec.folder) / shrunk));
  return LoadModel(spec, options_);
}

void ModelManager::Load(ClientId client, LoadOrder order, Done done) {
  Post(
      client, [this, order = std::move(order)] { return LoadNow(order); },
      std::move(done));
}

void ModelManager::Reload(ClientId client, std::string name, Done done) {
  Post(
      client, [this, name = std::move(name)] { return ReloadNow(name); },
      std::move(done));
}

void ModelManager::Unload(ClientId client, std::string name, Done done) {
  Post(
      client, [this, name = std::move(name)] { return UnloadNow(name); },
      std::move(done));
}

absl::StatusOr<ModelHandle> ModelManager::LoadNow(const LoadOrder& order) {
  TRIVIUM_ASSIGN_OR_RETURN(ModelSpec spec,
                           FindModelFolder(options_.model_root, order.folder));
  if (!order.name.empty()) spec.name = order.name;
  spec.precision = order.precision;
  spec.kv_precision = order.kv_precision;
  spec.shortlist = order.shortlist;
  // Checked before the model is read; only this thread adds models.
  if (specs_.contains(spec.name)) {
    return absl::AlreadyExistsError(fmt::format(
        "a model named '{}' exists already; reload or unload it, or give "
        "another name",
        spec.name));
  }
  if (specs_.size() >= kMostModels) {
    return absl::ResourceExhaustedError(fmt::format(
        "{} models are served, which is the limit; unload one first",
        specs_.size()));
  }
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, LoadIntoRoom(spec));
  if (model->info().kv_precision.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(
        CheckRoom(spec, "its keys and values may take (--kv-cache-bytes)",
                  workers_.kv_cache_bytes * workers_.count));
  }
  TRIVIUM_ASSIGN_OR_RETURN(ModelHandle lease, Serve(spec, std::move(model)));
  TRIVIUM_RETURN_IF_ERROR(directory_->Add(lease));
  return lease;
}

absl::StatusOr<ModelHandle> ModelManager::ReloadNow(const std::string& name) {
  const auto spec = specs_.find(name);
  if (spec == specs_.end()) return directory_->Find(name).status();
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                           LoadIntoRoom(spec->second));
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
  const auto watched = ListModelFolders(options_.model_root);
  if (!watched.ok()) {
    Log(spdlog::level::err, "the folder --model-root cannot be read",
        {{"error", std::string(watched.status().message())}});
    return;  // the served models stay
  }
  std::map<std::string, Seen> now;
  for (const ModelSpec& spec : *watched) {
    Seen& found = now[spec.folder];
    found.fingerprint = FingerprintOfFolder(spec.folder);
    const auto before = seen_.find(spec.folder);
    if (before == seen_.end() ||
        before->second.fingerprint != found.fingerprint) {
      continue;  // its files may still be arriving
    }
    found.settled = true;
    if (!before->second.settled) ServeAsItIs(spec);
  }
  for (const auto& [folder, seen] : seen_) {
    if (now.contains(folder)) continue;
    for (const std::string& name : ServedFrom(folder)) {
      UnloadNow(name).IgnoreError();
    }
  }
  seen_ = std::move(now);
}

void ModelManager::ServeAsItIs(const ModelSpec& watched) {
  const auto tell = [](const std::string& name, const absl::Status& status) {
    if (status.ok()) return;
    Log(spdlog::level::err, "a watched model cannot be served",
        {{"model", name}, {"error", std::string(status.message())}});
  };
  const std::vector<std::string> names = ServedFrom(watched.folder);
  for (const std::string& name : names) tell(name, ReloadNow(name).status());
  if (names.empty()) {
    tell(watched.name, LoadNow({.folder = watched.name}).status());
  }
}

std::vector<std::string> ModelManager::ServedFrom(
    const std::string& folder) const {
  std::vector<std::string> names;
  for (const auto& [name, spec] : specs_) {
    if (spec.folder == folder) names.push_back(name);
  }
  return names;
}

}  // namespace trivium
