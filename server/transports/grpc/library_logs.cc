#include "server/transports/grpc/library_logs.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <string>

#include "server/observability/log.h"

namespace trivium {
namespace {

void LogFromGrpc(gpr_log_func_args* args) {
  if (args->severity == GPR_LOG_SEVERITY_ERROR) {
    static LogLimit limit;
    limit.Log(spdlog::level::warn, "grpc", {{"detail", args->message}});
  } else {
    Log(spdlog::level::debug, "grpc", {{"detail", args->message}});
  }
}

void LogFromProtobuf(google::protobuf::LogLevel level, const char* filename,
                     int line, const std::string& message) {
  Log(spdlog::level::debug, "protobuf", {{"detail", message}});
}

}  // namespace

void CaptureLibraryLogs() {
  gpr_set_log_function(&LogFromGrpc);
  google::protobuf::SetLogHandler(&LogFromProtobuf);
}

}  // namespace trivium
