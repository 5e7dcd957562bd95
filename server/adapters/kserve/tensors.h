#ifndef TRIVIUM_SERVER_ADAPTERS_KSERVE_TENSORS_H_
#define TRIVIUM_SERVER_ADAPTERS_KSERVE_TENSORS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kserve/open_inference.pb.h"

namespace trivium {

// An output, as ModelMetadata describes it.
struct TensorInfo {
  const char* name;
  const char* datatype;
  std::vector<int64_t> shape;  // -1: of any size
};

// Moves the elements of the one input, "text", out of the request: at least one
// and at most `max_texts`, all UTF-8. INVALID_ARGUMENT says what is wrong with
// the tensor.
absl::StatusOr<std::vector<std::string>> TakeTexts(
    inference::ModelInferRequest* request, int max_texts);

// INVALID_ARGUMENT if the request asks for other outputs than these, or sets
// parameters of an output.
absl::Status CheckOutputs(const inference::ModelInferRequest& request,
                          std::span<const TensorInfo> outputs);

// Elements of type BYTES in the raw form: each follows its size, which has four
// bytes.
std::string JoinElements(std::span<const std::string> elements);
// Returns the elements of a raw form that is whole.
std::vector<std::string> SplitElements(std::string_view raw);
// Returns the raw form of an output's contents.
std::string RawOf(
    const inference::ModelInferResponse::InferOutputTensor& output);

// Adds the outputs that the request asks for to a response, in the form of the
// request's input: raw, or as contents.
class OutputTensors {
 public:
  OutputTensors(const inference::ModelInferRequest& request,
                inference::ModelInferResponse* response)
      : request_(request), response_(response) {}

  // `values` are row-major and as many as the shape says.
  void Add(const char* name, const std::vector<int64_t>& shape,
           std::span<const float> values);
  void Add(const char* name, const std::vector<int64_t>& shape,
           std::span<const std::string> values);

 private:
  // Returns null if the request does not ask for this output.
  inference::ModelInferResponse::InferOutputTensor* New(
      const char* name, const char* datatype,
      const std::vector<int64_t>& shape);

  const inference::ModelInferRequest& request_;
  inference::ModelInferResponse* const response_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_KSERVE_TENSORS_H_
