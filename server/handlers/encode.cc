// Encode: texts to vectors.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/status.h"
#include "server/handlers/convert.h"
#include "server/handlers/handlers.h"
#include "server/handlers/inputs_call.h"
#include "server/handlers/status.h"

namespace trivium {
namespace {

// Unset for the folder's own way, and for what is not made of token vectors.
std::optional<TokenPooling> ToTokenPooling(v1::Pooling pooling) {
  switch (pooling) {
    case v1::POOLING_MEAN:
      return TokenPooling::kMean;
    case v1::POOLING_CLS:
      return TokenPooling::kFirst;
    case v1::POOLING_LAST:
      return TokenPooling::kLast;
    case v1::POOLING_MAX:
      return TokenPooling::kMax;
    default:
      return std::nullopt;
  }
}

class EncodeCall final
    : public InputsCall<v1::EncodeRequest, v1::EncodeResponse> {
 public:
  using InputsCall::InputsCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(OpenRequest());
    if (model().info().design == Design::kDecoder) {
      return absl::FailedPreconditionError(fmt::format(
          "the model '{}' has no encoder, so it cannot Encode; use Generate",
          call().model().name));
    }
    TRIVIUM_RETURN_IF_ERROR(CheckInputs());
    TRIVIUM_RETURN_IF_ERROR(ReadPooling());
    TRIVIUM_RETURN_IF_ERROR(AddPrompt());
    if (request().has_attention()) {
      TRIVIUM_ASSIGN_OR_RETURN(
          attention_, ConvertSelection(request().attention(), "attention",
                                       model().info().encoder_layers,
                                       model().info().encoder_heads));
    }
    // Only models that choose by a source token need to be told; the others'
    // encoders read the text as it is.
    if (request().has_source_language() || request().has_target_language()) {
      TRIVIUM_ASSIGN_OR_RETURN(options().direction,
                               ConvertDirection(request(), "", model()));
    }
    return absl::OkStatus();
  }

  absl::Status ReadPooling() {
    pooling_ = request().pooling();
    if (!v1::Pooling_IsValid(pooling_)) {
      return InvalidField("pooling", fmt::format("has no value {}",
                                                 static_cast<int>(pooling_)));
    }
    if (pooling_ == v1::POOLING_POOLER && model().info().pooled_size == 0) {
      return absl::FailedPreconditionError(
          "the model has no pooler; ask for another pooling");
    }
    overrides_.pooling = ToTokenPooling(pooling_);
    if (request().has_normalize()) overrides_.normalize = request().normalize();
    return absl::OkStatus();
  }

  absl::Status AddPrompt() {
    const SentenceEncoder& sentences = model().sentence_encoder();
    std::string prompt = sentences.default_prompt();
    if (request().has_prompt()) {
      const auto found = sentences.prompts().find(request().prompt());
      if (found == sentences.prompts().end()) {
        std::string known;
        for (const auto& one : sentences.prompts()) {
          known += (known.empty() ? "" : ", ") + one.first;
        }
        return InvalidField("prompt",
                            fmt::format("is '{}'; the model's folder has {}",
                                        Shorten(request().prompt()),
                                        known.empty() ? "no prompts" : known));
      }
      prompt = found->second;
    }
    for (v1::Input& input : *request().mutable_inputs()) {
      if (input.has_text()) input.set_text(prompt + input.text());
    }
    return absl::OkStatus();
  }

  absl::Status Want(int i, const PreparedInput& input,
                    Request* request) override {
    ExpectResponseBytes(ResponseBytes(input.source.ids.size()));
    TRIVIUM_RETURN_IF_ERROR(CheckRows(input.source.ids.size(), FieldOf(i)));
    request->pooled = pooling_ == v1::POOLING_POOLER;
    request->states = WantedStates();
    if (attention_) request->encoder_attention = attention_->maps;
    return absl::OkStatus();
  }

  States WantedStates() const {
    if (request().token_vectors()) return States::kAll;
    if (pooling_ == v1::POOLING_NONE || pooling_ == v1::POOLING_POOLER) {
      return States::kNone;
    }
    return model().sentence_encoder().Reads(overrides_);
  }

  absl::Status CheckRows(size_t tokens, const std::string& input) const {
    if (!attention_ || attention_->rows.empty() ||
        attention_->rows.back() < static_cast<int>(tokens)) {
      return absl::OkStatus();
    }
    return InvalidField(
        "attention.rows",
        fmt::format("has {}; {} has tokens 0 .. {}", attention_->rows.back(),
                    input, tokens - 1));
  }

  int64_t ResponseBytes(size_t tokens) const {
    const ModelInfo& info = model().info();
    int64_t floats = request().token_vectors()
                         ? static_cast<int64_t>(tokens) * info.d_model
                         : 0;
    if (pooling_ == v1::POOLING_POOLER) {
      floats += info.pooled_size;
    } else if (pooling_ != v1::POOLING_NONE) {
      floats += overrides_.pooling
                    ? info.d_model
                    : model().sentence_encoder().embedding_size(info.d_model);
    }
    int64_t bytes = floats * static_cast<int64_t>(sizeof(float));
    if (attention_) {
      bytes += AttentionBytes(*attention_, info.encoder_layers,
                              info.encoder_heads, tokens, tokens);
    }
    return bytes;
  }

  absl::Status Respond(int i, RequestResult result) override {
    v1::EncodeResult* out = AddResultOf(i);
    const std::vector<float>& states = result.states;
    if (pooling_ != v1::POOLING_NONE) {
      const std::vector<float> embedding =
          pooling_ == v1::POOLING_POOLER
              ? Pooled(std::move(result.pooled))
              : model().sentence_encoder().Embed(states, model().info().d_model,
                                                 overrides_);
      out->mutable_embedding()->Add(embedding.begin(), embedding.end());
    }
    if (request().token_vectors()) {
      out->mutable_token_vectors()->Add(states.begin(), states.end());
    }
    if (request().tokens()) {
      AddPieces(inputs()[i].source.ids, model().tokenizer(), TextSide::kSource,
                out->mutable_pieces());
    }
    if (attention_) {
      *out->mutable_attention() =
          ConvertAttention(result.encoder_attention, attention_->rows);
    }
    return absl::OkStatus();
  }

  std::vector<float> Pooled(std::vector<float> pooled) const {
    if (overrides_.normalize.value_or(false)) NormalizeLength(&pooled);
    return pooled;
  }

  v1::Pooling pooling_ = v1::POOLING_UNSPECIFIED;  // the folder's own
  SentenceEncoder::Overrides overrides_;
  std::optional<MapSelection> attention_;
};

}  // namespace

std::unique_ptr<Handler> NewEncode(const Environment& environment,
                                   CallContext context, Transport* transport) {
  return std::make_unique<EncodeCall>(environment, std::move(context),
                                      Rpc::kEncode, transport);
}

}  // namespace trivium
