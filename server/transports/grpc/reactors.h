#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_REACTORS_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_REACTORS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/calls/handlers.h"
#include "server/transports/grpc/rpc_environment.h"

namespace trivium {

// gRPC's calls as transports. Each makes and starts its handler, and deletes
// itself and the handler when gRPC is done with the call.

grpc::ServerUnaryReactor* StartUnary(NewHandler* new_handler,
                                     RpcEnvironment* environment,
                                     grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response);

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartGenerate(
    RpcEnvironment* environment, grpc::CallbackServerContext* context,
    const grpc::ByteBuffer* request);

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
StartTranslateStream(RpcEnvironment* environment,
                     grpc::CallbackServerContext* context);
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
StartTranslateDocument(RpcEnvironment* environment,
                       grpc::CallbackServerContext* context);
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartEncodeStream(
    RpcEnvironment* environment, grpc::CallbackServerContext* context);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_REACTORS_H_
