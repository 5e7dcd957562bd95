#ifndef TRIVIUM_SERVER_CALLS_CONVERT_SIMILARITY_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_SIMILARITY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/similarity.h"
#include "server/calls/convert/embedding_rank.h"
#include "server/calls/convert/input_fields.h"

namespace trivium {

// The options of a SimilarityRequest.
struct SimilarityJob {
  // A list of texts, and how to encode them (an EncodeRequest without inputs).
  struct List {
    std::string path;  // "first."
    Elements<v1::Input> inputs;
    v1::EncodeRequest encode;
  };

  EmbeddingWeights weights;
  SimilarityFunction function = SimilarityFunction::kCosine;
  List first;
  std::optional<List> second;  // unset: the first, again

  int rows() const { return static_cast<int>(first.inputs.size()); }
  int columns() const {
    return second ? static_cast<int>(second->inputs.size()) : rows();
  }
};

// The job refers to `in`. Checks all but the lists' inputs and prompts.
absl::StatusOr<SimilarityJob> ReadSimilarity(const v1::SimilarityRequest& in,
                                             const Environment& environment,
                                             const ServedModel& model);

// Bytes of the response's numbers.
int64_t SimilarityBytes(const SimilarityJob& job);

// The texts of a list, as far as the cost of comparisons depends on them.
struct ComparedTexts {
  double texts = 0;
  double tokens = 0;
};
// Returns how long comparing the lists takes, in multiplications of MaxSim.
// INVALID_ARGUMENT if a call may not have so many.
absl::StatusOr<int64_t> CountComparisons(const SimilarityJob& job,
                                         const Model& model,
                                         const ComparedTexts& first,
                                         const ComparedTexts& second);

// Makes room for the numbers of all pairs.
void AddPairs(const SimilarityJob& job, v1::SimilarityResponse* out);
// Sets those of a pair of texts.
void SetPair(const SimilarityJob& job, int row, int column,
             const EmbeddingProducts& products, v1::SimilarityResponse* out);
// Adds what the model read of the next text of the first or second list.
void AddComparedText(const PreparedInput& input, bool first,
                     v1::SimilarityResponse* out);
// Repeats the texts of the first list, if there is no second.
void FinishTexts(const SimilarityJob& job, v1::SimilarityResponse* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_SIMILARITY_H_
