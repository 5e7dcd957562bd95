#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATING_MODEL_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATING_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/model.h"
#include "server/batching/request.h"
#include "server/translation/pipeline/model_input.h"

namespace trivium {

struct TranslationOptions;

// The most tokens of a text that is not divided, its prompt included. A prompt
// leaves as much room for its answer; decoders are trained on short texts, and
// the memory of their attention grows with the square.
inline int MostTextTokens(const ModelInfo& info) {
  constexpr int kMostPrompt = 1024;
  return info.design == Design::kDecoder
             ? std::min(kMostPrompt, info.max_target_tokens / 2)
             : info.max_source_tokens;
}

// A model with the languages of a call, as a pipeline uses it. The call
// implements it, since it knows about truncation, limits and message sizes;
// tests implement it without a call. Immutable and thread-safe.
class TranslatingModel {
 public:
  virtual ~TranslatingModel() = default;

  virtual const ModelHandle& handle() const = 0;
  // The languages, and the prefix of texts.
  virtual const Direction& direction() const = 0;

  // FAILED_PRECONDITION if the model reads no texts; INVALID_ARGUMENT if the
  // text is longer than a call allows. `path` names the text in errors.
  virtual absl::Status CheckText(const std::string& text,
                                 const std::string& path) const = 0;

  // A text for the model to read.
  struct Text {
    std::string_view text;
    const GivenPrefix* prefix = nullptr;  // null: none
    // Set PreparedInput::too_long instead of failing.
    bool divides = false;
    bool tokens = false;    // fill PreparedInput::tokens
    std::string path = {};  // names the input in errors: "inputs[3]"
  };
  // Tokenizes a text. INVALID_ARGUMENT if the model cannot read it.
  virtual absl::StatusOr<PreparedInput> Read(const Text& text) const = 0;

  // Tokenizes an input that is not a text. INVALID_ARGUMENT if the model cannot
  // read it.
  virtual absl::StatusOr<PreparedInput> ReadInput(
      const TranslationInput& input) const = 0;

  // Returns the options of one input's search: the default length is resolved,
  // and lengths fit the model.
  virtual absl::StatusOr<DecodingOptions> DecodingFor(
      const CallDecoding& decoding, const PreparedInput& input,
      const std::string& path) const = 0;

  // Estimates how many bytes a request and `term_uses` add to the response, not
  // counting the text.
  virtual int64_t ResponseBytes(const TranslationOptions& options,
                                const Request& request,
                                size_t term_uses) const = 0;

  // The most tokens of a text, or of its prompt, that is not divided.
  int MostTokens() const { return MostTextTokens(model().info()); }
  // True if the model reads texts in a prompt that it continues.
  bool prompted() const { return model().info().design == Design::kDecoder; }

  const Model& model() const { return *handle()->model; }
  const Tokenizer* tokenizer() const { return model().tokenizer(); }
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATING_MODEL_H_
