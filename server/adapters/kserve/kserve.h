#ifndef TRIVIUM_SERVER_ADAPTERS_KSERVE_KSERVE_H_
#define TRIVIUM_SERVER_ADAPTERS_KSERVE_KSERVE_H_

#include <vector>

#include "server/calls/handlers.h"

namespace trivium {

// The calls of KServe's Open Inference Protocol, version 2 (proto/kserve). The
// request of each becomes a request of ours, which our call's handler answers.
// So limits, deadlines, refusals, cancellation, metrics and logs are the same,
// and errors name our fields.
//
// ModelInfer has one input, "text", of BYTES [n] or [n, 1]. It is the first of
// these calls that the model serves:
//
//   Classify    "label" BYTES [n, labels], "score" FP32 [n, labels]
//   Translate   "text" BYTES [n]
//   Generate    "text" BYTES [1], of one text
//   Encode      "embedding" FP32 [n, d]
//
// Its parameters are the call's options by their names (beam_size...).
struct KserveMethod {
  const char* name;  // "ModelInfer"
  NewHandler* start;
};
std::vector<KserveMethod> KserveMethods();

// The handlers of those that HTTP has, too (rest.h).
NewHandler NewKserveInfer;
NewHandler NewKserveServerLive;
NewHandler NewKserveServerReady;
NewHandler NewKserveServerMetadata;
NewHandler NewKserveModelReady;
NewHandler NewKserveModelMetadata;
NewHandler NewKserveModelStatistics;
NewHandler NewKserveRepositoryIndex;

// Parts of KserveMethods: those about the server and its models, and those
// about the models as a repository.
std::vector<KserveMethod> KserveServerMethods();
std::vector<KserveMethod> KserveRepositoryMethods();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_KSERVE_KSERVE_H_
