#include "server/calls/encode_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "server/calls/convert/embedding_bytes.h"
#include "server/calls/environment.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// Unset for the folder's own pooling and for what is not made of token vectors.
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

// True if the length is 1, as far as rounding to f32 allows.
bool HasLengthOne(const std::vector<float>& vector) {
  double sum = 0;
  for (const float value : vector) sum += double{value} * value;
  return std::fabs(sum - 1) < 1e-4;
}

}  // namespace

absl::StatusOr<EncodeWork> EncodeWork::Create(const Environment& environment,
                                              const ServedModel& model,
                                              const v1::EncodeRequest& request,
                                              const std::string& path,
                                              AliveCheck check_alive) {
  const ModelInfo& info = model.model->info();
  if (info.design == Design::kDecoder) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' has no encoder, so it cannot Encode; use Generate",
        model.name));
  }
  EncodeWork work;
  work.path_ = path;
  InputOptions& input = work.input_options_;
  input.model = model.model.get();
  input.limits = &environment.limits;
  input.check_alive = std::move(check_alive);
  TRIVIUM_RETURN_IF_ERROR(
      ConvertTruncation(request, path, environment, model, &input));
  TRIVIUM_RETURN_IF_ERROR(work.ReadPooling(request));
  TRIVIUM_RETURN_IF_ERROR(work.ReadPrompt(request));
  TRIVIUM_RETURN_IF_ERROR(work.ReadFormat(request));
  TRIVIUM_RETURN_IF_ERROR(work.ReadHiddenLayers(request));
  work.tokens_ = request.tokens();
  work.token_vectors_ = request.token_vectors();
  if (request.has_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        work.attention_,
        ConvertSelection(request.attention(), path + "attention",
                         info.encoder_layers, info.encoder_heads));
  }
  // Only models that mark languages by source tokens need the languages; the
  // encoders of others read the text as it is.
  if (request.has_source_language() || request.has_target_language()) {
    TRIVIUM_ASSIGN_OR_RETURN(input.direction,
                             ConvertDirection(request, path, *model.model));
  }
  return work;
}

absl::Status EncodeWork::ReadPooling(const v1::EncodeRequest& request) {
  pooling_ = request.pooling();
  if (!v1::Pooling_IsValid(pooling_)) {
    return InvalidField(
        path_ + "pooling",
        fmt::format("has no value {}", static_cast<int>(pooling_)));
  }
  if (pooling_ == v1::POOLING_POOLER && info().pooled_size == 0) {
    return absl::FailedPreconditionError(
        "the model has no pooler; ask for another pooling");
  }
  overrides_.pooling = ToTokenPooling(pooling_);
  if (request.has_normalize()) overrides_.normalize = request.normalize();
  if (pooling_ != v1::POOLING_NONE) return absl::OkStatus();
  for (const auto& [name, has] :
       {std::pair("normalize", request.normalize()),
        std::pair("dimensions", request.has_dimensions()),
        std::pair("embedding_format", request.embedding_format() != 0)}) {
    if (has) {
      return InvalidField(path_ + name,
                          "is of the embedding, and pooling is none; leave one "
                          "of them out");
    }
  }
  return absl::OkStatus();
}

absl::Status EncodeWork::ReadPrompt(const v1::EncodeRequest& request) {
  prompted_ = request.has_prompt() || request.has_prompt_name();
  TRIVIUM_ASSIGN_OR_RETURN(input_options_.prompt,
                           ConvertPrompt(request, path_, input_options_));
  prompt_bytes_ = trivium::TextBytes(input_options_.prompt);
  return absl::OkStatus();
}

int EncodeWork::embedding_size() const {
  if (pooling_ == v1::POOLING_NONE) return 0;
  if (pooling_ == v1::POOLING_POOLER) return info().pooled_size;
  return overrides_.pooling
             ? info().d_model
             : input_options_.model->sentence_encoder().embedding_size(
                   info().d_model);
}

absl::Status EncodeWork::ReadFormat(const v1::EncodeRequest& request) {
  format_ = request.embedding_format();
  if (!v1::EmbeddingFormat_IsValid(format_)) {
    return InvalidField(
        path_ + "embedding_format",
        fmt::format("has no value {}", static_cast<int>(format_)));
  }
  if (!request.has_dimensions()) return absl::OkStatus();
  const auto size = static_cast<uint32_t>(embedding_size());
  if (request.dimensions() < 1 || request.dimensions() > size) {
    return InvalidField(path_ + "dimensions",
                        fmt::format("is {}; the embedding has {}, give 1 .. {}",
                                    request.dimensions(), size, size));
  }
  dimensions_ = static_cast<int>(request.dimensions());
  return absl::OkStatus();
}

absl::Status EncodeWork::ReadHiddenLayers(const v1::EncodeRequest& request) {
  const int last = info().encoder_layers;
  for (int i = 0; i < request.hidden_layers_size(); ++i) {
    const int given = request.hidden_layers(i);
    const int layer = given < 0 ? last + 1 + given : given;
    const std::string field = fmt::format("{}hidden_layers[{}]", path_, i);
    if (given > last || layer < 0) {
      return InvalidField(
          field, fmt::format("is {}; the model has 0 .. {}, and -1 .. -{} for "
                             "the same from the last",
                             given, last, last + 1));
    }
    if (std::find(hidden_layers_.begin(), hidden_layers_.end(), layer) !=
        hidden_layers_.end()) {
      return InvalidField(field,
                          fmt::format("is {}, which is listed before", given));
    }
    hidden_layers_.push_back(layer);
  }
  return absl::OkStatus();
}

absl::StatusOr<EncodeWork::Item> EncodeWork::Prepare(
    const v1::Input& input, const std::string& path) const {
  if (prompted_ && !input.has_text()) {
    return InvalidField(
        path,
        "is not a text, and only a text can begin with a prompt; put "
        "the prompt into the input, or leave it out");
  }
  Item item;
  TRIVIUM_ASSIGN_OR_RETURN(item.input,
                           ConvertInput(input, path, input_options_));
  const size_t tokens = item.input.source.ids.size();
  TRIVIUM_RETURN_IF_ERROR(CheckRows(tokens, path));
  item.response_bytes = ResponseBytes(tokens);
  Request& request = item.request;
  request.source = item.input.source;
  request.pooled = pooling_ == v1::POOLING_POOLER;
  request.states = WantedStates();
  request.hidden_layers = hidden_layers_;
  std::sort(request.hidden_layers.begin(), request.hidden_layers.end());
  if (attention_) request.encoder_attention = attention_->maps;
  return item;
}

States EncodeWork::WantedStates() const {
  if (token_vectors_) return States::kAll;
  if (pooling_ == v1::POOLING_NONE || pooling_ == v1::POOLING_POOLER) {
    return States::kNone;
  }
  return input_options_.model->sentence_encoder().Reads(overrides_);
}

absl::Status EncodeWork::CheckRows(size_t tokens,
                                   const std::string& input) const {
  if (!attention_ || attention_->rows.empty() ||
      attention_->rows.back() < static_cast<int>(tokens)) {
    return absl::OkStatus();
  }
  return InvalidField(path_ + "attention.rows",
                      fmt::format("has {}; {} has tokens 0 .. {}",
                                  attention_->rows.back(), input, tokens - 1));
}

int64_t EncodeWork::ResponseBytes(size_t tokens) const {
  const auto count = static_cast<int64_t>(tokens);
  int64_t floats = dimensions_.value_or(embedding_size());
  const auto layers = static_cast<int64_t>(hidden_layers_.size());
  floats += (token_vectors_ + layers) * count * info().d_model;
  int64_t bytes = floats * static_cast<int64_t>(sizeof(float));
  if (attention_) {
    bytes += AttentionBytes(*attention_, info().encoder_layers,
                            info().encoder_heads, count, count);
  }
  return bytes;
}

std::vector<float> EncodeWork::Embedding(RequestResult* result) const {
  std::vector<float> embedding;
  if (pooling_ == v1::POOLING_POOLER) {
    embedding = std::move(result->pooled);
    if (overrides_.normalize.value_or(false)) NormalizeLength(&embedding);
  } else {
    embedding = input_options_.model->sentence_encoder().Embed(
        result->states, info().d_model, overrides_);
  }
  if (dimensions_) {
    const bool normal = HasLengthOne(embedding);
    embedding.resize(*dimensions_);
    if (normal) NormalizeLength(&embedding);
  }
  return embedding;
}

// `hidden` has the layers ascending; the response has them in the request's
// order.
void EncodeWork::AddHiddenStates(const std::vector<float>& hidden,
                                 v1::EncodeResult* out) const {
  if (hidden_layers_.empty()) return;
  const size_t size = hidden.size() / hidden_layers_.size();
  for (const int layer : hidden_layers_) {
    const auto place =
        std::count_if(hidden_layers_.begin(), hidden_layers_.end(),
                      [&](int one) { return one < layer; });
    v1::HiddenStates* states = out->add_hidden_states();
    states->set_layer(static_cast<uint32_t>(layer));
    const auto first = hidden.begin() + place * size;
    states->mutable_values()->Add(first, first + size);
  }
}

v1::EncodeResult EncodeWork::Result(const PreparedInput& input,
                                    RequestResult result) const {
  v1::EncodeResult out;
  const std::vector<int32_t>& ids = input.source.ids;
  out.set_token_count(static_cast<uint32_t>(ids.size()));
  out.set_truncated_tokens(static_cast<uint32_t>(input.truncated));
  if (pooling_ != v1::POOLING_NONE) {
    SetEmbedding(Embedding(&result), format_, &out);
  }
  if (token_vectors_) {
    out.mutable_token_vectors()->Add(result.states.begin(),
                                     result.states.end());
  }
  AddHiddenStates(result.hidden, &out);
  if (tokens_) {
    out.mutable_ids()->Add(ids.begin(), ids.end());
    AddPieces(ids, input_options_.model->tokenizer(), TextSide::kSource,
              out.mutable_pieces());
  }
  if (attention_) {
    *out.mutable_attention() =
        ConvertAttention(result.encoder_attention, attention_->rows);
  }
  return out;
}

}  // namespace trivium
