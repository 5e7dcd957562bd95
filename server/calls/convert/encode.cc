#include "server/calls/convert/encode.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/calls/convert/embedding_bytes.h"
#include "server/calls/convert/head_trace.h"
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

// An output, and how errors call it.
struct OutputName {
  v1::EncodeOutput output;
  const char* name;
  bool has;      // the model makes it
  bool* wanted;  // the call asks for it
};

// Reads which embeddings are made.
absl::Status ReadOutputs(const v1::EncodeRequest& in, const std::string& name,
                         EncodeJob* job) {
  const SentenceEncoder& sentences = job->options.model->sentence_encoder();
  bool dense = false;
  const OutputName known[] = {
      {v1::ENCODE_OUTPUT_DENSE, "dense", sentences.has_dense(), &dense},
      {v1::ENCODE_OUTPUT_SPARSE, "sparse", sentences.has_sparse(),
       &job->sparse},
      {v1::ENCODE_OUTPUT_MULTI_VECTOR, "multi-vector",
       sentences.has_multi_vector(), &job->multi_vector}};
  for (int i = 0; i < in.outputs_size(); ++i) {
    const std::string field = fmt::format("{}outputs[{}]", job->path, i);
    const auto found = std::find_if(
        std::begin(known), std::end(known),
        [&](const OutputName& one) { return one.output == in.outputs(i); });
    if (found == std::end(known)) {
      return InvalidField(field, fmt::format("has no value {}",
                                             static_cast<int>(in.outputs(i))));
    }
    if (!found->has) {
      std::string names;
      for (const OutputName& one : known) {
        if (one.has)
          names += (names.empty() ? "" : " and ") + std::string(one.name);
      }
      return InvalidField(field, fmt::format("is {}; the model '{}' makes {} "
                                             "embeddings",
                                             found->name, name, names));
    }
    if (*found->wanted) {
      return InvalidField(field, "is listed before; list each once");
    }
    *found->wanted = true;
  }
  if (dense && in.pooling() == v1::POOLING_NONE) {
    return InvalidField(job->path + "pooling",
                        "is none, and outputs asks for a dense embedding; "
                        "leave one of them out");
  }
  if (in.outputs().empty()) {
    // A pooling may be asked for of a model that makes no dense embedding.
    const bool own = in.pooling() == v1::POOLING_UNSPECIFIED;
    dense = sentences.has_dense() && in.pooling() != v1::POOLING_NONE;
    job->sparse = own && !dense && sentences.has_sparse();
    job->multi_vector = own && !dense && !job->sparse;
  }
  if (dense) return absl::OkStatus();
  job->embedding = EncodeJob::Embedding::kNone;
  for (const auto& [field, has] :
       {std::pair("pooling", in.pooling() != v1::POOLING_UNSPECIFIED &&
                                 in.pooling() != v1::POOLING_NONE),
        std::pair("normalize", in.normalize()),
        std::pair("dimensions", in.has_dimensions()),
        std::pair("embedding_format", in.embedding_format() != 0)}) {
    if (!has) continue;
    return InvalidField(
        job->path + field,
        fmt::format("is of a dense embedding, and none is asked for of the "
                    "model '{}'; leave it out, or ask for one in outputs",
                    name));
  }
  return absl::OkStatus();
}

absl::Status ReadMultiVector(const v1::EncodeRequest& in, EncodeJob* job) {
  if (!in.has_multi_vector()) return absl::OkStatus();
  const std::string path = job->path + "multi_vector";
  if (!job->multi_vector) {
    return InvalidField(path,
                        "is of a multi-vector embedding, and none is asked "
                        "for; leave it out, or ask for one in outputs");
  }
  job->row_format = in.multi_vector().format();
  if (!v1::EmbeddingFormat_IsValid(job->row_format)) {
    return InvalidField(
        path + ".format",
        fmt::format("has no value {}", static_cast<int>(job->row_format)));
  }
  if (!in.multi_vector().has_max_rows()) return absl::OkStatus();
  if (in.multi_vector().max_rows() < 1) {
    return InvalidField(path + ".max_rows",
                        "is 0; ask for at least 1, or leave it out");
  }
  job->max_rows = static_cast<int>(
      std::min<uint32_t>(in.multi_vector().max_rows(), INT32_MAX));
  return absl::OkStatus();
}

absl::Status ReadSparse(const v1::EncodeRequest& in, EncodeJob* job) {
  if (!in.has_sparse()) return absl::OkStatus();
  const std::string path = job->path + "sparse";
  if (!job->sparse) {
    return InvalidField(path,
                        "is of a sparse embedding, and none is asked for; "
                        "leave it out, or ask for one in outputs");
  }
  if (in.sparse().has_top_k()) {
    if (in.sparse().top_k() < 1) {
      return InvalidField(path + ".top_k",
                          "is 0; ask for at least 1, or leave it out");
    }
    job->top_k =
        static_cast<int>(std::min<uint32_t>(in.sparse().top_k(), INT32_MAX));
  }
  if (in.sparse().has_threshold()) {
    job->threshold = in.sparse().threshold();
    if (!(*job->threshold >= 0)) {
      return InvalidField(path + ".threshold",
                          "is not 0 or more; only larger weights are kept");
    }
  }
  return absl::OkStatus();
}

absl::Status ReadPooling(const v1::EncodeRequest& in, EncodeJob* job) {
  const v1::Pooling pooling = in.pooling();
  if (!v1::Pooling_IsValid(pooling)) {
    return InvalidField(
        job->path + "pooling",
        fmt::format("has no value {}", static_cast<int>(pooling)));
  }
  if (pooling == v1::POOLING_POOLER) {
    job->embedding = EncodeJob::Embedding::kPooler;
    if (job->options.model->info().pooled_size == 0) {
      return absl::FailedPreconditionError(
          "the model has no pooler; ask for another pooling");
    }
  }
  job->overrides.pooling = ToTokenPooling(pooling);
  if (in.has_normalize()) job->overrides.normalize = in.normalize();
  return absl::OkStatus();
}

// Reads what the texts are: which part of the model reads them.
absl::Status ReadKind(const v1::EncodeRequest& in, const ServedModel& model,
                      EncodeJob* job) {
  std::optional<TextKind> kind;
  if (in.kind() == v1::TEXT_KIND_QUERY) kind = TextKind::kQuery;
  if (in.kind() == v1::TEXT_KIND_DOCUMENT) kind = TextKind::kDocument;
  if (!kind && in.kind() != v1::TEXT_KIND_UNSPECIFIED) {
    return InvalidField(
        job->path + "kind",
        fmt::format("has no value {}", static_cast<int>(in.kind())));
  }
  job->options.kind = kind;
  const TextReader reader = model.model->ReaderOf(kind);
  job->options.model = reader.model;
  job->options.route = reader.route;
  return absl::OkStatus();
}

// Returns the prompt of the request's texts. A kind has the prompt that
// sentence-transformers' encode_query and encode_document take.
absl::StatusOr<std::string> ReadPrompt(const v1::EncodeRequest& in,
                                       const EncodeJob& job) {
  const auto& prompts = job.options.model->sentence_encoder().prompts();
  std::vector<const char*> names;
  if (!job.prompted && in.kind() == v1::TEXT_KIND_QUERY) names = {"query"};
  if (!job.prompted && in.kind() == v1::TEXT_KIND_DOCUMENT) {
    names = {"document", "passage", "corpus"};
  }
  for (const char* const name : names) {
    const auto found = prompts.find(name);
    if (found != prompts.end()) return found->second;
  }
  return ConvertPrompt(in, job.path, job.options);
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

void SetSparse(const EncodeJob& job, std::vector<SparseWeight> weights,
               v1::EncodeResult* out) {
  if (job.threshold) {
    std::erase_if(weights, [&](const SparseWeight& one) {
      return one.weight <= *job.threshold;
    });
  }
  v1::SparseEmbedding* const sparse = out->mutable_sparse();
  std::vector<int32_t> ids;
  for (const SparseWeight& one : weights) {
    ids.push_back(one.id);
    sparse->add_ids(static_cast<uint32_t>(one.id));
    sparse->add_weights(one.weight);
  }
  if (job.tokens && !job.options.model->sentence_encoder().auto_encoder()) {
    AddPieces(ids, job.options.model->tokenizer(), TextSide::kSource,
              sparse->mutable_tokens());
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
  EncodeJob job;
  job.path = path;
  job.options.limits = &environment.limits;
  job.options.check_alive = std::move(check_alive);
  TRIVIUM_RETURN_IF_ERROR(ReadKind(in, model, &job));
  TRIVIUM_RETURN_IF_ERROR(
      ConvertTruncation(in, path, environment, model, &job.options));
  TRIVIUM_RETURN_IF_ERROR(ReadPooling(in, &job));
  TRIVIUM_RETURN_IF_ERROR(ReadOutputs(in, model.name, &job));
  TRIVIUM_RETURN_IF_ERROR(ReadSparse(in, &job));
  TRIVIUM_RETURN_IF_ERROR(ReadMultiVector(in, &job));
  job.prompted = in.has_prompt() || in.has_prompt_name();
  TRIVIUM_ASSIGN_OR_RETURN(job.options.prompt, ReadPrompt(in, job));
  TRIVIUM_RETURN_IF_ERROR(ReadFormat(in, &job));
  TRIVIUM_RETURN_IF_ERROR(ReadHiddenLayers(in, &job));
  job.tokens = in.tokens();
  job.token_vectors = in.token_vectors();
  if (in.has_attention()) {
    const ModelInfo& info = job.options.model->info();
    TRIVIUM_ASSIGN_OR_RETURN(
        job.attention,
        ConvertSelection(in.attention(), path + "attention",
                         info.encoder_layers, info.encoder_heads));
  }
  if (in.has_head_trace()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        job.traced_head,
        ConvertHeadChoice(in.head_trace(), path + "head_trace",
                          /*decoder=*/false, *job.options.model));
  }
  // Only models that mark languages by source tokens need the languages; the
  // encoders of others read the text as it is.
  if (in.has_source_language() || in.has_target_language()) {
    TRIVIUM_ASSIGN_OR_RETURN(job.options.direction,
                             ConvertDirection(in, path, *model.model));
  }
  return job;
}

absl::Status CheckChunkCount(const v1::EncodeRequest& in) {
  if (in.chunks_size() == 0 || in.chunks_size() == in.inputs_size()) {
    return absl::OkStatus();
  }
  return InvalidField("chunks",
                      fmt::format("has {} for {} inputs; give one "
                                  "for each, or none",
                                  in.chunks_size(), in.inputs_size()));
}

const v1::Chunks& ChunksOf(const v1::EncodeRequest& in, int input) {
  return in.chunks_size() == 0 ? v1::Chunks::default_instance()
                               : in.chunks(input);
}

v1::EncodeResult WriteEncoded(const EncodeJob& job, const PreparedInput& input,
                              TextEmbeddings embeddings,
                              const RequestResult& result) {
  v1::EncodeResult out;
  const std::vector<int32_t>& ids = input.source.ids;
  out.set_token_count(static_cast<uint32_t>(ids.size()));
  out.set_truncated_tokens(static_cast<uint32_t>(input.truncated));
  if (job.embedding != EncodeJob::Embedding::kNone) {
    SetEmbedding(embeddings.dense, job.format, &out);
  }
  if (job.sparse) SetSparse(job, std::move(embeddings.sparse), &out);
  if (job.multi_vector) {
    SetMultiVector(embeddings.rows, job.row_format, job.tokens,
                   out.mutable_multi_vector());
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
  if (result.head_trace) {
    const auto keys = static_cast<size_t>(result.head_trace->keys);
    *out.mutable_head_trace() = ConvertHeadTrace(
        *result.head_trace, {.queries = ids,
                             .keys = std::span(ids).first(keys),
                             .tokenizer = job.options.model->tokenizer(),
                             .query_side = TextSide::kSource,
                             .key_side = TextSide::kSource});
  }
  return out;
}

void AddChunk(const EncodeJob& job, const ChunkTokens& chunk,
              const std::vector<float>& embedding, v1::EncodeResult* out) {
  v1::Chunk* const added = out->add_chunks();
  added->set_token_begin(static_cast<uint32_t>(chunk.begin));
  added->set_token_end(static_cast<uint32_t>(chunk.end));
  added->set_truncated(chunk.truncated);
  if (!embedding.empty()) SetEmbedding(embedding, job.format, added);
}

void AddEncoded(v1::EncodeResult result, v1::EncodeResponse* out) {
  *out->add_results() = std::move(result);
}

}  // namespace trivium
