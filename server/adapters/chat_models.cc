#include "server/adapters/chat_models.h"

#include <fmt/format.h>

#include "base/status.h"
#include "server/calls/convert/model_calls.h"
#include "server/errors/status.h"

namespace trivium {

absl::StatusOr<ModelHandle> FindChatModel(const AllowedModels& models,
                                          v1::GenerateRequest* request) {
  if (!models.Names(request->model())) {
    for (const ModelHandle& model : models.List()) {
      if (!TakesChats(*model->model)) continue;
      request->set_model(model->name);
      break;
    }
  }
  TRIVIUM_ASSIGN_OR_RETURN(ModelHandle model,
                           models.FindFor(Rpc::kGenerate, request->model()));
  const Design design = model->model->info().design;
  if (design == Design::kDecoder) return model;
  return InvalidField(
      "messages",
      design == Design::kEncoderDecoder
          ? fmt::format("are for models that chat, and '{}' reads one text; "
                        "send it as prompt to /v1/completions, or to "
                        "/translate",
                        model->name)
          : fmt::format("are for models that chat, and '{}' has no decoder; "
                        "/v1/models lists the others",
                        model->name));
}

}  // namespace trivium
