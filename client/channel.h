#ifndef TRIVIUM_CLIENT_CHANNEL_H_
#define TRIVIUM_CLIENT_CHANNEL_H_

#include <memory>

#include "client/client.h"
#include "grpcpp/channel.h"

namespace trivium {

// A channel as Client uses it, for callers of the generated stubs. Channels of
// equal options share a connection unless `own_connection`.
std::shared_ptr<grpc::Channel> MakeChannel(const Client::Options& options,
                                           bool own_connection = false);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_CHANNEL_H_
