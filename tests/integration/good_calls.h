#ifndef TRIVIUM_TESTS_INTEGRATION_GOOD_CALLS_H_
#define TRIVIUM_TESTS_INTEGRATION_GOOD_CALLS_H_

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

namespace trivium {

inline constexpr char kTranslateStream[] =
    "/trivium.v1.Inference/TranslateStream";

// A method and messages that it accepts.
struct GoodCall {
  std::string method;
  std::vector<std::shared_ptr<google::protobuf::Message>> messages;

  std::vector<std::string> Bytes() const {
    std::vector<std::string> bytes;
    for (const auto& message : messages) {
      bytes.push_back(message->SerializeAsString());
    }
    return bytes;
  }
};

// Returns a good call of every method of the API, to the embedded model as
// "en-de" and to the models of HeadModels.
std::vector<GoodCall> GoodCalls();

// Returns flags that serve models with heads. The models are goldens, which
// have no vocabulary, so they get one of letters. Makes their folders in
// `folder`.
std::vector<std::string> HeadModels(const std::string& folder);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_INTEGRATION_GOOD_CALLS_H_
