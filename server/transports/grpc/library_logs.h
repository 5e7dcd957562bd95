#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_LIBRARY_LOGS_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_LIBRARY_LOGS_H_

namespace trivium {

// Leads the messages of gRPC and protobuf into the server's log: gRPC's errors
// as warnings, of which a client may cause as many as it likes, so at most ten
// in a minute; the rest at debug level.
void CaptureLibraryLogs();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_LIBRARY_LOGS_H_
