#ifndef TRIVIUM_MODEL_STATIC_MODEL_H_
#define TRIVIUM_MODEL_STATIC_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "model/model.h"
#include "model/sentence_modules.h"

namespace trivium {

// Loads a list of modules (ReadsTable) of the folder `root`: a table, of f32 in
// every precision, and a tokenizer without special tokens.
//
//   StaticEmbedding: the mean of the rows of "embedding.weight" [vocabulary,
//   width]. model2vec's files have "embeddings" [any, width] instead, and may
//   have "mapping" [vocabulary], the row of each token, and "weights"
//   [vocabulary], a factor for each token.
//
//   SparseStaticEmbedding: "weight" [vocabulary] of the tokens that a text has,
//   once for each (inference-free queries).
//
// Errors name the file, what is wrong and what to do.
absl::StatusOr<std::unique_ptr<Model>> LoadStaticModel(const std::string& root,
                                                       const ModuleList& list);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_STATIC_MODEL_H_
