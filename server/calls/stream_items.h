#ifndef TRIVIUM_SERVER_CALLS_STREAM_ITEMS_H_
#define TRIVIUM_SERVER_CALLS_STREAM_ITEMS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/calls/call.h"
#include "server/calls/convert/convert.h"

namespace trivium {

// What a call says that reads a start and then items (TranslateStream,
// EncodeStream), apart from when: its messages read and its responses made.
// Reading and preparing are for one thread at a time; Take and Error are
// thread-safe once the start was prepared, for items that differ.
class StreamItems {
 public:
  using Message = google::protobuf::Message;

  virtual ~StreamItems() = default;

  // One that is ready for the batcher, for the first time, or again where the
  // results of its requests call for more.
  struct Work {
    // What a kind of items knows of one that is prepared.
    struct State {
      virtual ~State() = default;
    };
    std::string id;
    std::shared_ptr<State> state;
    std::vector<Request> requests;  // at least one
    int64_t message_bytes = 0;      // of the item, as it was read
    int64_t response_bytes = 0;     // about, of what grows without text
    bool again = false;
    // Of requests that were submitted; null where they have the call's.
    std::vector<ModelHandle> models = {};
  };

  // What comes of a message: one of these, or nothing (a good start).
  struct Outcome {
    // What is still to be done, which tokenizes texts of so many bytes.
    std::function<Outcome()> prepare;
    int64_t text_bytes = 0;
    int64_t message_bytes = 0;  // of the message that was read
    std::optional<Work> work;   // to submit
    // To write: the item is done, has failed, or was blank.
    std::unique_ptr<Message> response;
    absl::Status end;  // not OK: the stream ends with it
  };

  // Takes a message that was read.
  virtual Outcome Read(RequestStream* transport) = 0;

  // Takes the results of work's requests, which may be moved: a response, or
  // more work.
  virtual Outcome Take(Work work, std::vector<RequestResult> results) const = 0;
  virtual std::unique_ptr<Message> Error(const std::string& id,
                                         const absl::Status& status) const = 0;
};

std::unique_ptr<StreamItems> NewTranslateItems(Call* call);
std::unique_ptr<StreamItems> NewEncodeItems(Call* call);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_STREAM_ITEMS_H_
