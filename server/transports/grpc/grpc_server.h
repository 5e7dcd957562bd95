#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_GRPC_SERVER_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_GRPC_SERVER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/environment.h"
#include "server/transports/grpc/health.h"
#include "server/transports/grpc/relay.h"
#include "server/transports/grpc/rpc_environment.h"
#include "server/transports/net/listener_probe.h"

namespace grpc {
class Server;
class Service;
namespace experimental {
class ExternalConnectionAcceptor;
}  // namespace experimental
}  // namespace grpc

namespace trivium {

// The API over gRPC on one port, with health and reflection, behind a Relay.
class GrpcServer {
 public:
  using Options = Relay::Options;

  // Serves when it returns. The error names the address. `environment` and
  // `overload` outlive the server.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Create(
      const Options& options, const Environment& environment,
      OverloadManager* overload);

  ~GrpcServer();

  int port() const { return relay_->port(); }

  // True if a new client was answered within the last second or so.
  bool answering() const { return probe_->answering(); }

  // Sets what the health service answers.
  void SetServing(bool serving);

  // Accepts no more connections and tells clients to start their next calls
  // elsewhere. Open calls go on.
  void GoAway();

  // Cancels the open calls and waits until gRPC is done with them. Their
  // handlers may still be ending.
  void Stop();

 private:
  GrpcServer();

  std::unique_ptr<RpcEnvironment> environment_;
  std::unique_ptr<IncomingMessages> incoming_;
  std::unique_ptr<OpenCalls> open_calls_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<HealthService> health_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Relay> relay_;
  std::unique_ptr<ListenerProbe> probe_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_GRPC_SERVER_H_
