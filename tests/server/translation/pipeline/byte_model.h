#ifndef TRIVIUM_TESTS_SERVER_TRANSLATION_PIPELINE_BYTE_MODEL_H_
#define TRIVIUM_TESTS_SERVER_TRANSLATION_PIPELINE_BYTE_MODEL_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/translation/pipeline/translating_model.h"
#include "server/translation/pipeline/translation_options.h"
#include "tests/support/puppet_model.h"

namespace trivium {

// A model whose tokens are bytes, without a call around it.
class ByteModel : public TranslatingModel {
 public:
  explicit ByteModel(
      std::unique_ptr<PuppetModel> model = std::make_unique<PuppetModel>(),
      std::string name = "bytes")
      : direction_(*model->ResolveDirection(std::nullopt, std::nullopt)),
        handle_(ServedPuppet(std::move(name), std::move(model))) {}

  const ModelHandle& handle() const override { return handle_; }
  const Direction& direction() const override { return direction_; }
  absl::Status CheckText(const std::string&,
                         const std::string&) const override {
    return absl::OkStatus();
  }
  absl::StatusOr<PreparedInput> Read(const Text& text) const override {
    EncodeOptions options;
    options.with_tokens = text.tokens;
    Encoding encoding = *tokenizer()->Encode(text.text, options);
    PreparedInput input;
    const auto limit = static_cast<size_t>(model().info().max_source_tokens);
    if (encoding.ids.size() > limit) {
      if (!text.divides) return absl::InvalidArgumentError("too long");
      input.too_long = true;
      return input;
    }
    input.source.ids = std::move(encoding.ids);
    input.tokens = std::move(encoding.tokens);
    input.blank = text.text.find_first_not_of(" \n") == text.text.npos;
    return input;
  }
  absl::StatusOr<PreparedInput> ReadInput(
      const TranslationInput& input) const override {
    PreparedInput out;
    if (input.ids) {
      out.source.ids = {input.ids->ids.begin(), input.ids->ids.end()};
    }
    return out;
  }
  absl::StatusOr<DecodingOptions> DecodingFor(
      const CallDecoding& decoding, const PreparedInput&,
      const std::string&) const override {
    return decoding.options;
  }
  int64_t ResponseBytes(const TranslationOptions&, const Request&,
                        size_t) const override {
    return 0;
  }

 private:
  const Direction direction_;
  const ModelHandle handle_;
};

inline TranslationOptions ByteOptions() {
  TranslationOptions options;
  options.path = "options";
  options.model = std::make_shared<ByteModel>();
  return options;
}

inline TranslationInput TextInput(std::string text) {
  TranslationInput input;
  input.path = "inputs[0]";
  input.text = std::move(text);
  return input;
}

// The text that a request reads.
inline std::string TextOf(const Request& request) {
  return PuppetTokenizer().Decode(request.source.ids);
}

inline std::vector<std::string> TextsOf(const std::vector<Request>& requests) {
  std::vector<std::string> texts;
  for (const Request& request : requests) texts.push_back(TextOf(request));
  return texts;
}

// Hypotheses that say these texts.
inline RequestResult Saying(const std::vector<std::string>& texts) {
  RequestResult result;
  for (const std::string& text : texts) {
    Hypothesis& hypothesis = result.hypotheses.emplace_back();
    for (const char c : text) {
      hypothesis.ids.push_back(PuppetTokenizer::kFirst +
                               static_cast<unsigned char>(c));
    }
    hypothesis.logprobs.resize(hypothesis.ids.size());
    hypothesis.reason = FinishReason::kEnd;
  }
  return result;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_TRANSLATION_PIPELINE_BYTE_MODEL_H_
