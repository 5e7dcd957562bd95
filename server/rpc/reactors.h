#ifndef TRIVIUM_SERVER_RPC_REACTORS_H_
#define TRIVIUM_SERVER_RPC_REACTORS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/handlers/handlers.h"

namespace trivium {

// gRPC's calls as transports: each makes its handler, starts it, and deletes
// itself with it when gRPC is done with the call.

grpc::ServerUnaryReactor* StartUnary(NewHandler* new_handler,
                                     const Environment& environment,
                                     grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response);

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartGenerate(
    const Environment& environment, grpc::CallbackServerContext* context,
    const grpc::ByteBuffer* request);

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
StartTranslateStream(const Environment& environment,
                     grpc::CallbackServerContext* context);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_REACTORS_H_
