#ifndef TRIVIUM_SERVER_MODEL_LOADING_H_
#define TRIVIUM_SERVER_MODEL_LOADING_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/model.h"
#include "server/model_spec.h"
#include "server/options.h"

namespace trivium {

// The settings of the spec, or of the flags where the spec has none.
LoadOptions LoadOptionsOf(const ModelSpec& spec, const Options& options);

// Loads and checks a model, and logs its properties. The error names the model,
// the file and what to do.
absl::StatusOr<std::unique_ptr<Model>> LoadModel(const ModelSpec& spec,
                                                 const Options& options);

// LoadModel, or what tests have in its place.
using ModelReader = std::function<absl::StatusOr<std::unique_ptr<Model>>(
    const ModelSpec& spec, const Options& options)>;

// PullOrdered, or what tests have in its place.
using ModelPuller = std::function<absl::StatusOr<std::string>(
    const ModelSpec& spec, const Options& options, const AliveCheck& wanted)>;

// Loads the model of an order with `read`, after `pull` has fetched it if it is
// one of the hub. Gives up with the error of `wanted`. RESOURCE_EXHAUSTED if
// even its least memory does not fit.
absl::StatusOr<std::unique_ptr<Model>> LoadOrderedModel(
    ModelSpec spec, const Options& options, const ModelPuller& pull,
    const ModelReader& read, const AliveCheck& wanted);

// RESOURCE_EXHAUSTED unless `bytes` of memory are left for the model. `what`
// says what takes them: "its weights take at least".
absl::Status CheckMemoryLeft(const ModelSpec& spec, const Options& options,
                             const char* what, int64_t bytes);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_MODEL_LOADING_H_
