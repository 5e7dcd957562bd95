#ifndef TRIVIUM_SERVER_ADAPTERS_KSERVE_REST_H_
#define TRIVIUM_SERVER_ADAPTERS_KSERVE_REST_H_

#include <string_view>

#include "server/adapters/codec.h"

namespace trivium {

// The same calls of KServe's protocol over HTTP, as its REST form and Triton
// have them. Errors are {"error": TEXT}. The path has the model's name and
// perhaps its version:
//
//   /v2/models/NAME/infer
//   /v2/models/NAME/versions/1/infer
//
// Tensors are JSON, or the bytes that follow the JSON (Triton's extension
// "binary_tensor_data"): Inference-Header-Content-Length is the size of the
// JSON, and the parameter binary_data_size that of a tensor.
inline constexpr std::string_view kKserveModels = "/v2/models/";
// The statistics of all models.
inline constexpr std::string_view kKserveAllStatistics = "/v2/models/stats";
inline constexpr std::string_view kKserveEndings[] = {"/infer", "/ready",
                                                      "/stats"};
NewCodec NewKserveInferCodec;
// A call about the server, or about the model in the path; its response is told
// field by field. A server or a model that is not ready gets 503.
NewCodec NewKserveCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_KSERVE_REST_H_
