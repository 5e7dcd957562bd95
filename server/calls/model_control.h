#ifndef TRIVIUM_SERVER_CALLS_MODEL_CONTROL_H_
#define TRIVIUM_SERVER_CALLS_MODEL_CONTROL_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/model.h"
#include "server/batching/request.h"
#include "server/batching/served_model.h"

namespace trivium {

// Changes which models are served while the server runs. Orders are carried out
// one after the other, but not behind one that reads its model for long. `done`
// gets the result on the control's thread. Each order changes all that it has
// to, or nothing.
class ModelControl {
 public:
  struct LoadOrder {
    std::string folder;     // relative to the folder of all models
    std::string name = {};  // empty: the folder's own
    // Unset: the server's default.
    std::optional<Precision> precision = {};
    std::optional<Precision> kv_precision = {};
    std::optional<bool> shortlist = {};
    std::optional<std::string_view> translate_with = {};  // static
  };
  // Hears of the model that is served from now on, or no longer.
  // - INVALID_ARGUMENT: the folder cannot be served, or is not below the folder
  //   of all models.
  // - NOT_FOUND, ALREADY_EXISTS.
  // - FAILED_PRECONDITION: another order is reading the model.
  // - DEADLINE_EXCEEDED: the deadline passed before the order began, or reading
  //   the model took too long.
  // - RESOURCE_EXHAUSTED: too many orders wait, of all clients or of this one;
  //   too many models are served or being read; or too little memory is left
  //   for the model.
  // - UNAVAILABLE: the server stops.
  using Done = std::function<void(const absl::StatusOr<ModelHandle>&)>;

  // The client that gives an order, and the time until which it may begin.
  struct Giver {
    ClientId client;
    absl::Time deadline = absl::InfiniteFuture();
  };

  virtual ~ModelControl() = default;

  virtual void Load(Giver giver, LoadOrder order, Done done) = 0;
  virtual void Reload(Giver giver, std::string name, Done done) = 0;
  virtual void Unload(Giver giver, std::string name, Done done) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_MODEL_CONTROL_H_
