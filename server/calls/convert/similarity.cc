#include "server/calls/convert/similarity.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "server/calls/environment.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// Reads a list, whose encodings have `encode`'s options.
absl::StatusOr<SimilarityJob::List> ReadList(
    const v1::SimilarityRequest::List& in, const std::string& name,
    const v1::EncodeRequest& encode, const RequestLimits& limits) {
  SimilarityJob::List list;
  list.path = name + ".";
  TRIVIUM_RETURN_IF_ERROR(
      CheckInputCount(in.inputs_size(), name + ".inputs", limits));
  list.inputs = ToElements(in.inputs());
  list.encode = encode;
  list.encode.set_kind(in.kind());
  if (in.has_prompt_name()) list.encode.set_prompt_name(in.prompt_name());
  if (in.has_prompt()) list.encode.set_prompt(in.prompt());
  return list;
}

absl::Status ReadFunction(const v1::SimilarityRequest& in,
                          const ServedModel& model, SimilarityJob* job) {
  job->function = model.model->sentence_encoder().similarity();
  if (in.function() == v1::SIMILARITY_FUNCTION_UNSPECIFIED) {
    return absl::OkStatus();
  }
  if (job->weights.dense == 0) {
    return InvalidField("function",
                        "is of dense embeddings, and none counts; leave it "
                        "out");
  }
  switch (in.function()) {
    case v1::SIMILARITY_FUNCTION_COSINE:
      job->function = SimilarityFunction::kCosine;
      return absl::OkStatus();
    case v1::SIMILARITY_FUNCTION_DOT:
      job->function = SimilarityFunction::kDot;
      return absl::OkStatus();
    case v1::SIMILARITY_FUNCTION_EUCLIDEAN:
      job->function = SimilarityFunction::kEuclidean;
      return absl::OkStatus();
    case v1::SIMILARITY_FUNCTION_MANHATTAN:
      job->function = SimilarityFunction::kManhattan;
      return absl::OkStatus();
    default:
      return InvalidField(
          "function",
          fmt::format("has no value {}", static_cast<int>(in.function())));
  }
}

// Checks `dimensions` here, since each list's encoding would name a field of
// the list.
absl::Status CheckDimensions(const v1::SimilarityRequest& in,
                             const ServedModel& model,
                             const SimilarityJob& job) {
  if (!in.has_dimensions()) return absl::OkStatus();
  if (job.weights.dense == 0) {
    return InvalidField("dimensions",
                        "is of dense embeddings, and none counts; leave it "
                        "out");
  }
  const auto size =
      static_cast<uint32_t>(model.model->sentence_encoder().embedding_size(
          model.model->info().d_model));
  if (in.dimensions() >= 1 && in.dimensions() <= size) return absl::OkStatus();
  return InvalidField("dimensions",
                      fmt::format("is {}; the embedding has {}, give 1 .. {}",
                                  in.dimensions(), size, size));
}

// Returns the number of kinds of embeddings that count.
int Kinds(const EmbeddingWeights& weights) {
  return (weights.dense > 0) + (weights.sparse > 0) +
         (weights.multi_vector > 0);
}

}  // namespace

absl::StatusOr<SimilarityJob> ReadSimilarity(const v1::SimilarityRequest& in,
                                             const Environment& environment,
                                             const ServedModel& model) {
  if (model.model->info().design == Design::kDecoder) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' has no encoder, so it makes no embeddings to compare; "
        "use Generate",
        model.name));
  }
  SimilarityJob job;
  InputOptions truncation;  // only checked; the encodings read it again
  TRIVIUM_RETURN_IF_ERROR(
      ConvertTruncation(in, "", environment, model, &truncation));
  TRIVIUM_ASSIGN_OR_RETURN(job.weights, ReadEmbeddingWeights(in, model));
  TRIVIUM_RETURN_IF_ERROR(ReadFunction(in, model, &job));
  TRIVIUM_RETURN_IF_ERROR(CheckDimensions(in, model, job));
  v1::EncodeRequest encode = ToEncodeRequest(job.weights, in);
  if (in.has_dimensions()) encode.set_dimensions(in.dimensions());
  TRIVIUM_ASSIGN_OR_RETURN(
      job.first, ReadList(in.first(), "first", encode, environment.limits));
  if (in.has_second()) {
    TRIVIUM_ASSIGN_OR_RETURN(job.second, ReadList(in.second(), "second", encode,
                                                  environment.limits));
  }
  return job;
}

int64_t SimilarityBytes(const SimilarityJob& job) {
  const int kinds = Kinds(job.weights);
  const double bytes = static_cast<double>(job.rows()) * job.columns() *
                       sizeof(float) * (kinds > 1 ? 1 + kinds : 1);
  constexpr double kMost = int64_t{1} << 60;
  return static_cast<int64_t>(std::min(bytes, kMost));
}

absl::StatusOr<int64_t> CountComparisons(const SimilarityJob& job,
                                         const Model& model,
                                         const ComparedTexts& first,
                                         const ComparedTexts& second) {
  // MaxSim's count as if all were in f32, several at once: numbers of 8 bits
  // may decide nothing. Others take so many times as long.
  constexpr double kDenseCost = 4, kSparseCost = 8;
  // Some seconds of one thread.
  constexpr double kMost = int64_t{1} << 34;
  const SentenceEncoder& sentences = model.sentence_encoder();
  double cost = 0;
  if (job.weights.dense > 0) {
    cost += kDenseCost * first.texts * second.texts *
            sentences.embedding_size(model.info().d_model);
  }
  if (job.weights.sparse > 0) {
    // SPLADE gives a text some tens of weights for each of its tokens.
    constexpr double kWeightsOfToken = 32;
    cost += kSparseCost * kWeightsOfToken *
            (first.texts * second.tokens + second.texts * first.tokens);
  }
  if (job.weights.multi_vector > 0) {
    cost += first.tokens * second.tokens * sentences.multi_vectors()->size();
  }
  if (cost <= kMost) return static_cast<int64_t>(cost);
  return InvalidField(
      job.second ? "second.inputs" : "first.inputs",
      fmt::format("has {:.0f} texts of {:.0f} tokens to compare with {:.0f} "
                  "texts of {:.0f}, which is {:.1f} times what a call may "
                  "take; send fewer "
                  "texts, or shorter ones",
                  second.texts, second.tokens, first.texts, first.tokens,
                  cost / kMost));
}

void AddPairs(const SimilarityJob& job, v1::SimilarityResponse* out) {
  const int pairs = job.rows() * job.columns();
  out->mutable_scores()->Resize(pairs, 0);
  if (Kinds(job.weights) < 2) return;
  for (const auto& [weight, numbers] :
       {std::pair(job.weights.dense, out->mutable_dense_scores()),
        std::pair(job.weights.sparse, out->mutable_sparse_scores()),
        std::pair(job.weights.multi_vector,
                  out->mutable_multi_vector_scores())}) {
    if (weight > 0) numbers->Resize(pairs, 0);
  }
}

void SetPair(const SimilarityJob& job, int row, int column,
             const EmbeddingProducts& products, v1::SimilarityResponse* out) {
  const int place = row * job.columns() + column;
  out->set_scores(place, products.score);
  if (Kinds(job.weights) < 2) return;
  if (products.dense) out->set_dense_scores(place, *products.dense);
  if (products.sparse) out->set_sparse_scores(place, *products.sparse);
  if (products.multi_vector) {
    out->set_multi_vector_scores(place, *products.multi_vector);
  }
}

void AddComparedText(const PreparedInput& input, bool first,
                     v1::SimilarityResponse* out) {
  v1::SimilarityResponse::Text* const text =
      first ? out->add_first() : out->add_second();
  text->set_token_count(static_cast<uint32_t>(input.source.ids.size()));
  text->set_truncated_tokens(static_cast<uint32_t>(input.truncated));
}

void FinishTexts(const SimilarityJob& job, v1::SimilarityResponse* out) {
  if (!job.second) *out->mutable_second() = out->first();
}

}  // namespace trivium
