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

// The content of a call that reads a start and then items (TranslateStream,
// EncodeStream), or a start and a document whose texts are the items
// (TranslateDocument): reads its messages and makes its responses. When they
// come is item_stream.cc's business. Read, Next, and the `prepare` that they
// return, are for one thread at a time. Once the start was prepared,
// HandleResults and Error are thread-safe for different items.
class StreamItems {
 public:
  using Message = google::protobuf::Message;

  virtual ~StreamItems() = default;

  // An item that is ready for the batcher: for the first time, or again if the
  // results of its requests call for more.
  struct Work {
    // Data about a prepared item; each kind of stream has its own.
    struct State {
      virtual ~State() = default;
    };
    std::string id;
    std::shared_ptr<State> state;
    std::vector<Request> requests;  // at least one
    int64_t message_bytes = 0;      // of the item, as it was read
    int64_t response_bytes = 0;     // estimate of what is not text
    bool again = false;
  };

  // The outcome of a message: one of these, or nothing for a good start.
  struct Outcome {
    // The rest of the work, which tokenizes so many bytes of text.
    std::function<Outcome()> prepare;
    int64_t text_bytes = 0;
    int64_t message_bytes = 0;  // of the message that was read
    std::optional<Work> work;   // to submit
    // Set if the item is done, has failed, or was blank. Of a document: if
    // there is something to tell.
    std::unique_ptr<Message> response;
    absl::Status end;  // not OK: the stream ends with it
  };

  // Parses the message that the transport has read.
  virtual Outcome Read(RequestStream* transport) = 0;

  // For what follows the client's last message: true if Next has more to do
  // now. `answered`: all work that was given out is done.
  virtual bool HasNext(bool answered) const { return false; }
  virtual Outcome Next() { return {}; }

  // Handles the results of work's requests (which themselves may be moved
  // from). Returns a response or more work.
  virtual Outcome HandleResults(Work work,
                                std::vector<RequestResult> results) const = 0;
  // The place of the text of work that was not taken, for errors about it.
  virtual std::string FieldOf(const Work& work) const { return "item.input"; }
  virtual std::unique_ptr<Message> Error(const std::string& id,
                                         const absl::Status& status) const = 0;
};

std::unique_ptr<StreamItems> NewTranslateItems(Call* call);
std::unique_ptr<StreamItems> NewEncodeItems(Call* call);
std::unique_ptr<StreamItems> NewDocumentItems(Call* call);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_STREAM_ITEMS_H_
