#ifndef TRIVIUM_SERVER_RPC_GRPC_SERVER_H_
#define TRIVIUM_SERVER_RPC_GRPC_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/handlers/environment.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace trivium {

// The API over gRPC on one port, with health and reflection.
class GrpcServer {
 public:
  // Listens on `address`, "host:port", where port 0 is any. The error names
  // the address. `environment` outlives the server.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Create(
      const std::string& address, const Environment& environment);

  ~GrpcServer();

  int port() const { return port_; }

  // What health says from now on.
  void SetServing(bool serving);

  // Cancels the calls under way and waits until gRPC has done with them; their
  // handlers may still be on their way out.
  void Stop();

 private:
  GrpcServer();

  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_GRPC_SERVER_H_
