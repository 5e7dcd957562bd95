#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATING_MODEL_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATING_MODEL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/model.h"
#include "server/batching/request.h"
#include "server/translation/pipeline/model_input.h"

namespace trivium {

struct TranslationOptions;

// A model in the direction of a call, as a pipeline uses it. Its call
// implements this, since the call knows truncation, limits and the size of
// messages; tests implement it without a call. Immutable and thread-safe.
class TranslatingModel {
 public:
  virtual ~TranslatingModel() = default;

  virtual const ModelHandle& handle() const = 0;
  // Languages, and what texts begin with.
  virtual const Direction& direction() const = 0;

  // FAILED_PRECONDITION if the model reads no texts; INVALID_ARGUMENT if the
  // text is longer than a call's may be. `path` of the text in errors.
  virtual absl::Status CheckText(const std::string& text,
                                 const std::string& path) const = 0;

  // A text that the model is to read.
  struct Text {
    std::string_view text;
    const GivenPrefix* prefix = nullptr;  // null: none
    // Set PreparedInput::too_long instead of failing.
    bool divides = false;
    bool tokens = false;    // fill PreparedInput::tokens
    std::string path = {};  // of the input in errors: "inputs[3]"
  };
  // Tokenizes. INVALID_ARGUMENT if the model cannot read the text.
  virtual absl::StatusOr<PreparedInput> Read(const Text& text) const = 0;

  // Tokenizes an input that is no text. INVALID_ARGUMENT if the model cannot
  // read it.
  virtual absl::StatusOr<PreparedInput> ReadInput(
      const TranslationInput& input) const = 0;

  // The options of one input's search: the default length is resolved, and
  // lengths fit the model.
  virtual absl::StatusOr<DecodingOptions> DecodingFor(
      const CallDecoding& decoding, const PreparedInput& input,
      const std::string& path) const = 0;

  // About how many bytes a request and `term_uses` add to the response, beside
  // the text.
  virtual int64_t ResponseBytes(const TranslationOptions& options,
                                const Request& request,
                                size_t term_uses) const = 0;

  const Model& model() const { return *handle()->model; }
  const Tokenizer* tokenizer() const { return model().tokenizer(); }
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATING_MODEL_H_
