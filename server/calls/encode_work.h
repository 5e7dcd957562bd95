#ifndef TRIVIUM_SERVER_CALLS_ENCODE_WORK_H_
#define TRIVIUM_SERVER_CALLS_ENCODE_WORK_H_

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/convert/chunks.h"
#include "server/calls/convert/encode.h"

namespace trivium {

// The work that all calls of embeddings share: checks once what the call wants,
// then makes a request and a result of each input. Immutable.
class EncodeWork {
 public:
  // Checks all of `request` but its inputs. `path` is the place of its fields
  // in their message, "start." or nothing; `check_alive` is InputOptions'.
  static absl::StatusOr<EncodeWork> Create(const Environment& environment,
                                           const ServedModel& model,
                                           const v1::EncodeRequest& request,
                                           const std::string& path,
                                           AliveCheck check_alive);

  struct Item {
    PreparedInput input;
    std::vector<ChunkTokens> chunks;
    Request request;
    int64_t response_bytes = 0;  // an estimate
  };

  // The bytes that Prepare will tokenize, with the prompt (trivium::TextBytes).
  int64_t TextBytes(const v1::Input& input) const {
    return trivium::TextBytes(input) + prompt_bytes_;
  }
  // Tokenizes the input, whose field is `path`, "inputs[3]".
  absl::StatusOr<Item> Prepare(const v1::Input& input,
                               const std::string& path) const {
    return Prepare(input, path, v1::Chunks(), "");
  }
  // The same, and finds the tokens of chunks, whose field is `chunks_path`.
  absl::StatusOr<Item> Prepare(const v1::Input& input, const std::string& path,
                               const v1::Chunks& chunks,
                               const std::string& chunks_path) const;
  // Makes the embeddings; may move from the result.
  absl::StatusOr<TextEmbeddings> Embed(const PreparedInput& input,
                                       RequestResult* result) const;
  absl::StatusOr<v1::EncodeResult> Result(const Item& item,
                                          RequestResult result) const;

 private:
  explicit EncodeWork(EncodeJob job)
      : job_(std::move(job)),
        prompt_bytes_(trivium::TextBytes(job_.options.prompt)) {}

  const ModelInfo& info() const { return job_.options.model->info(); }
  absl::Status CheckRows(size_t tokens, const std::string& input) const;
  absl::Status CheckChunks(const v1::Input& input,
                           const std::string& path) const;
  States WantedStates(bool has_chunks) const;
  int64_t ResponseBytes(size_t tokens, size_t chunks) const;
  const SentenceEncoder& sentences() const {
    return job_.options.model->sentence_encoder();
  }
  // True if the engine makes the sparse embedding; else it is made of states.
  bool engine_makes_sparse() const {
    return job_.sparse && !sentences().makes_sparse();
  }
  SentenceEncoder::Overrides OverridesFor(const PreparedInput& input) const;
  std::vector<float> Dense(const PreparedInput& input,
                           RequestResult* result) const;
  // Keeps the largest weights, as the call or the model says.
  std::vector<SparseWeight> Sparse(const PreparedInput& input,
                                   RequestResult* result) const;
  // Cuts an embedding to the dimensions that are asked for.
  std::vector<float> Cut(std::vector<float> embedding) const;
  // Adds the embeddings of chunks, whose tokens have `states`.
  absl::Status AddChunks(const std::vector<ChunkTokens>& chunks,
                         std::span<const float> states,
                         v1::EncodeResult* out) const;

  EncodeJob job_;
  int64_t prompt_bytes_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_ENCODE_WORK_H_
