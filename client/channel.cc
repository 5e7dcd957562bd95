#include "client/channel.h"

#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace trivium {

std::shared_ptr<grpc::Channel> MakeChannel(const Client::Options& options,
                                           bool own_connection) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.max_response_bytes);
  // A proxy of the environment is for the web, not for a server named here.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (!options.tls_server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls_server_name);
  }
  if (own_connection) {
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  }
  return grpc::CreateCustomChannel(options.address,
                                   options.credentials != nullptr
                                       ? options.credentials
                                       : grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace trivium
