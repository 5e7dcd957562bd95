#ifndef TRIVIUM_CLIENT_PRIORITY_H_
#define TRIVIUM_CLIENT_PRIORITY_H_

#include <string>

#include "grpcpp/client_context.h"

namespace trivium {

// Sets the priority of a call (Client::Options::priority).
inline void SetPriority(const std::string& priority,
                        grpc::ClientContext* context) {
  if (!priority.empty()) context->AddMetadata("trivium-priority", priority);
}

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_PRIORITY_H_
