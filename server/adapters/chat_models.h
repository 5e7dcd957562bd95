#ifndef TRIVIUM_SERVER_ADAPTERS_CHAT_MODELS_H_
#define TRIVIUM_SERVER_ADAPTERS_CHAT_MODELS_H_

#include "absl/status/statusor.h"
#include "server/calls/allowed_models.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Finds the model of a chat whose messages are the member `messages` of another
// API's request. A chat that names no model goes to the first that takes chats,
// which is set in the request. INVALID_ARGUMENT if the model has no decoder
// alone, and so no chats.
absl::StatusOr<ModelHandle> FindChatModel(const AllowedModels& models,
                                          v1::GenerateRequest* request);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_CHAT_MODELS_H_
