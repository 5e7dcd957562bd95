#ifndef TRIVIUM_SERVER_ADAPTERS_KSERVE_INFER_KINDS_H_
#define TRIVIUM_SERVER_ADAPTERS_KSERVE_INFER_KINDS_H_

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/adapters/kserve/adapter.h"
#include "server/adapters/kserve/tensors.h"
#include "trivium/v1/models.pb.h"

namespace trivium {

// A call of ours that ModelInfer may be.
struct InferKind {
  std::string_view call;  // "Encode"
  // Makes the call for these texts, without options.
  absl::StatusOr<InnerCall> (*ask)(const std::string& model,
                                   std::vector<std::string> texts);
  // Adds a response to `outputs`; null for a call that streams.
  void (*tell)(const google::protobuf::Message& response,
               OutputTensors* outputs);
  std::vector<TensorInfo> outputs;
};

// Returns the call that ModelInfer is for a model.
const InferKind& KindOf(const v1::Model& model);

// Collects the text that Generate makes; INVALID_ARGUMENT if it is too long.
class GeneratedAnswer {
 public:
  explicit GeneratedAnswer(int64_t max_bytes) : max_bytes_(max_bytes) {}
  void Hear(const google::protobuf::Message& response);
  absl::Status Tell(OutputTensors* outputs) const;

 private:
  const int64_t max_bytes_;
  bool too_long_ = false;
  std::string text_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_KSERVE_INFER_KINDS_H_
