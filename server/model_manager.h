#ifndef TRIVIUM_SERVER_MODEL_MANAGER_H_
#define TRIVIUM_SERVER_MODEL_MANAGER_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "server/batching/batcher.h"
#include "server/batching/workers.h"
#include "server/calls/model_control.h"
#include "server/calls/model_directory.h"
#include "server/model_spec.h"
#include "server/observability/metrics.h"
#include "server/options.h"

namespace trivium {

// The settings of the spec, or of the flags where the spec has none.
LoadOptions LoadOptionsOf(const ModelSpec& spec, const Options& options);

// Loads and checks a model, and logs its properties. The error names the model,
// the file and what to do.
absl::StatusOr<std::unique_ptr<Model>> LoadModel(const ModelSpec& spec,
                                                 const Options& options);

// Adds and removes served models while the server serves the others: at the
// start, when clients order it, and with a watch, as folders appear, change and
// vanish below --model-root. One thread carries out the orders in turn.
//
// Calls find a lease of a model in the directory. If the lease is replaced or
// removed, calls that hold it continue as before. When the last of them is
// done, the batcher and the metrics remove the model.
class ModelManager : public ModelControl {
 public:
  // `metrics` and `batcher` outlive the manager.
  ModelManager(const Options& options, const Workers& workers, Metrics* metrics,
               Batcher* batcher);
  // Calls Stop and waits for the order under way.
  ~ModelManager() override;

  // Serves a model from now on, and returns its lease. Call before Start; runs
  // on the caller's thread.
  absl::StatusOr<ModelHandle> Serve(const ModelSpec& spec,
                                    std::unique_ptr<Model> model);

  // Starts to accept orders, and to watch the folder if there is an interval.
  // The directory holds the leases that Serve returned, and outlives the
  // manager. RESOURCE_EXHAUSTED: the system cannot start a thread.
  absl::Status Start(ModelDirectory* directory);
  // Starts no more orders; waiting ones are answered UNAVAILABLE. Returns at
  // once.
  void Stop();

  // Bounds on the waiting orders, of all clients and of each, and on the served
  // models. Orders beyond these are answered RESOURCE_EXHAUSTED.
  static constexpr int kMostOrders = 64;
  static constexpr int kMostOrdersOfClient = 16;
  static constexpr size_t kMostModels = 128;

  // True if clients may order models, which are below --model-root.
  bool takes_orders() const { return !options_.model_root.empty(); }
  void Load(ClientId client, LoadOrder order, Done done) override;
  void Reload(ClientId client, std::string name, Done done) override;
  void Unload(ClientId client, std::string name, Done done) override;

 private:
  // The waiting orders. Shared with the leases, which outlive the manager.
  struct Orders {
    struct Order {
      std::function<void()> run;
      std::function<void()> refuse;         // called if the server stops first
      std::optional<ClientId> client = {};  // unset: the server's own order
    };
    Mutex mutex;
    CondVar changed;
    std::deque<Order> waiting ABSL_GUARDED_BY(mutex);
    // Numbers of waiting orders of all clients and of each.
    int of_clients ABSL_GUARDED_BY(mutex) = 0;
    std::map<ClientId, int> of_client ABSL_GUARDED_BY(mutex);
    bool stopping ABSL_GUARDED_BY(mutex) = false;
  };

  void Post(ClientId client, std::function<absl::StatusOr<ModelHandle>()> order,
            Done done);
  void Loop();

  // Called on the manager's thread, or at the start.
  absl::StatusOr<ModelHandle> LoadNow(const LoadOrder& order);
  absl::StatusOr<ModelHandle> ReloadNow(const std::string& name);
  absl::StatusOr<ModelHandle> UnloadNow(const std::string& name);
  // RESOURCE_EXHAUSTED: `bytes` more do not fit into memory. `what`: the use of
  // the bytes, for the error.
  absl::Status CheckRoom(const ModelSpec& spec, const char* what,
                         int64_t bytes) const;
  // Loads the model, unless even its least memory does not fit.
  absl::StatusOr<std::unique_ptr<Model>> LoadIntoRoom(
      const ModelSpec& spec) const;
  ModelHandle Lease(ModelHandle served);
  void Retire(const ServedModel& served);
  // Looks at the watched folders: serves new and changed models, and unloads
  // removed ones.
  void Look();
  // Reloads the models served from the folder, or loads it if there are none.
  void ServeAsItIs(const ModelSpec& watched);
  std::vector<std::string> ServedFrom(const std::string& folder) const;

  const Options options_;
  const Workers workers_;
  Metrics* const metrics_;
  Batcher* const batcher_;
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
  Thread thread_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_MODEL_MANAGER_H_
