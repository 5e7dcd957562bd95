#ifndef TRIVIUM_TESTS_INTEGRATION_GOOD_CALLS_H_
#define TRIVIUM_TESTS_INTEGRATION_GOOD_CALLS_H_

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

namespace trivium {

inline constexpr char kTranslateStream[] =
    "/trivium.v1.Inference/TranslateStream";

// A call and the messages of a good one.
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

// One for every method of the API, to the embedded model as "en-de" and those
// of HeadModels.
std::vector<GoodCall> GoodCalls();

// Flags that serve models with heads. They come from the goldens, which have
// no texts, so they get a vocabulary of letters: their folders are made in
// `folder`.
std::vector<std::string> HeadModels(const std::string& folder);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_INTEGRATION_GOOD_CALLS_H_
