#ifndef TRIVIUM_SERVER_ADAPTERS_CONNECT_H_
#define TRIVIUM_SERVER_ADAPTERS_CONNECT_H_

#include "server/adapters/codec.h"

namespace trivium {

// The API's own calls by Connect's protocol
// (https://connectrpc.com/docs/protocol): a POST to /SERVICE/CALL with the
// call's message as JSON (application/json) or as bytes (application/proto). An
// error is a JSON object with code, message and details.
NewCodec NewConnectCodec;

// The same for a call that is answered with a stream: the request in an
// envelope, each response in an envelope, and the end in the last envelope
// (application/connect+json, application/connect+proto).
NewCodec NewConnectStreamCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_CONNECT_H_
