#ifndef TRIVIUM_SERVER_ADAPTERS_KSERVE_PARAMETERS_H_
#define TRIVIUM_SERVER_ADAPTERS_KSERVE_PARAMETERS_H_

#include <google/protobuf/map.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "kserve/open_inference.pb.h"

namespace trivium {

// Parameters of every request of Triton's clients, about its queues and its
// models that keep a state: no text of an answer depends on them here.
inline constexpr std::initializer_list<const char*> kTritonParameters = {
    "priority", "timeout", "sequence_id", "sequence_start", "sequence_end"};

inline bool IsTritonParameter(std::string_view name) {
  return std::find(kTritonParameters.begin(), kTritonParameters.end(), name) !=
         kTritonParameters.end();
}

// Sets options of a call's request by their names, wherever they are in it:
// "beam_size" is options.decoding.beam_size of Translate. Values are numbers,
// booleans, texts and names of enumerations ("POOLING_CLS"); a list of texts
// gets one text. Triton's parameters are ignored. INVALID_ARGUMENT for unknown
// names, for options whose results would have no place in the answer, and for
// values of another type.
absl::Status SetOptions(const google::protobuf::Map<
                            std::string, inference::InferParameter>& parameters,
                        google::protobuf::Message* request);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_KSERVE_PARAMETERS_H_
