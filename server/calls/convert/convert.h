#ifndef TRIVIUM_SERVER_CALLS_CONVERT_CONVERT_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_CONVERT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/batching/request.h"
#include "server/calls/environment.h"
#include "server/translation/pipeline/model_input.h"
#include "trivium/v1/common.pb.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {

// The messages of the API to and from the types of the batcher and the model.
// `path` is a message's place in its call ("inputs[3]", "options.decoding");
// errors name the field below it in a google.rpc.BadRequest.

// A request's forced first token is there, but not the direction's or the
// folder's (ForInput).
absl::StatusOr<CallDecoding> ConvertDecoding(const v1::DecodingOptions& in,
                                             const std::string& path,
                                             const Direction& direction,
                                             const Model& model,
                                             const RequestLimits& limits);

struct InputOptions {
  const Model* model = nullptr;
  const RequestLimits* limits = nullptr;
  Direction direction;
  bool truncate = false;
  bool truncate_left = false;
  // Hear of texts that are cut, if set.
  Metrics* metrics = nullptr;
  const ServedModel* served = nullptr;
  // What texts begin with, behind the direction's prefix, not pairs or ids;
  // what a template for pairs is told.
  std::string prompt;
  bool decodes = false;  // whether a target prefix makes sense
  bool tokens = false;   // fill PreparedInput::tokens
  // Tell of what is longer than the model reads, and is not cut, by
  // PreparedInput::too_long instead of an error.
  bool divides = false;
  // Asked again and again while a long text is tokenized.
  std::function<absl::Status()> wanted = nullptr;
};

// Whether texts are cut, and where: what a message says of it, over the
// server's flag. `path`: of the message's fields, "start.", or nothing.
absl::Status ConvertTruncation(std::optional<bool> truncate,
                               v1::TruncationDirection direction,
                               const std::string& path,
                               const Environment& environment,
                               const ServedModel& served,
                               InputOptions* options);
template <typename Message>
absl::Status ConvertTruncation(const Message& in, const std::string& path,
                               const Environment& environment,
                               const ServedModel& served,
                               InputOptions* options) {
  return ConvertTruncation(
      in.has_truncate() ? std::optional(in.truncate()) : std::nullopt,
      in.truncation_direction(), path, environment, served, options);
}

// What a message's texts begin with: its prompt, the folder's of that name, or
// the folder's usual one; unset are those that the message does not have.
absl::StatusOr<std::string> ConvertPrompt(
    std::optional<std::string_view> prompt,
    std::optional<std::string_view> prompt_name, const std::string& path,
    const InputOptions& options);
template <typename Message>
absl::StatusOr<std::string> ConvertPrompt(const Message& in,
                                          const std::string& path,
                                          const InputOptions& options) {
  const auto set = [](bool has, const std::string& text) {
    return has ? std::optional<std::string_view>(text) : std::nullopt;
  };
  return ConvertPrompt(set(in.has_prompt(), in.prompt()),
                       set(in.has_prompt_name(), in.prompt_name()), path,
                       options);
}

absl::StatusOr<PreparedInput> ConvertInput(const v1::Input& in,
                                           const std::string& path,
                                           const InputOptions& options);

// A conversation, for a decoder alone; `now` is for templates that write the
// date.
absl::StatusOr<PreparedInput> ConvertChat(const v1::Chat& in,
                                          const std::string& path,
                                          absl::Time now,
                                          const InputOptions& options);

// The first text of an encoder's pairs, tokenized once for all of them. A
// model's template for pairs reads both texts of each, with options.prompt.
struct FirstOfPairs {
  std::string_view text;
  FirstText tokens;  // without a template
};
absl::StatusOr<FirstOfPairs> ConvertFirst(const std::string& text,
                                          const std::string& path,
                                          const InputOptions& options);
absl::StatusOr<PreparedInput> ConvertSecond(const FirstOfPairs& first,
                                            const std::string& text,
                                            const std::string& path,
                                            const InputOptions& options);

// At least one, and at most what a call may carry.
absl::Status CheckInputCount(int count, const std::string& path,
                             const RequestLimits& limits);

// INVALID_ARGUMENT for more bytes than a request's cache_salt may have.
absl::Status CheckSalt(const std::string& salt);

// INVALID_ARGUMENT for a text of more bytes than a text may have.
absl::Status CheckTextBytes(size_t bytes, const std::string& path,
                            const RequestLimits& limits);

// That, and FAILED_PRECONDITION where the model reads no texts.
absl::Status CheckText(const std::string& text, const std::string& path,
                       const InputOptions& options);

// What an encoder reads of an encoding.
EncoderInput ToSource(Encoding encoding, const ModelInfo& info);
// Tells the metrics of an input that was cut.
void CountTruncated(const PreparedInput& input, const InputOptions& options);

inline constexpr char kShorten[] = "send shorter text, or set truncate";

// INVALID_ARGUMENT with `advice` for more tokens than the model reads, or none.
absl::Status CheckTokenCount(const Encoding& encoding, const std::string& path,
                             int limit, const char* advice);

// The ids of a message, which are the model's: errors name `path`.ids[i].
absl::StatusOr<std::vector<int32_t>> CheckIds(
    const google::protobuf::RepeatedField<uint32_t>& in,
    const std::string& path, int vocabulary);

// Bytes of texts as their tokenizing costs: where normalization makes far more
// of a character, of what it makes. Many are tokenized on a pool.
int64_t TextBytes(std::string_view text);
int64_t TextBytes(const v1::Input& in);
// Of patterns and the glossary.
int64_t TextBytes(const v1::TranslateOptions& in);

// Options for one input: max_new_tokens resolved (`source_tokens` decides the
// default where `per_source`, as for translations) and checked against what the
// model has left after the prefix.
absl::StatusOr<DecodingOptions> ForInput(const CallDecoding& decoding,
                                         const PreparedInput& input,
                                         const Direction& direction,
                                         bool per_source,
                                         const std::string& path,
                                         const Model& model);

// Layers and heads are checked against the stack's sizes; rows cannot be yet.
absl::StatusOr<MapSelection> ConvertSelection(const v1::AttentionSelection& in,
                                              const std::string& path,
                                              int layers, int heads);

// Of a decoder's attention to its own tokens, which not every decoder has.
absl::StatusOr<MapSelection> ConvertDecoderSelection(
    const v1::AttentionSelection& in, const std::string& path,
    const ModelInfo& info);

// Bytes of the weights that a selection gives for one pair of lengths. Rows
// that are computed but not sent count for a sixteenth: they take memory.
int64_t AttentionBytes(const MapSelection& selection, int layers, int heads,
                       int64_t queries, int64_t keys);

// INVALID_ARGUMENT with the size when a response of about `bytes` is over the
// limit; asked before anything is computed.
absl::Status CheckResponseBytes(int64_t bytes, const RequestLimits& limits);

// INVALID_ARGUMENT, too, when a response that is made, or as much of it as is,
// is over the limit.
absl::Status CheckResponseSize(int64_t bytes, const RequestLimits& limits);
absl::Status CheckResponseSize(const google::protobuf::Message& response,
                               const RequestLimits& limits);

// Languages, or a task instead. The folder's forced first token is in it, too.
absl::StatusOr<Direction> ConvertDirection(
    std::optional<std::string_view> source,
    std::optional<std::string_view> target,
    std::optional<std::string_view> task, const std::string& path,
    const Model& model);

// Those of a message that may name them; `path` ends with a dot, or is empty.
template <typename Message>
absl::StatusOr<Direction> ConvertDirection(const Message& in,
                                           const std::string& path,
                                           const Model& model) {
  const auto given = [](bool has, const std::string& text) {
    return has ? std::optional<std::string_view>(text) : std::nullopt;
  };
  std::optional<std::string_view> task;
  if constexpr (requires { in.has_task(); }) {
    task = given(in.has_task(), in.task());
  }
  return ConvertDirection(given(in.has_source_language(), in.source_language()),
                          given(in.has_target_language(), in.target_language()),
                          task, path, model);
}

// What a request's decoding options go over.
const DecodingOptions& DecodingDefaults(const Direction& direction,
                                        const Model& model);

// About what a message of the result will have; for pools, which are fair in
// bytes.
int64_t MessageBytes(const RequestResult& result);

v1::FinishReason ConvertFinishReason(FinishReason reason);
v1::TokenLogprobs ConvertLogprobs(int32_t token, float logprob,
                                  const std::vector<TokenLogprob>& top,
                                  const Tokenizer* tokenizer);
v1::Token ConvertToken(const Token& in);
// The chosen rows; those that the map does not have are left out.
v1::Attention ConvertAttention(const AttentionMap& in,
                               const std::vector<int>& rows);
// About what a search's trace takes on the wire; 0 where it is not asked for.
int64_t TraceBytes(const DecodingOptions& options);
v1::BeamTrace ConvertTrace(const BeamTrace& in, const Tokenizer* tokenizer);
google::protobuf::Duration ConvertDuration(absl::Duration duration);
v1::Model ConvertModel(const ServedModel& model, const RequestLimits& limits);

// The pieces of source ids; nothing without a tokenizer.
template <typename Pieces>
void AddPieces(const std::vector<int32_t>& ids, const Tokenizer* tokenizer,
               TextSide side, Pieces* pieces) {
  if (tokenizer == nullptr) return;
  for (const int32_t id : ids) *pieces->Add() = tokenizer->IdToPiece(id, side);
}

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_CONVERT_H_
