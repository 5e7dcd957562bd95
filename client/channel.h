#ifndef TRIVIUM_CLIENT_CHANNEL_H_
#define TRIVIUM_CLIENT_CHANNEL_H_

#include <memory>

#include "client/client.h"
#include "grpcpp/channel.h"

namespace trivium {

// Creates a channel like Client's, for callers of the generated stubs. Channels
// with equal options share a connection, unless `own_connection` is true.
std::shared_ptr<grpc::Channel> MakeChannel(const Client::Options& options,
                                           bool own_connection = false);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_CHANNEL_H_
