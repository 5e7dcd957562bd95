#include "server/transports/grpc/grpc_server.h"

#include <fmt/format.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <climits>
#include <string>

#include "absl/memory/memory.h"
#include "absl/time/clock.h"
#include "base/acceptor.h"
#include "server/transports/grpc/relayed_refusal.h"
#include "server/transports/grpc/service.h"

namespace trivium {
namespace {

// gRPC refuses a message that is larger than this many times the limit, as
// RESOURCE_EXHAUSTED, before we see it. A smaller one that exceeds the limit
// gets our INVALID_ARGUMENT, which names the limit.
constexpr int64_t kReceiveMargin = 4;
// Time for gRPC to send its last frames when all calls have ended.
constexpr absl::Duration kShutdownGrace = absl::Milliseconds(500);

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Create(
    const Options& options, const Environment& environment,
    OverloadManager* overload) {
  auto server = absl::WrapUnique(new GrpcServer());
  grpc::ServerBuilder builder;
  using ExternalConnectionType =
      grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  server->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
  server->environment_ =
      std::make_unique<RpcEnvironment>(environment, overload);
  server->services_ = NewServices(server->environment_.get());
  for (const auto& service : server->services_) {
    builder.RegisterService(service.get());
  }
  server->health_ = std::make_unique<HealthService>(environment);
  builder.RegisterService(server->health_.get());
  const int64_t receive = environment.limits.max_request_bytes * kReceiveMargin;
  builder.SetMaxReceiveMessageSize(
      static_cast<int>(std::min<int64_t>(receive, INT_MAX)));
  builder.SetMaxSendMessageSize(-1);  // handlers check
  // A compressed message may grow a thousandfold before anything checks its
  // size.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             options.max_streams);
  // Notices clients that vanished, and allows clients to ping over their idle
  // connections.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    return absl::InternalError("gRPC's server did not start");
  }
  server->incoming_ = std::make_unique<IncomingMessages>(
      overload, environment.metrics, receive, NoRoomRefusal(environment));
  server->open_calls_ =
      std::make_unique<OpenCalls>(overload->limit_bytes(), environment.metrics);
  auto relay = Relay::Create(
      options,
      [acceptor = server->acceptor_.get()](int socket) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
            connection;
        connection.fd = socket;
        acceptor->HandleNewConnection(&connection);
      },
      environment.metrics, &server->environment_->resets,
      &server->environment_->turns, server->incoming_.get(),
      [&environment, open_calls = server->open_calls_.get(),
       turns = &server->environment_->turns](
          HeaderFields* fields, const Relay::Origin& origin, bool may_refuse) {
        return JudgeRelayed(environment, open_calls, turns, origin, may_refuse,
                            fields);
      });
  if (!relay.ok()) {
    return absl::UnavailableError(fmt::format(
        "cannot listen on {}: {}; choose another address or port with "
        "--listen",
        ListenText(options.host, options.port),
        std::string(relay.status().message())));
  }
  server->relay_ = *std::move(relay);
  server->probe_ = std::make_unique<ListenerProbe>(
      kProbeHttp2, server->relay_->address(), options.tls);
  return server;
}

GrpcServer::GrpcServer() = default;
GrpcServer::~GrpcServer() = default;

void GrpcServer::SetServing(bool serving) { health_->SetServing(serving); }

void GrpcServer::GoAway() {
  probe_->Stop();
  relay_->GoAway();
}

void GrpcServer::Stop() {
  probe_->Stop();
  server_->Shutdown(absl::ToChronoTime(absl::Now() + kShutdownGrace));
  server_->Wait();
}

}  // namespace trivium
