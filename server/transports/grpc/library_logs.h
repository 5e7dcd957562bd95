#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_LIBRARY_LOGS_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_LIBRARY_LOGS_H_

namespace trivium {

// Redirects the messages of gRPC and protobuf into the server's log. gRPC's
// errors become warnings, at most ten a minute, because clients can cause any
// number of them; the rest is logged at debug level.
void CaptureLibraryLogs();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_LIBRARY_LOGS_H_
