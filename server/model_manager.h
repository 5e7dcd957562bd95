#ifndef TRIVIUM_SERVER_MODEL_MANAGER_H_
#define TRIVIUM_SERVER_MODEL_MANAGER_H_

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "server/batching/batcher.h"
#include "server/batching/workers.h"
#include "server/calls/model_control.h"
#include "server/calls/model_directory.h"
#include "server/model_loading.h"
#include "server/model_pull.h"
#include "server/model_spec.h"
#include "server/observability/metrics.h"
#include "server/options.h"

namespace trivium {

// Number of threads that are reading a model for a manager now. They have no
// end if the disk has none; a process that ends meanwhile must not run its
// destructors.
int ModelsBeingRead();

// Adds and removes served models while the server serves the others: at the
// start, when clients order it, and with a watch, as folders appear, change and
// vanish below --model-root. One thread carries out the orders in turn. Each
// model is read on a thread of its own, which nothing waits for:
//
//   Load ── order waits ── checks, begins to read ...
//                          ... has read: checks, serves the model, done
//
// The next order begins when the model is read, or has been read for
// `patience`: so one that never comes holds up nobody for long.
//
// Calls find a lease of a model in the directory. If the lease is replaced or
// removed, calls that hold it continue as before. When the last of them is
// done, the batcher and the metrics remove the model.
class ModelManager : public ModelControl {
 public:
  // The function that reads models, and the bounds of its time.
  struct Reading {
    ModelReader read = LoadModel;
    ModelPuller pull = PullOrdered;
    // Time after which other orders go on beside it.
    absl::Duration patience = absl::Seconds(10);
    // Time after which the order fails, and what was read is dropped.
    absl::Duration limit = absl::Minutes(10);
    // The same for a model that is fetched from the hub first.
    absl::Duration pull_limit = absl::Hours(4);
  };

  // `metrics` and `batcher` outlive the manager.
  ModelManager(const Options& options, const Workers& workers, Metrics* metrics,
               Batcher* batcher, Reading reading);
  ModelManager(const Options& options, const Workers& workers, Metrics* metrics,
               Batcher* batcher)
      : ModelManager(options, workers, metrics, batcher, Reading()) {}
  // Calls Stop and waits for the step under way, but not for models that are
  // being read: they are dropped when they come.
  ~ModelManager() override;

  // Serves a model from now on, and returns its lease. Call before Start; runs
  // on the caller's thread.
  absl::StatusOr<ModelHandle> Serve(const ModelSpec& spec,
                                    std::unique_ptr<Model> model);

  // Starts to accept orders, and to watch the folder if there is an interval.
  // The directory holds the leases that Serve returned, and outlives the
  // manager. RESOURCE_EXHAUSTED: the system cannot start a thread.
  absl::Status Start(ModelDirectory* directory);
  // Starts no more orders; those that wait or read are answered UNAVAILABLE.
  // Returns at once.
  void Stop();

  // Bounds on the waiting orders, of all clients and of each, and on the served
  // models. Orders beyond these are answered RESOURCE_EXHAUSTED.
  static constexpr int kMostOrders = 64;
  static constexpr int kMostOrdersOfClient = 16;
  static constexpr size_t kMostModels = 128;
  // Bounds on the models that are read at once, given up ones included, and on
  // those that are fetched from the hub first. Each has its own, so that slow
  // networks hold up no folder of this machine. A given up fetch ends with the
  // next bytes, or once the network is silent (HubSettings::idle_timeout).
  static constexpr int kMostRead = 4;
  static constexpr int kMostPulled = 4;

  // True if clients may order models: those below --model-root, and of the hub
  // those that --allow-pull allows.
  bool takes_orders() const {
    return !options_.model_root.empty() || !options_.pull_owners.empty();
  }
  void Load(Giver giver, LoadOrder order, Done done) override;
  void Reload(Giver giver, std::string name, Done done) override;
  void Unload(Giver giver, std::string name, Done done) override;

 private:
  using MaybeModel = absl::StatusOr<std::unique_ptr<Model>>;
  // The second half of an order, with the model that was read.
  using Finish =
      std::function<absl::StatusOr<ModelHandle>(std::unique_ptr<Model> model)>;

  // An element is made ahead and spliced, since what adds one must not throw.
  using Steps = std::list<std::function<void()>>;

  // The waiting orders. Shared with the leases and with the threads that read,
  // which outlive the manager.
  struct Orders {
    struct Order {
      std::function<void()> run;
      Done done = [](const absl::StatusOr<ModelHandle>&) {
      };                                    // if it is refused
      std::optional<ClientId> client = {};  // unset: the server's own order
      absl::Time deadline = absl::InfiniteFuture();
    };
    Mutex mutex;
    CondVar changed;
    // The manager's thread does these next, whatever is being read. Each
    // follows a model that was read, or a lease that ended.
    Steps steps ABSL_GUARDED_BY(mutex);
    std::deque<Order> waiting ABSL_GUARDED_BY(mutex);
    // The orders whose models are being read.
    struct Read {
      std::string name;
      absl::Time began;
      absl::Duration limit;
      Finish finish;
      Done done;
      std::shared_ptr<std::atomic<bool>> given_up = {};
    };
    std::map<int64_t, Read> reads ABSL_GUARDED_BY(mutex);
    int64_t last_read ABSL_GUARDED_BY(mutex) = 0;
    int reading ABSL_GUARDED_BY(mutex) = 0;  // threads
    int pulling ABSL_GUARDED_BY(mutex) = 0;
    // Numbers of waiting orders of all clients and of each.
    int of_clients ABSL_GUARDED_BY(mutex) = 0;
    std::map<ClientId, int> of_client ABSL_GUARDED_BY(mutex);
    bool stopping ABSL_GUARDED_BY(mutex) = false;
  };

  // Adds an order, which calls `done` itself.
  void Post(Giver giver, std::function<void()> run, Done done);
  void Loop();
  // Waits for something to do; empty: the manager stops.
  std::function<void()> NextStep();
  // Takes an order whose time is over. Returns what tells it; null: none is
  // late. If it throws for lack of memory, it has taken none.
  std::function<void()> TakeLate(absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(orders_->mutex);
  // The time until which orders wait for what is being read.
  absl::Time Patience() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(orders_->mutex);
  void Uncount(const Orders::Order& order)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(orders_->mutex);

  // Called on the manager's thread, or at the start.
  void LoadNow(const LoadOrder& order, Done done);
  void ReloadNow(const std::string& name, Done done);
  absl::StatusOr<ModelHandle> UnloadNow(const std::string& name);
  absl::StatusOr<ModelSpec> SpecOf(const LoadOrder& order) const;
  // ALREADY_EXISTS, or RESOURCE_EXHAUSTED with too many models.
  absl::Status CheckNew(const std::string& name) const;
  // FAILED_PRECONDITION if an order is reading a model of this name.
  absl::Status CheckNotRead(const std::string& name) const;
  // Begins to read a model, unless even its least memory does not fit.
  void BeginRead(const ModelSpec& spec, Finish finish, Done done);
  // Reads `*model`, on a thread of its own, and adds `step`, which takes it.
  // Uses nothing of the manager, which may be gone when the model comes.
  static void ReadOrder(bool pulls, const ModelSpec& spec,
                        const Options& options, const Reading& reading,
                        const std::atomic<bool>& given_up,
                        std::shared_ptr<MaybeModel> model, Steps step,
                        Orders* orders);
  void FinishRead(int64_t id, MaybeModel model);
  ModelHandle Lease(ModelHandle served);
  void Retire(const ServedModel& served);
  // Looks at the watched folders: orders new and changed models, and unloads
  // removed ones.
  void Look();
  // Reloads the models served from the folder, or loads it if there are none.
  void ServeAsItIs(const ModelSpec& watched);
  std::vector<std::string> ServedFrom(const std::string& folder) const;

  const Options options_;
  const Workers workers_;
  Metrics* const metrics_;
  Batcher* const batcher_;
  const Reading reading_;
  ModelDirectory* directory_ = nullptr;
  const std::shared_ptr<Orders> orders_ = std::make_shared<Orders>();
  // The specs of the served models. Used only by the manager's thread.
  std::map<std::string, ModelSpec> specs_;
  // The watched folders as last seen.
  struct Seen {
    std::string fingerprint;
    bool settled = false;  // it was unchanged at the last two looks
  };
  std::map<std::string, Seen> seen_;
  absl::Time next_look_ = absl::InfinitePast();
  Thread thread_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_MODEL_MANAGER_H_
