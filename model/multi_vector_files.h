#ifndef TRIVIUM_MODEL_MULTI_VECTOR_FILES_H_
#define TRIVIUM_MODEL_MULTI_VECTOR_FILES_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/multi_vectors.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The settings of multi-vector models in the folders that programs save:
//
//   sentence-transformers 6   sentence_bert_config.json of the Transformer, and
//                             the modules MultiVectorMask and Normalize
//   PyLate                    config_sentence_transformers.json
//   Stanford's ColBERT        artifact.metadata; config.json's architecture is
//                             HF_ColBERT
//   FlagEmbedding (bge-m3)    colbert_linear.pt, sparse_linear.pt

// Reads the lengths and the expansion of queries from the files of the
// Transformer in `folder`.
absl::Status ReadMultiVectorLengths(const std::string& folder,
                                    MultiVectors::Settings* settings);
// Reads the MultiVectorMask in `folder`.
absl::Status ReadMultiVectorMask(const std::string& folder,
                                 MultiVectors::Settings* settings);

// Reads PyLate's settings and the prompts that come of its prefixes. `config`
// is config_sentence_transformers.json, whose path is `file`. False if PyLate
// did not save it.
absl::StatusOr<bool> ReadPyLate(const std::string& file,
                                const nlohmann::json& config,
                                MultiVectors::Settings* settings,
                                std::map<std::string, std::string>* prompts);

// The same for a folder of Stanford's, from artifact.metadata.
absl::Status ReadStanford(const std::string& folder,
                          MultiVectors::Settings* settings,
                          std::map<std::string, std::string>* prompts);

// The additional outputs of bge-m3. Members are unset if the folder lacks the
// file.
struct M3Outputs {
  std::shared_ptr<MultiVectors> multi_vectors;
  std::optional<TokenWeights> token_weights;
};
// Reads them for states of d_model values; `tokenizer` may be null.
absl::StatusOr<M3Outputs> ReadM3Outputs(const std::string& folder, int d_model,
                                        const Tokenizer* tokenizer);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_MULTI_VECTOR_FILES_H_
