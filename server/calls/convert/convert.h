#ifndef TRIVIUM_SERVER_CALLS_CONVERT_CONVERT_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_CONVERT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "server/batching/request.h"
#include "server/limits/request_limits.h"
#include "server/observability/metrics.h"
#include "server/translation/pipeline/model_input.h"
#include "trivium/v1/common.pb.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {

struct Environment;

// Converts the messages of the API to the types of the batcher and the model,
// and back. `path` is a message's place in its call ("inputs[3]",
// "options.decoding"); errors name the field below it in a
// google.rpc.BadRequest.

// Returns the decoding options for all inputs of a call. The request's go
// before the model folder's, and these before the documented defaults. The
// result has the request's forced first token; those of the direction and of
// the folder are left to ForInput.
absl::StatusOr<CallDecoding> ConvertDecoding(const v1::DecodingOptions& in,
                                             const std::string& path,
                                             const Direction& direction,
                                             const Model& model,
                                             const RequestLimits& limits);

struct InputOptions {
  const Model* model = nullptr;
  int route = 0;  // EncoderInput::route of its sources (Model::ReaderOf)
  // The kind of all texts, for models that read queries and documents
  // differently.
  std::optional<TextKind> kind;
  const RequestLimits* limits = nullptr;
  Direction direction;
  bool truncate = false;
  bool truncate_left = false;
  // Count the texts that are cut; null: nothing does.
  Metrics* metrics = nullptr;
  const ServedModel* served = nullptr;
  // Put before texts (not pairs or ids), after the direction's prefix. A
  // template for pairs gets it as it is.
  std::string prompt;
  absl::Time now = {};   // for prompts that write the date
  bool decodes = false;  // a target prefix is allowed
  bool tokens = false;   // fill PreparedInput::tokens
  // The caller divides texts that are longer than the model reads: they set
  // PreparedInput::too_long, which is not an error.
  bool divides = false;
  // Called while a long text is read.
  AliveCheck check_alive;
};

// Sets whether texts are cut, and where. The message goes before the server's
// flag. `path` is the place of the message's fields, "start." or nothing.
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

// Returns the prompt that is put before a message's texts: its own, the
// folder's of the name that it gives, or the folder's default. What the message
// does not have is unset.
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

// Returns the ids of an input's target prefix; none if it has none.
absl::StatusOr<std::vector<int32_t>> ConvertTargetPrefix(
    const v1::Input& in, const std::string& path, const InputOptions& options);

// Makes the prompt with which a decoder translates the input's text, and puts
// the target prefix behind it. The options' model has a translator prompt.
absl::StatusOr<PreparedInput> ConvertToPrompt(const v1::Input& in,
                                              const std::string& path,
                                              const InputOptions& options);

// A conversation that became a prompt.
struct ChatPrompt {
  const ChatTemplate* chat_template = nullptr;  // the model's
  std::string variables;                        // of the template, as JSON
  std::string end;  // the prompt's last bytes, as far as one author wrote them
  std::string* text = nullptr;  // unless null, becomes the whole prompt
};

// The request's tools as a JSON list, as far as the answer may call any; empty
// if it may not.
absl::StatusOr<std::string> CallableTools(const v1::Chat& in,
                                          const std::string& path);

// Prepares a conversation, for models without an encoder. `now` is for
// templates that write the date. Fills `prompt`.
absl::StatusOr<PreparedInput> ConvertChat(const v1::Chat& in,
                                          const std::string& path,
                                          absl::Time now,
                                          const InputOptions& options,
                                          ChatPrompt* prompt);

// The first text of an encoder's pairs, tokenized once for all of them. If the
// model has a template for pairs, that reads both texts of each pair instead,
// with options.prompt.
struct FirstOfPairs {
  std::string_view text;
  FirstText tokens;  // if the model has no template for pairs
};
absl::StatusOr<FirstOfPairs> ConvertFirst(const std::string& text,
                                          const std::string& path,
                                          const InputOptions& options);
absl::StatusOr<PreparedInput> ConvertSecond(const FirstOfPairs& first,
                                            const std::string& text,
                                            const std::string& path,
                                            const InputOptions& options);

// INVALID_ARGUMENT unless `count` is at least 1 and at most what a call may
// have.
absl::Status CheckInputCount(int count, const std::string& path,
                             const RequestLimits& limits);

// INVALID_ARGUMENT for more bytes than a request's cache_salt may have.
absl::Status CheckSalt(const std::string& salt);

// INVALID_ARGUMENT for a text of more bytes than a text may have.
absl::Status CheckTextBytes(size_t bytes, const std::string& path,
                            const RequestLimits& limits);

// The same, and FAILED_PRECONDITION if the model has no tokenizer.
absl::Status CheckText(const std::string& text, const std::string& path,
                       const InputOptions& options);

// The error of tokenizing the text of the field `path`, or of rendering it by a
// template. Both have limits that a text may exceed; as a retry never helps,
// these errors become INVALID_ARGUMENT about the field. Others stay as they
// are.
absl::Status AboutText(const absl::Status& status, const std::string& path);
template <typename T>
absl::StatusOr<T> AboutText(absl::StatusOr<T> read, const std::string& path) {
  if (read.ok()) return read;
  return AboutText(read.status(), path);
}

// Returns the input of an encoder that an encoding has.
EncoderInput ToSource(Encoding encoding, const ModelInfo& info);
// Counts the input in the metrics if it was cut.
void CountTruncated(const PreparedInput& input, const InputOptions& options);

inline constexpr char kShorten[] = "send shorter text, or set truncate";

// INVALID_ARGUMENT if the encoding has more tokens than `limit`, with `advice`,
// or none.
absl::Status CheckTokenCount(const Encoding& encoding, const std::string& path,
                             int limit, const char* advice);

// Returns the ids of a message. INVALID_ARGUMENT names the first one that is
// not in the vocabulary, `path`.ids[i].
absl::StatusOr<std::vector<int32_t>> CheckIds(
    const google::protobuf::RepeatedField<uint32_t>& in,
    const std::string& path, int vocabulary);

// The cost of tokenizing texts, in bytes. A character of which normalization
// makes far more counts as what becomes of it. Texts with many bytes are
// tokenized on a pool.
int64_t TextBytes(std::string_view text);
int64_t TextBytes(const v1::Input& in);
// The cost of reading the patterns and the glossary.
int64_t TextBytes(const v1::TranslateOptions& in);

// Returns the options for one input. max_new_tokens is resolved and checked
// against the room that the model has after the prefix. Its default depends on
// the number of source tokens if `per_source` is set, as for translations.
absl::StatusOr<DecodingOptions> ForInput(const CallDecoding& decoding,
                                         const PreparedInput& input,
                                         const Direction& direction,
                                         bool per_source,
                                         const std::string& path,
                                         const Model& model);

// Checks layers and heads against the stack's sizes. The number of rows is not
// known yet.
absl::StatusOr<MapSelection> ConvertSelection(const v1::AttentionSelection& in,
                                              const std::string& path,
                                              int layers, int heads);

// The same for a decoder's attention to its own tokens. INVALID_ARGUMENT if the
// decoder has a recurrence instead.
absl::StatusOr<MapSelection> ConvertDecoderSelection(
    const v1::AttentionSelection& in, const std::string& path,
    const ModelInfo& info);

// Returns the bytes of the weights that a selection gives for one pair of
// lengths. Rows that are computed but not sent take memory, so they count for a
// sixteenth.
int64_t AttentionBytes(const MapSelection& selection, int layers, int heads,
                       int64_t queries, int64_t keys);

// INVALID_ARGUMENT, with the size, if a response of about `bytes` would be over
// the limit. For use before anything is computed.
absl::Status CheckResponseBytes(int64_t bytes, const RequestLimits& limits);

// INVALID_ARGUMENT if a response, or the part of it that is made already, is
// over the limit.
absl::Status CheckResponseSize(int64_t bytes, const RequestLimits& limits);
absl::Status CheckResponseSize(const google::protobuf::Message& response,
                               const RequestLimits& limits);

// Resolves languages, or a task instead. The direction has the folder's forced
// first token, too.
absl::StatusOr<Direction> ConvertDirection(
    std::optional<std::string_view> source,
    std::optional<std::string_view> target,
    std::optional<std::string_view> task, const std::string& path,
    const Model& model);

// The direction of a text that a translator reads as it is, without its prompt.
// INVALID_ARGUMENT if languages are given: the model would not learn of them.
absl::StatusOr<Direction> DirectionOfPlainText(
    std::optional<std::string_view> source,
    std::optional<std::string_view> target, const std::string& path,
    const Model& model);

// The same for the fields of a message; `path` ends with a dot, or is empty.
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
  const auto source = given(in.has_source_language(), in.source_language());
  const auto target = given(in.has_target_language(), in.target_language());
  if constexpr (!std::is_same_v<Message, v1::TranslateOptions>) {
    if (model.translator_prompt() != nullptr) {
      return DirectionOfPlainText(source, target, path, model);
    }
  }
  return ConvertDirection(source, target, task, path, model);
}

// Returns the options that hold where a request sets none.
const DecodingOptions& DecodingDefaults(const Direction& direction,
                                        const Model& model);

// Estimates the bytes of a result's message, for the pools, which are fair in
// bytes.
int64_t MessageBytes(const RequestResult& result);

v1::FinishReason ConvertFinishReason(FinishReason reason);
v1::TokenLogprobs ConvertLogprobs(int32_t token, float logprob,
                                  const std::vector<TokenLogprob>& top,
                                  const Tokenizer* tokenizer);
v1::Token ConvertToken(const Token& in);
// Converts the chosen rows; those that the map does not have are left out.
v1::Attention ConvertAttention(const AttentionMap& in,
                               const std::vector<int>& rows);
// Estimates the bytes of a search's trace on the wire; 0 if it is not asked
// for.
int64_t TraceBytes(const DecodingOptions& options);
v1::BeamTrace ConvertTrace(const BeamTrace& in, const Tokenizer* tokenizer);
google::protobuf::Duration ConvertDuration(absl::Duration duration);
v1::Model ConvertModel(const ServedModel& model, const RequestLimits& limits);

// Adds the pieces of ids; nothing if there is no tokenizer.
template <typename Pieces>
void AddPieces(const std::vector<int32_t>& ids, const Tokenizer* tokenizer,
               TextSide side, Pieces* pieces) {
  if (tokenizer == nullptr) return;
  for (const int32_t id : ids) *pieces->Add() = tokenizer->IdToPiece(id, side);
}

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_CONVERT_H_
