#ifndef TRIVIUM_SERVER_CALLS_ENCODE_WORK_H_
#define TRIVIUM_SERVER_CALLS_ENCODE_WORK_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/convert/convert.h"

namespace trivium {

// The work that Encode and EncodeStream share: checks once what the call wants,
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
    Request request;
    int64_t response_bytes = 0;  // an estimate
  };

  // The bytes that Prepare will tokenize, with the prompt (trivium::TextBytes).
  int64_t TextBytes(const v1::Input& input) const {
    return trivium::TextBytes(input) + prompt_bytes_;
  }
  // Tokenizes the input, whose field is `path`, "inputs[3]".
  absl::StatusOr<Item> Prepare(const v1::Input& input,
                               const std::string& path) const;
  v1::EncodeResult Result(const PreparedInput& input,
                          RequestResult result) const;

 private:
  EncodeWork() = default;

  const ModelInfo& info() const { return input_options_.model->info(); }
  absl::Status ReadPooling(const v1::EncodeRequest& request);
  absl::Status ReadPrompt(const v1::EncodeRequest& request);
  absl::Status ReadFormat(const v1::EncodeRequest& request);
  absl::Status ReadHiddenLayers(const v1::EncodeRequest& request);
  absl::Status CheckRows(size_t tokens, const std::string& input) const;
  // The size of an embedding before `dimensions_` cuts it; 0: none is made.
  int embedding_size() const;
  States WantedStates() const;
  int64_t ResponseBytes(size_t tokens) const;
  std::vector<float> Embedding(RequestResult* result) const;
  void AddHiddenStates(const std::vector<float>& hidden,
                       v1::EncodeResult* out) const;

  std::string path_;
  InputOptions input_options_;
  v1::Pooling pooling_ = v1::POOLING_UNSPECIFIED;  // unspecified: the folder's
  SentenceEncoder::Overrides overrides_;
  bool prompted_ = false;  // the request has a prompt
  int64_t prompt_bytes_ = 0;
  bool tokens_ = false;
  bool token_vectors_ = false;
  std::vector<int> hidden_layers_;  // in the request's order, from 0
  std::optional<int> dimensions_;
  v1::EmbeddingFormat format_ = v1::EMBEDDING_FORMAT_UNSPECIFIED;
  std::optional<MapSelection> attention_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_ENCODE_WORK_H_
