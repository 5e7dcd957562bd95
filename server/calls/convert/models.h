#ifndef TRIVIUM_SERVER_CALLS_CONVERT_MODELS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_MODELS_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/calls/convert/convert.h"
#include "server/calls/model_control.h"

namespace trivium {

// The calls about models.

// Returns the model that is asked for; empty: the default one.
const std::string& ReadName(const v1::GetModelRequest& in);

// INVALID_ARGUMENT if a name is missing or too long, or a precision unknown.
absl::StatusOr<ModelControl::LoadOrder> ReadOrder(
    const v1::LoadModelRequest& in);
absl::StatusOr<std::string> ReadOrder(const v1::ReloadModelRequest& in);
absl::StatusOr<std::string> ReadOrder(const v1::UnloadModelRequest& in);

void AddModel(const ServedModel& model, const RequestLimits& limits,
              v1::ListModelsResponse* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_MODELS_H_
