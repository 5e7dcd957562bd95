#ifndef TRIVIUM_CLIENT_TRANSLATE_IN_ORDER_H_
#define TRIVIUM_CLIENT_TRANSLATE_IN_ORDER_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/translate_stream.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Where inputs come from, one after another.
class InputSource {
 public:
  struct Item {
    v1::Input input;
    // An item that cannot be sent fails alone with this.
    absl::Status error;
  };

  virtual ~InputSource() = default;
  // Nothing at the end. May block; an error ends the inputs.
  virtual absl::StatusOr<std::optional<Item>> Next() = 0;
  // Makes a Next that blocks, and every later one, give the end. From any
  // thread.
  virtual void Interrupt() = 0;
};

struct OrderedTranslationOptions {
  // Items sent or finished that have not been emitted yet: bounds memory
  // where an early item takes long, and keeps the server's batches full.
  int window = 512;
  // Cancels the stream when the server owes results and sends none for this
  // long.
  absl::Duration stall_timeout = absl::Seconds(60);
};

// Sends all of `source` and calls `emit` with a result or error for each, in
// the order of the source, as soon as it is there; response.id() counts from
// "0". Emits from another thread than it reads the source in, so that a source
// may wait for more while results appear. Returns the first error of the
// source, the stream or `emit`; one item's own error is not one.
absl::Status TranslateInOrder(
    TranslateStream& stream, InputSource& source,
    const OrderedTranslationOptions& options,
    const std::function<absl::Status(const v1::TranslateStreamResponse&)>&
        emit);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_TRANSLATE_IN_ORDER_H_
