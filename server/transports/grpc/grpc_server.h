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

  // Listens when it returns. The error names the address. `environment` and
  // `overload` outlive the server.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Create(
      const Options& options, const Environment& environment,
      OverloadManager* overload);

  ~GrpcServer();

  int port() const { return relay_->port(); }

  // Whether a new client would be heard (as of the last second or so).
  bool answering() const { return probe_->answering(); }

  // What health says from now on.
  void SetServing(bool serving);

  // Takes no new connections, and tells clients to begin their next calls
  // elsewhere; what is under way goes on.
  void GoAway();

  // Cancels the calls under way and waits until gRPC has done with them; their
  // handlers may still be on their way out.
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
