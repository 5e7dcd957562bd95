#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_HEALTH_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_HEALTH_H_

#include <set>
#include <string>

#include "base/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/calls/environment.h"

namespace trivium {

// grpc.health.v1 for the server as a whole ("") and for each of its services.
// gRPC's own implementation cannot demand a token (Environment::open_health).
// Thread-safe.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;
  using Status = Response::ServingStatus;

  explicit HealthService(const Environment& environment)
      : environment_(environment) {}

  // Notifies watchers. Not serving at first.
  void SetServing(bool serving);

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const Request* request,
                                  Response* response) override;
  grpc::ServerWriteReactor<Response>* Watch(
      grpc::CallbackServerContext* context, const Request* request) override;

 private:
  class Watcher;

  // Returns why a call is refused, or OK.
  absl::Status Admit(const grpc::CallbackServerContext& context) const;
  // Returns SERVICE_UNKNOWN if there is no service of that name.
  Status StatusOf(const std::string& service) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Environment& environment_;
  Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<Watcher*> watchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_HEALTH_H_
