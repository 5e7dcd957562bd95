#include "server/calls/encode_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/status.h"
#include "model/similarity.h"
#include "model/token_pooling.h"
#include "server/calls/convert/embedding_bytes.h"
#include "server/calls/convert/head_trace.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

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
  if (model.model->info().design == Design::kDecoder) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' has no encoder, so it cannot Encode; use Generate",
        model.name));
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      EncodeJob job,
      ReadEncode(request, path, environment, model, std::move(check_alive)));
  return EncodeWork(std::move(job));
}

absl::Status EncodeWork::CheckChunks(const v1::Input& input,
                                     const std::string& path) const {
  if (TextOf(input) == nullptr) {
    return InvalidField(path,
                        "are parts of a text, but the input is not a text; "
                        "send the text, or leave them out");
  }
  if (job_.embedding != EncodeJob::Embedding::kTokens) {
    return InvalidField(path,
                        "have dense embeddings pooled from token vectors, but "
                        "the call asks for none; leave them out, or ask for a "
                        "dense embedding with a pooling of tokens");
  }
  if (sentences().PoolsParts(job_.overrides)) return absl::OkStatus();
  return InvalidField(path,
                      "have no embedding if a single token, the first or the "
                      "last, is a text's embedding; set pooling to MEAN or "
                      "MAX");
}

absl::StatusOr<EncodeWork::Item> EncodeWork::Prepare(
    const v1::Input& input, const std::string& path, const v1::Chunks& chunks,
    const std::string& chunks_path) const {
  const bool has_chunks = chunks.spans_size() > 0;
  if (has_chunks) TRIVIUM_RETURN_IF_ERROR(CheckChunks(input, chunks_path));
  if (job_.prompted && TextOf(input) == nullptr) {
    return InvalidField(
        path,
        "is not a text, and only a text can begin with a prompt; put "
        "the prompt into the input, or leave it out");
  }
  Item item;
  std::optional<InputOptions> with_tokens;
  if (has_chunks) {
    with_tokens = job_.options;
    with_tokens->tokens = true;
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      item.input,
      ConvertInput(input, path, with_tokens ? *with_tokens : job_.options));
  if (has_chunks) {
    TRIVIUM_ASSIGN_OR_RETURN(
        item.chunks,
        PlaceChunks(chunks, chunks_path, *TextOf(input), item.input));
    item.input.tokens.clear();
  }
  const size_t tokens = item.input.source.ids.size();
  TRIVIUM_RETURN_IF_ERROR(CheckRows(tokens, path));
  if (job_.max_rows && tokens > kMostPooledRows &&
      tokens > static_cast<size_t>(*job_.max_rows)) {
    return InvalidField(
        path, fmt::format("has {} tokens, and multi_vector.max_rows merges the "
                          "vectors of at most {}; send shorter texts, or leave "
                          "max_rows out",
                          tokens, kMostPooledRows));
  }
  item.response_bytes = ResponseBytes(tokens, item.chunks.size());
  Request& request = item.request;
  request.source = item.input.source;
  request.pooled = job_.embedding == EncodeJob::Embedding::kPooler;
  request.states = WantedStates(has_chunks);
  request.sparse = engine_makes_sparse();
  request.hidden_layers = job_.hidden_layers;
  std::sort(request.hidden_layers.begin(), request.hidden_layers.end());
  if (job_.attention) request.encoder_attention = job_.attention->maps;
  if (job_.traced_head) {
    TRIVIUM_RETURN_IF_ERROR(CheckTracedTokens(static_cast<int64_t>(tokens),
                                              path, "send shorter text"));
    request.traced_head = job_.traced_head;
  }
  return item;
}

States EncodeWork::WantedStates(bool has_chunks) const {
  if (has_chunks || job_.token_vectors || job_.multi_vector ||
      (job_.sparse && !engine_makes_sparse())) {
    return States::kAll;
  }
  if (job_.embedding != EncodeJob::Embedding::kTokens) return States::kNone;
  return sentences().Reads(job_.overrides);
}

absl::Status EncodeWork::CheckRows(size_t tokens,
                                   const std::string& input) const {
  if (!job_.attention || job_.attention->rows.empty() ||
      job_.attention->rows.back() < static_cast<int>(tokens)) {
    return absl::OkStatus();
  }
  return InvalidField(
      job_.path + "attention.rows",
      fmt::format("has {}; {} has tokens 0 .. {}", job_.attention->rows.back(),
                  input, tokens - 1));
}

int64_t EncodeWork::ResponseBytes(size_t tokens, size_t chunks) const {
  const auto count = static_cast<int64_t>(tokens);
  const int64_t size = job_.dimensions.value_or(job_.embedding_size());
  const auto parts = static_cast<int64_t>(chunks);
  int64_t floats = size * (1 + parts);
  const auto layers = static_cast<int64_t>(job_.hidden_layers.size());
  floats += (job_.token_vectors + layers) * count * info().d_model;
  constexpr int64_t kBytesOfChunk = 16;  // without its embedding
  int64_t bytes =
      floats * static_cast<int64_t>(sizeof(float)) + parts * kBytesOfChunk;
  if (job_.sparse) {
    // SPLADE gives a text some tens of weights for each of its tokens.
    constexpr int64_t kWeightsOfToken = 32, kBytesOfWeight = 16;
    int64_t weights =
        std::min<int64_t>(count * kWeightsOfToken, info().vocabulary);
    if (const auto& features = sentences().auto_encoder()) {
      weights = job_.top_k.value_or(features->most_active());
    }
    if (job_.top_k) weights = std::min<int64_t>(weights, *job_.top_k);
    bytes += weights * kBytesOfWeight;
  }
  if (job_.multi_vector) {
    const int64_t rows =
        std::min<int64_t>(count, job_.max_rows.value_or(INT32_MAX));
    bytes += MultiVectorBytes(rows, sentences().multi_vectors()->size(),
                              job_.row_format);
  }
  if (job_.attention) {
    bytes += AttentionBytes(*job_.attention, info().encoder_layers,
                            info().encoder_heads, count, count);
  }
  if (job_.traced_head) {
    bytes += HeadTraceBytes(std::min<int64_t>(count, kMostTracedTokens),
                            std::min<int64_t>(count, kMostTracedTokens), info(),
                            /*decoder=*/false);
  }
  return bytes;
}

SentenceEncoder::Overrides EncodeWork::OverridesFor(
    const PreparedInput& input) const {
  SentenceEncoder::Overrides overrides = job_.overrides;
  overrides.skipped_tokens = input.prompt_tokens;
  return overrides;
}

std::vector<SparseWeight> EncodeWork::Sparse(const PreparedInput& input,
                                             RequestResult* result) const {
  if (!job_.sparse) return {};
  const std::optional<int> most =
      job_.top_k ? job_.top_k : sentences().most_active();
  std::vector<SparseWeight> weights =
      engine_makes_sparse() ? std::move(result->sparse)
                            : sentences().EmbedSparse(
                                  result->states, info().d_model,
                                  input.source.ids, OverridesFor(input), most);
  if (most) KeepLargest(*most, &weights);
  return weights;
}

std::vector<float> EncodeWork::Dense(const PreparedInput& input,
                                     RequestResult* result) const {
  std::vector<float> embedding;
  if (job_.embedding == EncodeJob::Embedding::kNone) return embedding;
  if (job_.embedding == EncodeJob::Embedding::kPooler) {
    embedding = std::move(result->pooled);
    if (job_.overrides.normalize.value_or(false)) NormalizeLength(embedding);
  } else {
    embedding =
        sentences().Embed(result->states, info().d_model, OverridesFor(input));
  }
  return Cut(std::move(embedding));
}

std::vector<float> EncodeWork::Cut(std::vector<float> embedding) const {
  if (job_.dimensions) {
    const bool normal = HasLengthOne(embedding);
    embedding.resize(*job_.dimensions);
    if (normal) NormalizeLength(embedding);
  }
  return embedding;
}

absl::StatusOr<TextEmbeddings> EncodeWork::Embed(const PreparedInput& input,
                                                 RequestResult* result) const {
  TextEmbeddings made;
  made.dense = Dense(input, result);
  made.sparse = Sparse(input, result);
  if (job_.multi_vector) {
    TRIVIUM_ASSIGN_OR_RETURN(
        made.rows, sentences().multi_vectors()->Rows(
                       result->states, input.source.ids, job_.options.kind,
                       input.source.unattended));
    if (job_.max_rows) PoolRows(*job_.max_rows, &made.rows);
  }
  return made;
}

absl::Status EncodeWork::AddChunks(const std::vector<ChunkTokens>& chunks,
                                   std::span<const float> states,
                                   v1::EncodeResult* out) const {
  const auto width = static_cast<size_t>(info().d_model);
  for (const ChunkTokens& chunk : chunks) {
    TRIVIUM_RETURN_IF_ERROR(job_.options.check_alive());
    std::vector<float> embedding;
    if (chunk.end > chunk.begin) {
      embedding = Cut(
          sentences().Embed(states.subspan(chunk.begin * width,
                                           (chunk.end - chunk.begin) * width),
                            info().d_model, job_.overrides));
    }
    AddChunk(job_, chunk, embedding, out);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::EncodeResult> EncodeWork::Result(
    const Item& item, RequestResult result) const {
  TRIVIUM_ASSIGN_OR_RETURN(TextEmbeddings embeddings,
                           Embed(item.input, &result));
  v1::EncodeResult out =
      WriteEncoded(job_, item.input, std::move(embeddings), result);
  TRIVIUM_RETURN_IF_ERROR(AddChunks(item.chunks, result.states, &out));
  return out;
}

}  // namespace trivium
