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

// A sequence of inputs.
class InputSource {
 public:
  struct Item {
    v1::Input input;
    // Not OK: the item cannot be sent and fails alone, with this error.
    absl::Status error;
  };

  virtual ~InputSource() = default;
  // Returns the next item, or nothing at the end. May block. An error ends the
  // inputs.
  virtual absl::StatusOr<std::optional<Item>> Next() = 0;
  // Makes a blocked Next, and every later one, return the end. May be called
  // from any thread.
  virtual void Interrupt() = 0;
};

struct OrderedTranslationOptions {
  // The most items that were read from the source and not emitted yet. Bounds
  // memory while an early item takes long, and keeps the server's batches full.
  int window = 512;
  // The stream is cancelled if the server owes results and sends none for this
  // long.
  absl::Duration stall_timeout = absl::Seconds(60);
};

// Sends all items of `source` and calls `emit` with the result or the error of
// each, in the order of the source, as soon as it is known. response.id()
// counts from "0". Results are emitted in another thread than the source is
// read in, so a source may wait for more items while results appear. Returns
// the first error of the source, the stream or `emit`; an error of a single
// item does not count.
absl::Status TranslateInOrder(
    TranslateStream& stream, InputSource& source,
    const OrderedTranslationOptions& options,
    const std::function<absl::Status(const v1::TranslateStreamResponse&)>&
        emit);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_TRANSLATE_IN_ORDER_H_
