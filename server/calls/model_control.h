#ifndef TRIVIUM_SERVER_CALLS_MODEL_CONTROL_H_
#define TRIVIUM_SERVER_CALLS_MODEL_CONTROL_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/model.h"
#include "server/batching/request.h"
#include "server/batching/served_model.h"

namespace trivium {

// Changes which models are served while they are. Orders are carried out one
// after the other, on a thread that is not the caller's, which then also hears
// what came of them; each changes all that it has to, or nothing.
class ModelControl {
 public:
  struct LoadOrder {
    std::string folder;     // below the folder of all models, relative to it
    std::string name = {};  // empty: the folder's own
    // Unset: the server's.
    std::optional<Precision> precision = {};
    std::optional<Precision> kv_precision = {};
    std::optional<bool> shortlist = {};
  };
  // The model that is served from now on, or is no longer. INVALID_ARGUMENT for
  // a folder that cannot be served, or is not below the folder of all models;
  // NOT_FOUND; ALREADY_EXISTS; RESOURCE_EXHAUSTED where too many orders wait,
  // of all clients or of this one, or models are served, or the memory that is
  // left is less than the model takes; UNAVAILABLE when the server stops.
  using Done = std::function<void(const absl::StatusOr<ModelHandle>&)>;

  virtual ~ModelControl() = default;

  virtual void Load(ClientId client, LoadOrder order, Done done) = 0;
  virtual void Reload(ClientId client, std::string name, Done done) = 0;
  virtual void Unload(ClientId client, std::string name, Done done) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_MODEL_CONTROL_H_
