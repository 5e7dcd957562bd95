#ifndef TRIVIUM_SERVER_CALLS_CONVERT_TRANSLATING_MODEL_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_TRANSLATING_MODEL_H_

#include <string>
#include <utility>

#include "server/calls/convert/convert.h"
#include "server/translation/pipeline/translating_model.h"

namespace trivium {

// A served model, with the truncation, the limits and the metrics of a call.
class CallTranslatingModel : public TranslatingModel {
 public:
  // `per_source`: a translation is about as long as its source; the results of
  // other tasks are as long as the task says.
  CallTranslatingModel(ModelHandle handle, InputOptions input_options,
                       bool per_source)
      : handle_(std::move(handle)),
        input_options_(std::move(input_options)),
        per_source_(per_source) {}

  const ModelHandle& handle() const override { return handle_; }
  const Direction& direction() const override {
    return input_options_.direction;
  }
  absl::Status CheckText(const std::string& text,
                         const std::string& path) const override;
  absl::StatusOr<PreparedInput> Read(const Text& text) const override;
  absl::StatusOr<PreparedInput> ReadInput(
      const TranslationInput& input) const override;
  absl::StatusOr<DecodingOptions> DecodingFor(
      const CallDecoding& decoding, const PreparedInput& input,
      const std::string& path) const override;
  int64_t ResponseBytes(const TranslationOptions& options,
                        const Request& request,
                        size_t term_uses) const override;

 private:
  const ModelHandle handle_;
  const InputOptions input_options_;
  const bool per_source_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_TRANSLATING_MODEL_H_
