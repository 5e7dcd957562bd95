#include "server/calls/convert/embedding_rank.h"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "server/errors/status.h"

namespace trivium {

absl::StatusOr<EmbeddingWeights> ReadEmbeddingWeights(
    const v1::RerankWeights* in, const ServedModel& model) {
  const SentenceEncoder& sentences = model.model->sentence_encoder();
  if (in == nullptr) {
    return EmbeddingWeights{
        .dense = sentences.has_dense() ? 1.0 : 0,
        .sparse = sentences.has_sparse() ? 1.0 : 0,
        .multi_vector = sentences.has_multi_vector() ? 1.0 : 0};
  }
  double sum = 0;
  for (const auto& [name, weight, has] :
       {std::tuple("dense", in->dense(), sentences.has_dense()),
        std::tuple("sparse", in->sparse(), sentences.has_sparse()),
        std::tuple("multi_vector", in->multi_vector(),
                   sentences.has_multi_vector())}) {
    const std::string field = fmt::format("weights.{}", name);
    if (!(weight >= 0) || !std::isfinite(weight)) {
      return InvalidField(field, "is not a number of 0 or more");
    }
    if (weight > 0 && !has) {
      return InvalidField(
          field, fmt::format("is above 0, and the model '{}' makes no such "
                             "embedding; leave it out",
                             model.name));
    }
    sum += weight;
  }
  if (!(sum > 0)) {
    return InvalidField("weights",
                        "are all 0; give at least one, or leave them out");
  }
  return EmbeddingWeights{.dense = in->dense(),
                          .sparse = in->sparse(),
                          .multi_vector = in->multi_vector()};
}

absl::Status RefuseEmbeddingWeights(const v1::RerankRequest& in) {
  if (!in.has_weights()) return absl::OkStatus();
  return InvalidField("weights",
                      "are of embeddings, but this model reads pairs; leave "
                      "them out");
}

v1::EncodeRequest ToEncodeRequest(const EmbeddingWeights& weights) {
  v1::EncodeRequest out;
  if (weights.dense > 0) out.add_outputs(v1::ENCODE_OUTPUT_DENSE);
  if (weights.sparse > 0) out.add_outputs(v1::ENCODE_OUTPUT_SPARSE);
  if (weights.multi_vector > 0) {
    out.add_outputs(v1::ENCODE_OUTPUT_MULTI_VECTOR);
  }
  return out;
}

v1::Input ToInput(const std::string& text) {
  v1::Input input;
  input.set_text(text);
  return input;
}

void AddCompared(const RerankJob& job, int index,
                 const EmbeddingProducts& products, const PreparedInput& input,
                 v1::RerankResponse* out) {
  v1::RerankResponse::Document* const document =
      AddDocument(job, index, products.score, products.score, input, out);
  if (products.dense) document->set_dense_score(*products.dense);
  if (products.sparse) document->set_sparse_score(*products.sparse);
  if (products.multi_vector) {
    document->set_multi_vector_score(*products.multi_vector);
  }
}

}  // namespace trivium
