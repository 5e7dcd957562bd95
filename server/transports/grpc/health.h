#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_HEALTH_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_HEALTH_H_

#include <set>
#include <string>

#include "base/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/calls/environment.h"

namespace trivium {

// grpc.health.v1, of the server as a whole ("") and of each of its services.
// The library's own asks nobody for a token (Environment::open_health).
// Thread-safe.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;
  using Status = Response::ServingStatus;

  explicit HealthService(const Environment& environment)
      : environment_(environment) {}

  // NOT_SERVING at first. Those who watch are told.
  void SetServing(bool serving);

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const Request* request,
                                  Response* response) override;
  grpc::ServerWriteReactor<Response>* Watch(
      grpc::CallbackServerContext* context, const Request* request) override;

 private:
  class Watcher;

  // Why a call is refused.
  absl::Status Admit(const grpc::CallbackServerContext& context) const;
  // SERVICE_UNKNOWN where there is none of that name.
  Status StatusOf(const std::string& service) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Environment& environment_;
  Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<Watcher*> watchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_HEALTH_H_
