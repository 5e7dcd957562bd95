#ifndef TRIVIUM_SERVER_RPC_HANDLERS_H_
#define TRIVIUM_SERVER_RPC_HANDLERS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/rpc/environment.h"

namespace trivium {

// One function a call; each starts a reactor that deletes itself when gRPC is
// done with it.

grpc::ServerUnaryReactor* HandleEncode(const Environment& environment,
                                       grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response);
grpc::ServerUnaryReactor* HandleTranslate(const Environment& environment,
                                          grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response);
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
HandleTranslateStream(const Environment& environment,
                      grpc::CallbackServerContext* context);
grpc::ServerWriteReactor<grpc::ByteBuffer>* HandleGenerate(
    const Environment& environment, grpc::CallbackServerContext* context,
    const grpc::ByteBuffer* request);
grpc::ServerUnaryReactor* HandleTokenize(const Environment& environment,
                                         grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response);
grpc::ServerUnaryReactor* HandleClassify(const Environment& environment,
                                         grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response);
grpc::ServerUnaryReactor* HandleRerank(const Environment& environment,
                                       grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response);
grpc::ServerUnaryReactor* HandleClassifyTokens(
    const Environment& environment, grpc::CallbackServerContext* context,
    const grpc::ByteBuffer* request, grpc::ByteBuffer* response);
grpc::ServerUnaryReactor* HandleFillMask(const Environment& environment,
                                         grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response);
grpc::ServerUnaryReactor* HandleAnswer(const Environment& environment,
                                       grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response);
grpc::ServerUnaryReactor* HandleListModels(const Environment& environment,
                                           grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response);
grpc::ServerUnaryReactor* HandleGetModel(const Environment& environment,
                                         grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_HANDLERS_H_
