#ifndef TRIVIUM_SERVER_ADAPTERS_KSERVE_TENSORS_H_
#define TRIVIUM_SERVER_ADAPTERS_KSERVE_TENSORS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kserve/open_inference.pb.h"

namespace trivium {

// An output as ModelMetadata tells it.
struct TensorInfo {
  const char* name;
  const char* datatype;
  std::vector<int64_t> shape;  // -1: of any size
};

// The elements of the one input, "text", which are moved out of the request:
// at least one and at most `max_texts`, all UTF-8. INVALID_ARGUMENT names what
// is wrong with the tensor.
absl::StatusOr<std::vector<std::string>> TakeTexts(
    inference::ModelInferRequest* request, int max_texts);

// INVALID_ARGUMENT where the request asks for outputs that are none of these,
// or for more than that they come.
absl::Status CheckOutputs(const inference::ModelInferRequest& request,
                          std::span<const TensorInfo> outputs);

// Adds those outputs to a response that the request wants, as it has its own
// input: raw, or as contents.
class OutputTensors {
 public:
  OutputTensors(const inference::ModelInferRequest& request,
                inference::ModelInferResponse* response)
      : request_(request), response_(response) {}

  // Row-major; as many values as the shape says.
  void Add(const char* name, const std::vector<int64_t>& shape,
           std::span<const float> values);
  void Add(const char* name, const std::vector<int64_t>& shape,
           std::span<const std::string> values);

 private:
  // Null where nobody wants it.
  inference::ModelInferResponse::InferOutputTensor* New(
      const char* name, const char* datatype,
      const std::vector<int64_t>& shape);

  const inference::ModelInferRequest& request_;
  inference::ModelInferResponse* const response_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_KSERVE_TENSORS_H_
