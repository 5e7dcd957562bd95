// Encode: texts to vectors.
#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>

#include "base/status.h"
#include "server/rpc/convert.h"
#include "server/rpc/handlers.h"
#include "server/rpc/status.h"
#include "server/rpc/unary.h"
#include "server/rpc/wire.h"

namespace trivium {
namespace {

// The embedding of one input from its token vectors, `states`
// [tokens, d_model].
std::vector<float> Pool(std::span<const float> states, int d_model,
                        v1::Pooling pooling) {
  const size_t width = static_cast<size_t>(d_model);
  const size_t tokens = states.size() / width;
  std::vector<float> out(width);
  if (pooling == v1::POOLING_MEAN) {
    for (size_t t = 0; t < tokens; ++t) {
      for (size_t i = 0; i < width; ++i) out[i] += states[t * width + i];
    }
    for (float& value : out) value /= static_cast<float>(tokens);
  } else {
    const size_t row = pooling == v1::POOLING_LAST ? tokens - 1 : 0;
    const auto vector = states.subspan(row * width, width);
    out.assign(vector.begin(), vector.end());
  }
  return out;
}

// To Euclidean length 1; a vector of zeros stays one.
void Normalize(std::vector<float>* vector) {
  double sum = 0;
  for (const float value : *vector) sum += double{value} * value;
  if (sum == 0) return;
  const double scale = 1 / std::sqrt(sum);
  for (float& value : *vector) value = static_cast<float>(value * scale);
}

class EncodeCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Parse(const grpc::ByteBuffer& request) override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(
        ParseMessage(request, limits.max_request_bytes, &request_));
    TRIVIUM_ASSIGN_OR_RETURN(const ServedModel* served,
                             FindModel(environment(), request_.model()));
    call().set_model(served);
    const Model& model = *served->model;
    if (model.info().design == Design::kDecoder) {
      return absl::FailedPreconditionError(fmt::format(
          "the model '{}' has no encoder, so it cannot Encode; use Generate",
          served->name));
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckInputCount(request_.inputs_size(), "inputs", limits));
    TRIVIUM_RETURN_IF_ERROR(ReadPooling());
    if (request_.has_attention()) {
      TRIVIUM_ASSIGN_OR_RETURN(
          attention_,
          ConvertSelection(request_.attention(), "attention",
                           model.info().encoder_layers, model.info().heads));
    }
    const auto language = [](bool has, const std::string& text) {
      return has ? std::optional<std::string>(text) : std::nullopt;
    };
    // Only models that choose by a source token need to be told; the others'
    // encoders read the text as it is.
    if (request_.has_source_language() || request_.has_target_language()) {
      TRIVIUM_ASSIGN_OR_RETURN(
          options_.direction,
          ConvertDirection(language(request_.has_source_language(),
                                    request_.source_language()),
                           language(request_.has_target_language(),
                                    request_.target_language()),
                           "", model));
    }
    options_.model = &model;
    options_.limits = &limits;
    options_.truncate =
        request_.has_truncate() ? request_.truncate() : environment().truncate;
    return absl::OkStatus();
  }

  absl::Status ReadPooling() {
    if (request_.has_pooling() &&
        request_.pooling() != v1::POOLING_UNSPECIFIED) {
      pooling_ = request_.pooling();
    }
    if (!v1::Pooling_IsValid(pooling_)) {
      return InvalidField("pooling", fmt::format("has no value {}",
                                                 static_cast<int>(pooling_)));
    }
    return absl::OkStatus();
  }

  int64_t TextBytes() const override {
    int64_t bytes = 0;
    for (const v1::Input& input : request_.inputs()) {
      bytes += trivium::TextBytes(input);
    }
    return bytes;
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    std::vector<Request> requests;
    int64_t response_bytes = 0;
    for (int i = 0; i < request_.inputs_size(); ++i) {
      TRIVIUM_ASSIGN_OR_RETURN(
          PreparedInput input,
          ConvertInput(request_.inputs(i), FieldOf(i), options_));
      response_bytes += ResponseBytes(input.source.ids.size());
      Request& request = requests.emplace_back();
      request.source = input.source;
      request.states = pooling_ != v1::POOLING_NONE || request_.token_vectors();
      request.encoder_attention = attention_;
      inputs_.push_back(std::move(input));
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckResponseBytes(response_bytes, environment().limits));
    return requests;
  }

  int64_t ResponseBytes(size_t tokens) const {
    const ModelInfo& info = call().model().model->info();
    const int64_t vectors = (pooling_ == v1::POOLING_NONE ? 0 : 1) +
                            (request_.token_vectors() ? tokens : 0);
    int64_t bytes =
        vectors * info.d_model * static_cast<int64_t>(sizeof(float));
    if (attention_) {
      bytes += AttentionBytes(*attention_, info.encoder_layers, info.heads,
                              tokens, tokens);
    }
    return bytes;
  }

  std::string FieldOf(int request) const override {
    return fmt::format("inputs[{}]", request);
  }

  absl::Status Respond(std::vector<RequestResult> results,
                       grpc::ByteBuffer* response) override {
    const Model& model = *call().model().model;
    v1::EncodeResponse message;
    for (size_t i = 0; i < results.size(); ++i) {
      v1::EncodeResult* out = message.add_results();
      const std::vector<float>& states = results[i].states;
      if (pooling_ != v1::POOLING_NONE) {
        std::vector<float> embedding =
            Pool(states, model.info().d_model, pooling_);
        if (!request_.has_normalize() || request_.normalize()) {
          Normalize(&embedding);
        }
        out->mutable_embedding()->Add(embedding.begin(), embedding.end());
      }
      if (request_.token_vectors()) {
        out->mutable_token_vectors()->Add(states.begin(), states.end());
      }
      const std::vector<int32_t>& ids = inputs_[i].source.ids;
      if (request_.tokens()) {
        AddPieces(ids, model.tokenizer(), TextSide::kSource,
                  out->mutable_pieces());
      }
      if (attention_) {
        *out->mutable_attention() =
            ConvertAttention(results[i].encoder_attention);
      }
      out->set_token_count(static_cast<uint32_t>(ids.size()));
      out->set_truncated_tokens(inputs_[i].truncated);
    }
    *message.mutable_timings() = call().timings();
    *message.mutable_model() = call().model_version();
    return SerializeMessage(message, environment().limits.max_response_bytes,
                            response);
  }

  v1::EncodeRequest request_;
  InputOptions options_;
  v1::Pooling pooling_ = v1::POOLING_MEAN;
  std::optional<AttentionSelection> attention_;
  std::vector<PreparedInput> inputs_;
};

}  // namespace

grpc::ServerUnaryReactor* HandleEncode(const Environment& environment,
                                       grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) {
  auto* call =
      new EncodeCall(environment, context, Rpc::kEncode, request, response);
  call->Start();
  return call;
}

}  // namespace trivium
