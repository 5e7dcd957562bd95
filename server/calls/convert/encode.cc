#include "server/calls/convert/encode.h"

#include <fmt/format.h>

#include <algorithm>
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

absl::Status ReadPooling(const v1::EncodeRequest& in, EncodeJob* job) {
  const v1::Pooling pooling = in.pooling();
  if (!v1::Pooling_IsValid(pooling)) {
    return InvalidField(
        job->path + "pooling",
        fmt::format("has no value {}", static_cast<int>(pooling)));
  }
  if (pooling == v1::POOLING_NONE) job->embedding = EncodeJob::Embedding::kNone;
  if (pooling == v1::POOLING_POOLER) {
    job->embedding = EncodeJob::Embedding::kPooler;
    if (job->options.model->info().pooled_size == 0) {
      return absl::FailedPreconditionError(
          "the model has no pooler; ask for another pooling");
    }
  }
  job->overrides.pooling = ToTokenPooling(pooling);
  if (in.has_normalize()) job->overrides.normalize = in.normalize();
  if (pooling != v1::POOLING_NONE) return absl::OkStatus();
  for (const auto& [name, has] :
       {std::pair("normalize", in.normalize()),
        std::pair("dimensions", in.has_dimensions()),
        std::pair("embedding_format", in.embedding_format() != 0)}) {
    if (has) {
      return InvalidField(job->path + name,
                          "is of the embedding, and pooling is none; leave one "
                          "of them out");
    }
  }
  return absl::OkStatus();
}

absl::Status ReadFormat(const v1::EncodeRequest& in, EncodeJob* job) {
  job->format = in.embedding_format();
  if (!v1::EmbeddingFormat_IsValid(job->format)) {
    return InvalidField(
        job->path + "embedding_format",
        fmt::format("has no value {}", static_cast<int>(job->format)));
  }
  if (!in.has_dimensions()) return absl::OkStatus();
  const auto size = static_cast<uint32_t>(job->embedding_size());
  if (in.dimensions() < 1 || in.dimensions() > size) {
    return InvalidField(job->path + "dimensions",
                        fmt::format("is {}; the embedding has {}, give 1 .. {}",
                                    in.dimensions(), size, size));
  }
  job->dimensions = static_cast<int>(in.dimensions());
  return absl::OkStatus();
}

absl::Status ReadHiddenLayers(const v1::EncodeRequest& in, EncodeJob* job) {
  const int last = job->options.model->info().encoder_layers;
  for (int i = 0; i < in.hidden_layers_size(); ++i) {
    const int given = in.hidden_layers(i);
    const int layer = given < 0 ? last + 1 + given : given;
    const std::string field = fmt::format("{}hidden_layers[{}]", job->path, i);
    if (given > last || layer < 0) {
      return InvalidField(
          field, fmt::format("is {}; the model has 0 .. {}, and -1 .. -{} for "
                             "the same from the last",
                             given, last, last + 1));
    }
    if (std::find(job->hidden_layers.begin(), job->hidden_layers.end(),
                  layer) != job->hidden_layers.end()) {
      return InvalidField(field,
                          fmt::format("is {}, which is listed before", given));
    }
    job->hidden_layers.push_back(layer);
  }
  return absl::OkStatus();
}

// `hidden` has the layers ascending; the response has them in the request's
// order.
void AddHiddenStates(const EncodeJob& job, const std::vector<float>& hidden,
                     v1::EncodeResult* out) {
  if (job.hidden_layers.empty()) return;
  const size_t size = hidden.size() / job.hidden_layers.size();
  for (const int layer : job.hidden_layers) {
    const auto place =
        std::count_if(job.hidden_layers.begin(), job.hidden_layers.end(),
                      [&](int one) { return one < layer; });
    v1::HiddenStates* states = out->add_hidden_states();
    states->set_layer(static_cast<uint32_t>(layer));
    const auto first = hidden.begin() + place * size;
    states->mutable_values()->Add(first, first + size);
  }
}

}  // namespace

int EncodeJob::embedding_size() const {
  const ModelInfo& info = options.model->info();
  if (embedding == Embedding::kNone) return 0;
  if (embedding == Embedding::kPooler) return info.pooled_size;
  return overrides.pooling
             ? info.d_model
             : options.model->sentence_encoder().embedding_size(info.d_model);
}

absl::StatusOr<EncodeJob> ReadEncode(const v1::EncodeRequest& in,
                                     const std::string& path,
                                     const Environment& environment,
                                     const ServedModel& model,
                                     AliveCheck check_alive) {
  const ModelInfo& info = model.model->info();
  EncodeJob job;
  job.path = path;
  job.options.model = model.model.get();
  job.options.limits = &environment.limits;
  job.options.check_alive = std::move(check_alive);
  TRIVIUM_RETURN_IF_ERROR(
      ConvertTruncation(in, path, environment, model, &job.options));
  TRIVIUM_RETURN_IF_ERROR(ReadPooling(in, &job));
  if (job.embedding != EncodeJob::Embedding::kNone &&
      !model.model->sentence_encoder().has_dense()) {
    return InvalidField(
        path + "pooling",
        fmt::format("makes a dense embedding, and the model '{}' has a sparse "
                    "one only, which Encode does not return yet; ask for none "
                    "and for token_vectors, or take another model",
                    model.name));
  }
  job.prompted = in.has_prompt() || in.has_prompt_name();
  TRIVIUM_ASSIGN_OR_RETURN(job.options.prompt,
                           ConvertPrompt(in, path, job.options));
  TRIVIUM_RETURN_IF_ERROR(ReadFormat(in, &job));
  TRIVIUM_RETURN_IF_ERROR(ReadHiddenLayers(in, &job));
  job.tokens = in.tokens();
  job.token_vectors = in.token_vectors();
  if (in.has_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        job.attention,
        ConvertSelection(in.attention(), path + "attention",
                         info.encoder_layers, info.encoder_heads));
  }
  // Only models that mark languages by source tokens need the languages; the
  // encoders of others read the text as it is.
  if (in.has_source_language() || in.has_target_language()) {
    TRIVIUM_ASSIGN_OR_RETURN(job.options.direction,
                             ConvertDirection(in, path, *model.model));
  }
  return job;
}

v1::EncodeResult WriteEncoded(const EncodeJob& job, const PreparedInput& input,
                              const std::vector<float>& embedding,
                              const RequestResult& result) {
  v1::EncodeResult out;
  const std::vector<int32_t>& ids = input.source.ids;
  out.set_token_count(static_cast<uint32_t>(ids.size()));
  out.set_truncated_tokens(static_cast<uint32_t>(input.truncated));
  if (job.embedding != EncodeJob::Embedding::kNone) {
    SetEmbedding(embedding, job.format, &out);
  }
  if (job.token_vectors) {
    out.mutable_token_vectors()->Add(result.states.begin(),
                                     result.states.end());
  }
  AddHiddenStates(job, result.hidden, &out);
  if (job.tokens) {
    out.mutable_ids()->Add(ids.begin(), ids.end());
    AddPieces(ids, job.options.model->tokenizer(), TextSide::kSource,
              out.mutable_pieces());
  }
  if (job.attention) {
    *out.mutable_attention() =
        ConvertAttention(result.encoder_attention, job.attention->rows);
  }
  return out;
}

void AddEncoded(v1::EncodeResult result, v1::EncodeResponse* out) {
  *out->add_results() = std::move(result);
}

}  // namespace trivium
