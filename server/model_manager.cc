// Invariants:
// - The batcher and the metrics serve every model in the directory. A model is
//   added to them before it is added to the directory. It is removed from them
//   when its lease ends, which is after it was removed from the directory.
// - An order changes the directory once, as its last step; until then it can
//   fail without a trace.
// - specs_ has every model of the directory.
// - While an order reads a model, no other order for that name changes
//   anything.
// - At most kMostOrders orders of clients wait, and kMostOrdersOfClient of
//   each. Orders that leases give at their end do not count: there are no more
//   of them than models were served.
// - A watch reloads and unloads only models that are served from a folder that
//   it sees, whatever their names. If a folder's name is that of another model,
//   the log says so, and the folder is left alone.
#include "server/model_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/exceptions.h"
#include "base/status.h"
#include "base/thread.h"
#include "model/hub/hub_name.h"
#include "server/errors/status.h"
#include "server/model_folders.h"
#include "server/model_pull.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

constexpr absl::Duration kOrderRetry = absl::Seconds(1);

std::atomic<int> models_being_read = 0;

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

}  // namespace

int ModelsBeingRead() { return models_being_read; }

ModelManager::ModelManager(const Options& options, const Workers& workers,
                           Metrics* metrics, Batcher* batcher, Reading reading)
    : options_(options),
      workers_(workers),
      metrics_(metrics),
      batcher_(batcher),
      reading_(std::move(reading)) {}

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
      return absl::Status(engine.status().code(),
                          fmt::format("model '{}', --kv-cache-bytes {}: {}",
                                      spec.name, workers_.kv_cache_bytes,
                                      std::string(engine.status().message())));
    }
    engines.push_back(*std::move(engine));
  }
  WarnOfSmallCache(spec, *engines[0]);
  const auto served = std::make_shared<const ServedModel>(
      ServedModel{.name = spec.name,
                  .model = std::move(model),
                  .kv_cache_bytes = workers_.kv_cache_bytes * workers_.count,
                  .result_cache_bytes = options_.result_cache_bytes});
  ModelSpec known = spec;
  if (!IsHubName(spec.folder)) known.folder = AbsoluteFolder(spec.folder);
  // An error, or memory that ends, takes the model back.
  absl::Cleanup retire = [&] { Retire(*served); };
  metrics_->AddModel(*served);
  TRIVIUM_RETURN_IF_ERROR(batcher_->AddModel(served, std::move(engines)));
  ModelHandle lease = Lease(served);
  std::move(retire).Cancel();  // the lease does it from here on
  specs_.insert_or_assign(spec.name, std::move(known));
  return lease;
}

ModelHandle ModelManager::Lease(ModelHandle served) {
  const ServedModel* model = served.get();
  Steps step;
  step.push_back([this, served = std::move(served)] { Retire(*served); });
  return ModelHandle(model, [step = std::move(step),
                             orders = orders_](const ServedModel*) mutable {
    MutexLock lock(&orders->mutex);
    // The batcher of a stopping server frees all models anyway.
    if (orders->stopping) return;
    orders->steps.splice(orders->steps.end(), step);
    orders->changed.Signal();
  });
}

void ModelManager::Retire(const ServedModel& served) {
  // RemoveModel may throw: the text of its error takes memory.
  CatchExceptions([&] { return batcher_->RemoveModel(served); }).IgnoreError();
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
  std::vector<Done> refused;
  {
    MutexLock lock(&orders_->mutex);
    orders_->stopping = true;
    for (auto& order : orders_->waiting) {
      refused.push_back(std::move(order.done));
    }
    for (auto& [id, read] : orders_->reads) {
      refused.push_back(std::move(read.done));
      *read.given_up = true;
    }
    orders_->waiting.clear();
    orders_->reads.clear();
    orders_->steps.clear();
    orders_->changed.Signal();
  }
  for (const Done& done : refused) done(Stopping());
}

void ModelManager::Loop() {
  for (bool goes_on = true; goes_on;) {
    // Orders answer for what they throw, and NextStep loses none of them; what
    // is left is a look at folders.
    CatchExceptions([&] {
      const std::function<void()> step = NextStep();
      goes_on = step != nullptr;
      if (goes_on) step();
    }).IgnoreError();
  }
}

std::function<void()> ModelManager::NextStep() {
  const bool watches = options_.watch_interval > absl::ZeroDuration();
  MutexLock lock(&orders_->mutex);
  for (;;) {
    if (orders_->stopping) return nullptr;
    const absl::Time now = SteadyNow();
    if (auto late = TakeLate(now)) return late;
    if (!orders_->steps.empty()) {
      auto step = std::move(orders_->steps.front());
      orders_->steps.pop_front();
      return step;
    }
    const absl::Time patience = Patience();
    if (patience <= now) {
      if (!orders_->waiting.empty()) {
        Orders::Order order = std::move(orders_->waiting.front());
        orders_->waiting.pop_front();
        Uncount(order);
        return std::move(order.run);
      }
      if (watches && next_look_ <= now) {
        next_look_ = now + options_.watch_interval;
        return [this] { Look(); };
      }
    }
    absl::Time next = absl::InfiniteFuture();
    if (watches) next = std::max(next_look_, patience);
    for (const Orders::Order& order : orders_->waiting) {
      next = std::min({next, order.deadline, std::max(now, patience)});
    }
    for (const auto& [id, read] : orders_->reads) {
      next = std::min(next, read.began + read.limit);
    }
    if (next == absl::InfiniteFuture()) {
      orders_->changed.Wait(&orders_->mutex);
    } else {
      orders_->changed.WaitFor(&orders_->mutex, next - now);
    }
  }
}

absl::Time ModelManager::Patience() const {
  absl::Time patience = absl::InfinitePast();
  for (const auto& [id, read] : orders_->reads) {
    patience = std::max(patience, read.began + reading_.patience);
  }
  return patience;
}

std::function<void()> ModelManager::TakeLate(absl::Time now) {
  for (auto order = orders_->waiting.begin(); order != orders_->waiting.end();
       ++order) {
    if (order->deadline > now) continue;
    std::function<void()> tell =
        [done = order->done,
         status = absl::DeadlineExceededError(
             "the deadline passed while the order waited for others; nothing "
             "was changed")] { done(status); };
    Uncount(*order);
    orders_->waiting.erase(order);
    return tell;
  }
  for (auto read = orders_->reads.begin(); read != orders_->reads.end();
       ++read) {
    const Orders::Read& late = read->second;
    if (late.began + late.limit > now) continue;
    std::function<void()> tell =
        [done = late.done,
         status = absl::DeadlineExceededError(fmt::format(
             "model '{}' could not be read within {}; is its disk or its "
             "network in order?",
             late.name, absl::FormatDuration(late.limit)))] { done(status); };
    *late.given_up = true;
    orders_->reads.erase(read);
    return tell;
  }
  return nullptr;
}

void ModelManager::Uncount(const Orders::Order& order) {
  if (!order.client) return;
  --orders_->of_clients;
  const auto of_client = orders_->of_client.find(*order.client);
  if (--of_client->second == 0) orders_->of_client.erase(of_client);
}

void ModelManager::Post(Giver giver, std::function<void()> run, Done done) {
  absl::Status refusal;
  {
    MutexLock lock(&orders_->mutex);
    const auto of_client = orders_->of_client.find(giver.client);
    if (orders_->stopping) {
      refusal = Stopping();
    } else if (orders_->of_clients == kMostOrders) {
      refusal = TooManyOrders("", kMostOrders);
    } else if (of_client != orders_->of_client.end() &&
               of_client->second == kMostOrdersOfClient) {
      refusal = TooManyOrders("of this client ", kMostOrdersOfClient);
    } else {
      // Counted last, since the others may throw.
      int& count = orders_->of_client[giver.client];
      orders_->waiting.push_back(
          {std::move(run), std::move(done), giver.client, giver.deadline});
      ++count;
      ++orders_->of_clients;
      orders_->changed.Signal();
      return;
    }
  }
  done(refusal);
}

void ModelManager::Load(Giver giver, LoadOrder order, Done done) {
  Post(
      giver,
      [this, order = std::move(order), done] {
        const absl::Status status =
            CatchExceptions([&] { LoadNow(order, done); });
        if (!status.ok()) done(status);
      },
      done);
}

void ModelManager::Reload(Giver giver, std::string name, Done done) {
  Post(
      giver,
      [this, name = std::move(name), done] {
        const absl::Status status =
            CatchExceptions([&] { ReloadNow(name, done); });
        if (!status.ok()) done(status);
      },
      done);
}

void ModelManager::Unload(Giver giver, std::string name, Done done) {
  Post(
      giver,
      [this, name = std::move(name), done] {
        absl::StatusOr<ModelHandle> unloaded = NoMemoryStatus();
        CatchExceptions([&] { unloaded = UnloadNow(name); }).IgnoreError();
        done(std::move(unloaded));
      },
      done);
}

absl::Status ModelManager::CheckNotRead(const std::string& name) const {
  MutexLock lock(&orders_->mutex);
  for (const auto& [id, read] : orders_->reads) {
    if (read.name != name) continue;
    return absl::FailedPreconditionError(fmt::format(
        "another order is reading model '{}'; send this one when it is done",
        name));
  }
  return absl::OkStatus();
}

void ModelManager::BeginRead(const ModelSpec& spec, Finish finish, Done done) {
  int64_t id = 0;
  bool stopping = false;
  const bool pulls = IsHubName(spec.folder);
  const int most = pulls ? kMostPulled : kMostRead;
  const auto given_up = std::make_shared<std::atomic<bool>>(false);
  {
    MutexLock lock(&orders_->mutex);
    stopping = orders_->stopping;
    int& threads = pulls ? orders_->pulling : orders_->reading;
    if (!stopping && threads < most) {
      id = ++orders_->last_read;
      orders_->reads[id] = {spec.name,
                            SteadyNow(),
                            pulls ? reading_.pull_limit : reading_.limit,
                            std::move(finish),
                            done,
                            given_up};
      ++threads;  // last, since the others may throw
    }
  }
  if (stopping) return done(Stopping());
  if (id == 0) {
    return done(WithRetry(
        absl::ResourceExhaustedError(fmt::format(
            "{} models are being {} and take long; send the order again when "
            "one of them is served",
            most, pulls ? "fetched" : "read")),
        kOrderRetry));
  }
  ++models_being_read;
  std::optional<Thread> thread;
  CatchExceptions([&] {
    auto model = std::make_shared<MaybeModel>(NoMemoryStatus());
    Steps step;
    step.push_back([this, id, model] { FinishRead(id, std::move(*model)); });
    thread = StartThread([pulls, spec, options = options_, reading = reading_,
                          given_up, model = std::move(model),
                          step = std::move(step), orders = orders_]() mutable {
      ReadOrder(pulls, spec, options, reading, *given_up, std::move(model),
                std::move(step), orders.get());
    });
  }).IgnoreError();
  if (thread) return thread->detach();
  --models_being_read;
  {
    MutexLock lock(&orders_->mutex);
    --(pulls ? orders_->pulling : orders_->reading);
    orders_->reads.erase(id);
  }
  done(absl::ResourceExhaustedError(
      "the system cannot start a thread to read the model"));
}

void ModelManager::ReadOrder(bool pulls, const ModelSpec& spec,
                             const Options& options, const Reading& reading,
                             const std::atomic<bool>& given_up,
                             std::shared_ptr<MaybeModel> model, Steps step,
                             Orders* orders) {
  const absl::Status status = CatchExceptions([&] {
    const auto wanted = [&given_up] {
      return given_up ? absl::CancelledError("the order was given up")
                      : absl::OkStatus();
    };
    *model =
        LoadOrderedModel(spec, options, reading.pull, reading.read, wanted);
  });
  if (!status.ok()) *model = status;
  {
    MutexLock lock(&orders->mutex);
    --(pulls ? orders->pulling : orders->reading);
    if (!orders->stopping) {
      orders->steps.splice(orders->steps.end(), step);
      orders->changed.Signal();
    }
  }
  // Frees a model that nobody wants.
  step.clear();
  model.reset();
  --models_being_read;
}

void ModelManager::FinishRead(int64_t id, MaybeModel model) {
  Orders::Read read;
  {
    MutexLock lock(&orders_->mutex);
    const auto found = orders_->reads.find(id);
    if (found == orders_->reads.end()) return;  // it took too long
    read = std::move(found->second);
    orders_->reads.erase(found);
  }
  absl::StatusOr<ModelHandle> finished = NoMemoryStatus();
  CatchExceptions([&] {
    finished = model.ok() ? read.finish(*std::move(model)) : model.status();
  }).IgnoreError();
  read.done(std::move(finished));
}

absl::StatusOr<ModelSpec> ModelManager::SpecOf(const LoadOrder& order) const {
  ModelSpec spec;
  if (IsHubName(order.folder)) {
    TRIVIUM_RETURN_IF_ERROR(CheckMayPull(order.folder, options_));
    TRIVIUM_ASSIGN_OR_RETURN(const HubName hub, ParseHubName(order.folder));
    spec = {.name = hub.ShortName(), .folder = order.folder};
  } else {
    TRIVIUM_ASSIGN_OR_RETURN(
        spec, FindModelFolder(options_.model_root, order.folder));
  }
  if (!order.name.empty()) spec.name = order.name;
  TRIVIUM_RETURN_IF_ERROR(CheckModelName(spec.name));
  spec.precision = order.precision;
  spec.kv_precision = order.kv_precision;
  spec.shortlist = order.shortlist;
  spec.translate_with = order.translate_with;
  TRIVIUM_RETURN_IF_ERROR(CheckNew(spec.name));
  TRIVIUM_RETURN_IF_ERROR(CheckNotRead(spec.name));
  return spec;
}

// Only the manager's thread adds models.
absl::Status ModelManager::CheckNew(const std::string& name) const {
  if (specs_.contains(name)) {
    return absl::AlreadyExistsError(fmt::format(
        "a model named '{}' exists already; reload or unload it, or give "
        "another name",
        name));
  }
  if (specs_.size() >= kMostModels) {
    return absl::ResourceExhaustedError(fmt::format(
        "{} models are served, which is the limit; unload one first",
        specs_.size()));
  }
  return absl::OkStatus();
}

void ModelManager::LoadNow(const LoadOrder& order, Done done) {
  const absl::StatusOr<ModelSpec> spec = SpecOf(order);
  if (!spec.ok()) return done(spec.status());
  BeginRead(
      *spec,
      [this, spec = *spec](
          std::unique_ptr<Model> model) -> absl::StatusOr<ModelHandle> {
        // Other orders may have gone on meanwhile.
        TRIVIUM_RETURN_IF_ERROR(CheckNew(spec.name));
        if (model->info().kv_precision.has_value()) {
          TRIVIUM_RETURN_IF_ERROR(CheckMemoryLeft(
              spec, options_, "its keys and values may take (--kv-cache-bytes)",
              workers_.kv_cache_bytes * workers_.count));
        }
        TRIVIUM_ASSIGN_OR_RETURN(ModelHandle lease,
                                 Serve(spec, std::move(model)));
        const absl::Status added =
            CatchExceptions([&] { return directory_->Add(lease); });
        if (added.ok()) return lease;
        specs_.erase(spec.name);  // else the name would stay taken
        return added;
      },
      std::move(done));
}

void ModelManager::ReloadNow(const std::string& name, Done done) {
  const auto spec = specs_.find(name);
  if (spec == specs_.end()) return done(directory_->Find(name).status());
  if (absl::Status status = CheckNotRead(name); !status.ok()) {
    return done(status);
  }
  BeginRead(
      spec->second,
      [this, spec = spec->second](
          std::unique_ptr<Model> model) -> absl::StatusOr<ModelHandle> {
        TRIVIUM_ASSIGN_OR_RETURN(ModelHandle lease,
                                 Serve(spec, std::move(model)));
        TRIVIUM_RETURN_IF_ERROR(directory_->Replace(lease));
        return lease;
      },
      std::move(done));
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
      // A model that is being read is unloaded at the next look.
      if (!UnloadNow(name).ok()) now[folder] = seen;
    }
  }
  seen_ = std::move(now);
}

void ModelManager::ServeAsItIs(const ModelSpec& watched) {
  const auto order = [this](const std::string& name,
                            std::function<void(Done)> run) {
    const Done tell = [name](const absl::StatusOr<ModelHandle>& model) {
      if (model.ok()) return;
      Log(spdlog::level::err, "a watched model cannot be served",
          {{"model", name}, {"error", std::string(model.status().message())}});
    };
    MutexLock lock(&orders_->mutex);
    orders_->waiting.push_back({[run = std::move(run), tell] { run(tell); }});
  };
  const std::vector<std::string> names = ServedFrom(watched.folder);
  for (const std::string& name : names) {
    order(name, [this, name](Done done) { ReloadNow(name, done); });
  }
  if (names.empty()) {
    order(watched.name, [this, folder = watched.name](Done done) {
      LoadNow({.folder = folder}, done);
    });
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
