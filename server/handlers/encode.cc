// Encode: texts to vectors.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/status.h"
#include "server/handlers/convert.h"
#include "server/handlers/handlers.h"
#include "server/handlers/status.h"
#include "server/handlers/unary.h"

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

class EncodeCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    if (model().info().design == Design::kDecoder) {
      return absl::FailedPreconditionError(fmt::format(
          "the model '{}' has no encoder, so it cannot Encode; use Generate",
          call().model().name));
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckInputCount(request_.inputs_size(), "inputs", limits));
    TRIVIUM_RETURN_IF_ERROR(ReadPooling());
    TRIVIUM_RETURN_IF_ERROR(AddPrompt());
    if (request_.has_attention()) {
      TRIVIUM_ASSIGN_OR_RETURN(
          attention_, ConvertSelection(request_.attention(), "attention",
                                       model().info().encoder_layers,
                                       model().info().encoder_heads));
    }
    // Only models that choose by a source token need to be told; the others'
    // encoders read the text as it is.
    if (request_.has_source_language() || request_.has_target_language()) {
      TRIVIUM_ASSIGN_OR_RETURN(options_.direction,
                               ConvertDirection(request_, "", model()));
    }
    options_.model = &model();
    options_.limits = &limits;
    options_.truncate =
        request_.has_truncate() ? request_.truncate() : environment().truncate;
    return absl::OkStatus();
  }

  absl::Status ReadPooling() {
    pooling_ = request_.pooling();
    if (!v1::Pooling_IsValid(pooling_)) {
      return InvalidField("pooling", fmt::format("has no value {}",
                                                 static_cast<int>(pooling_)));
    }
    if (pooling_ == v1::POOLING_POOLER && model().info().pooled_size == 0) {
      return absl::FailedPreconditionError(
          "the model has no pooler; ask for another pooling");
    }
    overrides_.pooling = ToTokenPooling(pooling_);
    if (request_.has_normalize()) overrides_.normalize = request_.normalize();
    return absl::OkStatus();
  }

  absl::Status AddPrompt() {
    const SentenceEncoder& sentences = model().sentence_encoder();
    std::string prompt = sentences.default_prompt();
    if (request_.has_prompt()) {
      const auto found = sentences.prompts().find(request_.prompt());
      if (found == sentences.prompts().end()) {
        std::string known;
        for (const auto& one : sentences.prompts()) {
          known += (known.empty() ? "" : ", ") + one.first;
        }
        return InvalidField("prompt",
                            fmt::format("is '{}'; the model's folder has {}",
                                        Shorten(request_.prompt()),
                                        known.empty() ? "no prompts" : known));
      }
      prompt = found->second;
    }
    for (v1::Input& input : *request_.mutable_inputs()) {
      if (input.has_text()) input.set_text(prompt + input.text());
    }
    return absl::OkStatus();
  }

  int64_t TextBytes() const override {
    return trivium::TextBytes(request_.inputs());
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    std::vector<Request> requests;
    int64_t response_bytes = 0;
    for (int i = 0; i < request_.inputs_size(); ++i) {
      TRIVIUM_ASSIGN_OR_RETURN(
          PreparedInput input,
          ConvertInput(request_.inputs(i), FieldOf(i), options_));
      response_bytes += ResponseBytes(input.source.ids.size());
      TRIVIUM_RETURN_IF_ERROR(CheckRows(input.source.ids.size(), FieldOf(i)));
      Request& request = requests.emplace_back();
      request.source = input.source;
      request.pooled = pooling_ == v1::POOLING_POOLER;
      request.states = WantedStates();
      if (attention_) request.encoder_attention = attention_->maps;
      inputs_.push_back(std::move(input));
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckResponseBytes(response_bytes, environment().limits));
    return requests;
  }

  States WantedStates() const {
    if (request_.token_vectors()) return States::kAll;
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
    int64_t floats = request_.token_vectors()
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

  const google::protobuf::Message& Respond(
      std::vector<RequestResult> results) override {
    for (size_t i = 0; i < results.size(); ++i) {
      v1::EncodeResult* out = response_.add_results();
      const std::vector<float>& states = results[i].states;
      if (pooling_ != v1::POOLING_NONE) {
        const std::vector<float> embedding =
            pooling_ == v1::POOLING_POOLER
                ? Pooled(std::move(results[i].pooled))
                : model().sentence_encoder().Embed(
                      states, model().info().d_model, overrides_);
        out->mutable_embedding()->Add(embedding.begin(), embedding.end());
      }
      if (request_.token_vectors()) {
        out->mutable_token_vectors()->Add(states.begin(), states.end());
      }
      const std::vector<int32_t>& ids = inputs_[i].source.ids;
      if (request_.tokens()) {
        AddPieces(ids, model().tokenizer(), TextSide::kSource,
                  out->mutable_pieces());
      }
      if (attention_) {
        *out->mutable_attention() =
            ConvertAttention(results[i].encoder_attention, attention_->rows);
      }
      out->set_token_count(static_cast<uint32_t>(ids.size()));
      out->set_truncated_tokens(inputs_[i].truncated);
    }
    return WithTimings(&response_);
  }

  std::vector<float> Pooled(std::vector<float> pooled) const {
    if (overrides_.normalize.value_or(false)) NormalizeLength(&pooled);
    return pooled;
  }

  v1::EncodeRequest request_;
  v1::EncodeResponse response_;
  InputOptions options_;
  v1::Pooling pooling_ = v1::POOLING_UNSPECIFIED;  // the folder's own
  SentenceEncoder::Overrides overrides_;
  std::optional<MapSelection> attention_;
  std::vector<PreparedInput> inputs_;
};

}  // namespace

std::unique_ptr<Handler> NewEncode(const Environment& environment,
                                   CallContext context, Transport* transport) {
  return std::make_unique<EncodeCall>(environment, std::move(context),
                                      Rpc::kEncode, transport);
}

}  // namespace trivium
