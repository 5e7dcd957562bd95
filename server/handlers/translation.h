#ifndef TRIVIUM_SERVER_HANDLERS_TRANSLATION_H_
#define TRIVIUM_SERVER_HANDLERS_TRANSLATION_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/handlers/convert.h"

namespace trivium {

// What Translate and TranslateStream share: the options of a call, checked
// once, and from them a request and a result for each input. Immutable.
class Translation {
 public:
  // `path` of `options` in its message, "options"; `wanted` as
  // InputOptions'.
  static absl::StatusOr<Translation> Create(
      const Environment& environment, const ServedModel& model,
      const v1::TranslateOptions& options, const std::string& path,
      std::function<absl::Status()> wanted);

  struct Item {
    PreparedInput input;
    Request request;             // nothing to do if input.blank
    int64_t response_bytes = 0;  // about, of what grows without text
  };

  // Tokenizes. `path`: "inputs[3]".
  absl::StatusOr<Item> Prepare(const v1::Input& input,
                               const std::string& path) const;

  v1::TranslateResult Result(const PreparedInput& input,
                             RequestResult result) const;
  // Of a blank input: one hypothesis of empty text.
  v1::TranslateResult BlankResult() const;

 private:
  Translation() = default;

  const Model* model_ = nullptr;
  InputOptions input_options_;
  CallDecoding decoding_;
  bool tokens_ = false;
  std::optional<MapSelection> cross_attention_;
  std::optional<MapSelection> decoder_attention_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_TRANSLATION_H_
