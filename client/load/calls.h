#ifndef TRIVIUM_CLIENT_LOAD_CALLS_H_
#define TRIVIUM_CLIENT_LOAD_CALLS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/client.h"
#include "client/load/report.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// What is called, over and over.
struct CallOptions {
  // kModel is GetModel: a call without work, to subtract from others.
  enum class Kind {
    kTranslate,
    kTranslateStream,
    kEncode,
    kEncodeStream,
    kGenerate,
    kScore,
    kClassify,
    kRerank,
    kTag,
    kAnswer,
    kFillMask,
    kTokenize,
    kDetokenize,
    kModel
  };

  Kind kind = Kind::kTranslate;
  std::string model;
  int inputs_per_call = 1;  // Generate takes one
  std::string query;        // of Rerank, and the question of Answer
  v1::DecodingOptions decoding;
  // Sent with every call.
  std::vector<std::pair<std::string, std::string>> metadata;
  // Taken in turn; not empty. Of Score they are lines (ToScored).
  std::vector<v1::Input> inputs;
};

// Starts calls that end by themselves.
class Caller {
 public:
  virtual ~Caller() = default;
  // Starts call `number`, which determines its inputs. `done` comes once, on
  // any thread.
  virtual void Start(int64_t number, std::function<void(CallOutcome)> done) = 0;
};

// Calls over gRPC's callback API: no thread a call. `connections` channels are
// used in turn.
std::unique_ptr<Caller> MakeGrpcCaller(CallOptions options,
                                       const Client::Options& client,
                                       int connections);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_CALLS_H_
