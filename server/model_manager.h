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

// What its own settings say, and where they say nothing, the flags.
LoadOptions LoadOptionsOf(const ModelSpec& spec, const Options& options);

// Reads a model's folder, checks it and logs what it is. The error names the
// model, the file and what to do.
absl::StatusOr<std::unique_ptr<Model>> LoadModel(const ModelSpec& spec,
                                                 const Options& options);

// Adds models to those that a server serves, and takes them away, while it
// serves the others: at the start, as clients order, and, with a watch, as
// folders come, change and go below --model-root. A thread of its own carries
// out one order after the other.
//
// Calls find a lease of a model in the directory. Where that is exchanged for
// another one, or taken away, calls that have it go on as before; once the last
// of them is done, batcher and metrics let the model go.
class ModelManager : public ModelControl {
 public:
  // All outlive it.
  ModelManager(const Options& options, const Workers& workers, Metrics* metrics,
               Batcher* batcher);
  // Stops, and waits for the order under way.
  ~ModelManager() override;

  // Before Start, on the caller's thread: a lease of a model, which is served
  // from now on.
  absl::StatusOr<ModelHandle> Serve(const ModelSpec& spec,
                                    std::unique_ptr<Model> model);

  // Begins to take orders, and to watch the folder if there is an interval.
  // The directory has the leases that Serve gave, and outlives the manager.
  // RESOURCE_EXHAUSTED: no thread.
  absl::Status Start(ModelDirectory* directory);
  // Begins no order any more: what waits is UNAVAILABLE. Returns at once.
  void Stop();

  // Orders that may wait, of all clients and of each, and models that may be
  // served when another one is ordered; one more is RESOURCE_EXHAUSTED.
  static constexpr int kMostOrders = 64;
  static constexpr int kMostOrdersOfClient = 16;
  static constexpr size_t kMostModels = 128;

  // Whether clients may order anything, which is below --model-root.
  bool takes_orders() const { return !options_.model_root.empty(); }
  void Load(ClientId client, LoadOrder order, Done done) override;
  void Reload(ClientId client, std::string name, Done done) override;
  void Unload(ClientId client, std::string name, Done done) override;

 private:
  // Orders that wait. Leases outlive the manager, so they share it.
  struct Orders {
    struct Order {
      std::function<void()> run;
      std::function<void()> refuse;         // where the server stops first
      std::optional<ClientId> client = {};  // none: our own
    };
    Mutex mutex;
    CondVar changed;
    std::deque<Order> waiting ABSL_GUARDED_BY(mutex);
    // Of those that wait, how many are of clients, and of each.
    int of_clients ABSL_GUARDED_BY(mutex) = 0;
    std::map<ClientId, int> of_client ABSL_GUARDED_BY(mutex);
    bool stopping ABSL_GUARDED_BY(mutex) = false;
  };

  void Post(ClientId client, std::function<absl::StatusOr<ModelHandle>()> order,
            Done done);
  void Loop();

  // Of the manager's thread, or of the start.
  absl::StatusOr<ModelHandle> LoadNow(const LoadOrder& order);
  absl::StatusOr<ModelHandle> ReloadNow(const std::string& name);
  absl::StatusOr<ModelHandle> UnloadNow(const std::string& name);
  // RESOURCE_EXHAUSTED where so much more does not fit into memory.
  absl::Status CheckRoom(const ModelSpec& spec, const char* what,
                         int64_t bytes) const;
  // Reads the model, unless what it takes at least does not fit.
  absl::StatusOr<std::unique_ptr<Model>> LoadIntoRoom(
      const ModelSpec& spec) const;
  ModelHandle Lease(ModelHandle served);
  void Retire(const ServedModel& served);
  // At the watched folders: what came and changed is served, what went is not.
  void Look();
  // Reloads what is served from the folder, or else loads it.
  void ServeAsItIs(const ModelSpec& watched);
  std::vector<std::string> ServedFrom(const std::string& folder) const;

  const Options options_;
  const Workers workers_;
  Metrics* const metrics_;
  Batcher* const batcher_;
  ModelDirectory* directory_ = nullptr;
  const std::shared_ptr<Orders> orders_ = std::make_shared<Orders>();
  // Of the manager's thread: how each model that is served was asked for.
  std::map<std::string, ModelSpec> specs_;
  // What was last seen of the folders that are watched.
  struct Seen {
    std::string fingerprint;
    bool settled = false;  // it was the same at the last two looks
  };
  std::map<std::string, Seen> seen_;
  Thread thread_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_MODEL_MANAGER_H_
