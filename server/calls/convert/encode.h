#ifndef TRIVIUM_SERVER_CALLS_CONVERT_ENCODE_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_ENCODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/convert/chunks.h"
#include "server/calls/convert/input_fields.h"

namespace trivium {

// The options of an EncodeRequest, which hold for all of its inputs.
struct EncodeJob {
  // The source of the embedding. kNone: no embedding is made.
  enum class Embedding { kNone, kPooler, kTokens };

  // The size of an embedding before `dimensions` cuts it; 0: none is made.
  int embedding_size() const;

  std::string path;  // of the request's fields, "start." or nothing
  InputOptions options;
  bool prompted = false;  // the request has a prompt
  Embedding embedding = Embedding::kTokens;
  SentenceEncoder::Overrides overrides;
  std::optional<int> dimensions;
  v1::EmbeddingFormat format = v1::EMBEDDING_FORMAT_UNSPECIFIED;
  bool sparse = false;       // a sparse embedding is made
  std::optional<int> top_k;  // of its weights
  std::optional<float> threshold;
  bool multi_vector = false;  // a vector for each token is made
  v1::EmbeddingFormat row_format = v1::EMBEDDING_FORMAT_UNSPECIFIED;
  std::optional<int> max_rows;  // of them
  bool tokens = false;
  bool token_vectors = false;
  std::vector<int> hidden_layers;  // in the request's order, from 0
  std::optional<MapSelection> attention;
  std::optional<HeadChoice> traced_head;
};

// Checks all of the request but its inputs. `check_alive` is InputOptions'.
absl::StatusOr<EncodeJob> ReadEncode(const v1::EncodeRequest& in,
                                     const std::string& path,
                                     const Environment& environment,
                                     const ServedModel& model,
                                     AliveCheck check_alive);

// INVALID_ARGUMENT unless each input has its chunks, or none has.
absl::Status CheckChunkCount(const v1::EncodeRequest& in);

// Returns the chunks of an input, which may be none.
const v1::Chunks& ChunksOf(const v1::EncodeRequest& in, int input);

// The embeddings of a text. Those that its job does not make are empty.
struct TextEmbeddings {
  std::vector<float> dense;
  std::vector<SparseWeight> sparse;
  VectorRows rows;
};

// Returns the result of an input.
v1::EncodeResult WriteEncoded(const EncodeJob& job, const PreparedInput& input,
                              TextEmbeddings embeddings,
                              const RequestResult& result);

// Adds a part of the input and its embedding, which is empty if the model reads
// none of it.
void AddChunk(const EncodeJob& job, const ChunkTokens& chunk,
              const std::vector<float>& embedding, v1::EncodeResult* out);

// Adds the result of the next input.
void AddEncoded(v1::EncodeResult result, v1::EncodeResponse* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_ENCODE_H_
