// Converts inputs of requests to ids, and checks them.
//
// Cheap checks come first: the bytes of a text, and then its tokens. Of a text
// that has far more tokens than the model reads, only a beginning is tokenized
// (EncodeOptions::most_tokens) before it is refused. With an encoder, the input
// is the source, and the prefix is what the decoder begins with: the model's
// start tokens, a forced first token if the target prefix does not have it
// already, and the target prefix. Without an encoder, the input is the prefix.
#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "server/calls/convert/convert.h"
#include "server/calls/environment.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

absl::StatusOr<std::vector<int32_t>> CheckTypes(const v1::InputIds& in,
                                                const std::string& path,
                                                const ModelInfo& info) {
  if (in.type_ids_size() != 0 && in.type_ids_size() != in.ids_size()) {
    return InvalidField(path + ".type_ids",
                        fmt::format("has {} for {} ids; give one for each, or "
                                    "none",
                                    in.type_ids_size(), in.ids_size()));
  }
  std::vector<int32_t> types(in.type_ids_size());
  for (int i = 0; i < in.type_ids_size(); ++i) {
    if (in.type_ids(i) >= static_cast<uint32_t>(info.type_vocabulary)) {
      return InvalidField(
          fmt::format("{}.type_ids[{}]", path, i),
          info.type_vocabulary == 0
              ? "is given, but the model has no segments"
              : fmt::format("is {}; the model's are 0 .. {}", in.type_ids(i),
                            info.type_vocabulary - 1));
    }
    types[i] = static_cast<int32_t>(in.type_ids(i));
  }
  return types;
}

// A model may have a vocabulary for each side; only the tokenizer knows both.
int VocabularySize(const Model& model, TextSide side) {
  return model.tokenizer() != nullptr &&
                 model.info().design == Design::kEncoderDecoder
             ? std::max(model.tokenizer()->vocabulary_size(side),
                        side == TextSide::kTarget ? model.info().vocabulary : 0)
             : model.info().vocabulary;
}

// Takes from a prompt's beginning what the model reads as one token, whatever
// the tokenizer makes of it.
std::optional<int32_t> TakeMarker(const InputOptions& options,
                                  std::string* prompt) {
  const MultiVectors* const multi =
      options.model->sentence_encoder().multi_vectors();
  if (multi == nullptr || prompt->empty()) return std::nullopt;
  return multi->TakeMarker(prompt);
}

// Puts a marker behind the first token, which is a special one.
void AddMarker(int32_t marker, Encoding* encoding) {
  const auto at = std::min<size_t>(1, encoding->ids.size());
  encoding->ids.insert(encoding->ids.begin() + at, marker);
  if (!encoding->tokens.empty()) {
    Token token;
    token.id = marker;
    token.special = true;
    token.text_index = -1;
    encoding->tokens.insert(encoding->tokens.begin() + at, std::move(token));
  }
  if (encoding->type_ids.empty()) return;
  encoding->type_ids.insert(encoding->type_ids.begin() + at, 0);
}

// The most tokens of an input.
int MostTokens(const v1::Input& in, const InputOptions& options) {
  const ModelInfo& info = options.model->info();
  if (info.design == Design::kDecoder) return info.max_target_tokens - 1;
  const MultiVectors* const multi =
      options.model->sentence_encoder().multi_vectors();
  const int most =
      multi != nullptr && in.has_text() ? multi->MostTokens(options.kind) : 0;
  return most > 0 ? std::min(most, info.max_source_tokens)
                  : info.max_source_tokens;
}

// Sets `text_begin` to the bytes before a text in what its tokens are of.
absl::StatusOr<Encoding> EncodeInput(const v1::Input& in,
                                     const std::string& path, int limit,
                                     const InputOptions& options,
                                     size_t* text_begin) {
  EncodeOptions encode;
  encode.prefix_ids = options.direction.prefix_ids;
  encode.suffix_ids = options.direction.suffix_ids;
  encode.add_special_tokens = options.direction.add_special_tokens;
  encode.max_tokens = options.truncate ? limit : 0;
  encode.truncate_left = options.truncate_left;
  encode.most_tokens = limit;
  encode.with_tokens = options.tokens;
  encode.check_alive = options.check_alive;
  const Tokenizer* tokenizer = options.model->tokenizer();
  std::string prompt = options.direction.text_prefix + options.prompt;
  switch (in.input_case()) {
    case v1::Input::kText: {
      TRIVIUM_RETURN_IF_ERROR(CheckText(in.text(), path + ".text", options));
      const std::optional<int32_t> marker = TakeMarker(options, &prompt);
      *text_begin = prompt.size();
      // The marker needs room, too.
      if (marker && encode.max_tokens > 1) --encode.max_tokens;
      TRIVIUM_ASSIGN_OR_RETURN(
          Encoding encoding,
          AboutText(
              tokenizer->Encode(prompt.empty() ? in.text() : prompt + in.text(),
                                encode),
              path + ".text"));
      if (marker) AddMarker(*marker, &encoding);
      return encoding;
    }
    case v1::Input::kPair:
      TRIVIUM_RETURN_IF_ERROR(
          CheckText(in.pair().first(), path + ".pair.first", options));
      TRIVIUM_RETURN_IF_ERROR(
          CheckText(in.pair().second(), path + ".pair.second", options));
      return AboutText(
          tokenizer->EncodePair(in.pair().first(), in.pair().second(), encode),
          path + ".pair");
    case v1::Input::kIds: {
      Encoding encoding;
      TRIVIUM_ASSIGN_OR_RETURN(
          encoding.ids,
          CheckIds(in.ids().ids(), path + ".ids",
                   VocabularySize(*options.model, TextSide::kSource)));
      TRIVIUM_ASSIGN_OR_RETURN(
          encoding.type_ids,
          CheckTypes(in.ids(), path + ".ids", options.model->info()));
      return encoding;
    }
    case v1::Input::INPUT_NOT_SET:
      break;
  }
  return InvalidField(path, "is empty; set text, pair or ids");
}

// Returns how many tokens of a text pooling leaves out for its prompt. As in
// sentence-transformers, these are the prompt's own and the special ones before
// it.
absl::StatusOr<int> PromptTokens(const InputOptions& options) {
  if (options.prompt.empty() ||
      options.model->sentence_encoder().includes_prompt()) {
    return 0;
  }
  EncodeOptions encode;
  encode.with_tokens = true;
  encode.check_alive = options.check_alive;
  TRIVIUM_ASSIGN_OR_RETURN(
      const Encoding prompt,
      options.model->tokenizer()->Encode(options.prompt, encode));
  const auto tokens = static_cast<int>(prompt.tokens.size());
  return tokens > 0 && prompt.tokens.back().special ? tokens - 1 : tokens;
}

// Refuses the parts of an input that only models with an encoder can use.
absl::Status CheckPrompt(const v1::Input& in, const std::string& path) {
  if (in.has_pair()) {
    return InvalidField(path + ".pair",
                        "is for models that read two texts; a prompt is one: "
                        "send text or ids");
  }
  if (in.target_case() == v1::Input::TARGET_NOT_SET) return absl::OkStatus();
  return InvalidField(
      path + (in.has_target_prefix() ? ".target_prefix" : ".target_prefix_ids"),
      "is for models with an encoder; this one's input is the prompt that it "
      "continues: put the beginning of the answer at the prompt's end");
}

}  // namespace

EncoderInput ToSource(Encoding encoding, const ModelInfo& info) {
  EncoderInput source;
  source.ids = std::move(encoding.ids);
  // Tokenizers set segments also for models that do not know them.
  if (info.type_vocabulary > 0) source.type_ids = std::move(encoding.type_ids);
  return source;
}

void CountTruncated(const PreparedInput& input, const InputOptions& options) {
  if (input.truncated == 0 || options.metrics == nullptr) return;
  options.metrics->OnTruncated(*options.served);
}

absl::Status CheckText(const std::string& text, const std::string& path,
                       const InputOptions& options) {
  if (options.model->tokenizer() == nullptr) {
    return absl::FailedPreconditionError(
        path + ": the model's folder has no tokenizer; send token ids");
  }
  return CheckTextBytes(text.size(), path, *options.limits);
}

absl::Status AboutText(const absl::Status& status, const std::string& path) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)
             ? InvalidField(path, std::string(status.message()))
             : status;
}

absl::Status CheckInputCount(int count, const std::string& path,
                             const RequestLimits& limits) {
  if (count >= 1 && count <= limits.max_inputs) return absl::OkStatus();
  return InvalidField(path, fmt::format("has {}; a call takes 1 .. {}", count,
                                        limits.max_inputs));
}

absl::Status CheckSalt(const std::string& salt) {
  // Every cached first block stores the salt.
  constexpr size_t kMostBytes = 256;
  // The salts of tokens have one (Grant::cache_salt).
  if (salt.find('\0') != std::string::npos) {
    return InvalidField("cache_salt", "has a zero byte; leave that out");
  }
  if (salt.size() <= kMostBytes) return absl::OkStatus();
  return InvalidField("cache_salt",
                      fmt::format("has {} bytes; it has at most {}: send a "
                                  "hash of what tells tenants apart",
                                  salt.size(), kMostBytes));
}

absl::Status CheckTextBytes(size_t bytes, const std::string& path,
                            const RequestLimits& limits) {
  if (static_cast<int64_t>(bytes) <= limits.max_text_bytes) {
    return absl::OkStatus();
  }
  return InvalidField(path, fmt::format("has {} bytes; a text has at most {}",
                                        bytes, limits.max_text_bytes));
}

absl::Status CheckTokenCount(const Encoding& encoding, const std::string& path,
                             int limit, const char* advice) {
  const size_t count = encoding.ids.size();
  if (count == 0) {
    return InvalidField(path, "has no tokens; the model needs at least one");
  }
  if (static_cast<int64_t>(count) <= limit) return absl::OkStatus();
  return TooManyTokens(
      path,
      fmt::format("has {}{} tokens and the model reads at most {}; {}",
                  encoding.partial ? "more than " : "", count, limit, advice));
}

absl::StatusOr<std::vector<int32_t>> CheckIds(
    const google::protobuf::RepeatedField<uint32_t>& in,
    const std::string& path, int vocabulary) {
  std::vector<int32_t> ids(in.size());
  for (int i = 0; i < in.size(); ++i) {
    if (in[i] >= static_cast<uint32_t>(vocabulary)) {
      return InvalidField(fmt::format("{}.ids[{}]", path, i),
                          fmt::format("is {}; the model's ids are 0 .. {}",
                                      in[i], vocabulary - 1));
    }
    ids[i] = static_cast<int32_t>(in[i]);
  }
  return ids;
}

int64_t TextBytes(std::string_view text) {
  // NFKC makes 18 and 8 characters of U+FDFA and U+FDFB. Of all others it makes
  // at most six times their bytes.
  constexpr std::string_view kLigatures = "\xEF\xB7\xBA\xBB";
  constexpr int64_t kMadeOfThem = 33;
  auto bytes = static_cast<int64_t>(text.size());
  const std::string_view begin = kLigatures.substr(0, 2);
  for (size_t at = text.find(begin); at != std::string_view::npos;
       at = text.find(begin, at + 3)) {
    if (at + 2 < text.size() &&
        kLigatures.substr(2).find(text[at + 2]) != std::string_view::npos) {
      bytes += kMadeOfThem - 3;
    }
  }
  return bytes;
}

absl::Status ConvertTruncation(std::optional<bool> truncate,
                               v1::TruncationDirection direction,
                               const std::string& path,
                               const Environment& environment,
                               const ServedModel& served,
                               InputOptions* options) {
  const std::string field = path + "truncation_direction";
  if (!v1::TruncationDirection_IsValid(direction)) {
    return InvalidField(
        field, fmt::format("has no value {}", static_cast<int>(direction)));
  }
  options->metrics = environment.metrics;
  options->served = &served;
  options->truncate = truncate.value_or(environment.truncate);
  options->truncate_left = direction == v1::TRUNCATION_DIRECTION_LEFT;
  if (direction != v1::TRUNCATION_DIRECTION_UNSPECIFIED && !options->truncate) {
    return InvalidField(field,
                        "is given, and texts are not cut; set truncate, too, "
                        "or leave it out");
  }
  return absl::OkStatus();
}

int64_t TextBytes(const v1::TranslateOptions& in) {
  // However short a term is, it is a text of its own, in several forms.
  constexpr int64_t kBytesOfTerm = 32;
  // A pattern is compiled and searched for in each text, which takes
  // milliseconds.
  constexpr int64_t kBytesOfPattern = 4096;
  int64_t bytes = kBytesOfPattern * in.protect().patterns_size();
  for (const v1::GlossaryTerm& term : in.glossary().terms()) {
    bytes += kBytesOfTerm + TextBytes(term.source()) + TextBytes(term.target());
  }
  return bytes;
}

int64_t TextBytes(const v1::Input& in) {
  return TextBytes(in.text()) + TextBytes(in.pair().first()) +
         TextBytes(in.pair().second()) + TextBytes(in.target_prefix());
}

absl::StatusOr<std::vector<int32_t>> ConvertTargetPrefix(
    const v1::Input& in, const std::string& path, const InputOptions& options) {
  std::vector<int32_t> ids;
  if (in.target_case() == v1::Input::TARGET_NOT_SET) return ids;
  if (!options.decodes) {
    return InvalidField(path,
                        "has a target prefix, but the call decodes nothing");
  }
  if (in.target_case() == v1::Input::kTargetPrefixIds) {
    return CheckIds(in.target_prefix_ids().ids(), path + ".target_prefix_ids",
                    VocabularySize(*options.model, TextSide::kTarget));
  }
  TRIVIUM_RETURN_IF_ERROR(
      CheckText(in.target_prefix(), path + ".target_prefix", options));
  const int most = options.model->info().max_target_tokens;
  EncodeOptions encode;
  encode.side = TextSide::kTarget;
  encode.add_special_tokens = false;
  encode.most_tokens = most;
  encode.check_alive = options.check_alive;
  TRIVIUM_ASSIGN_OR_RETURN(
      Encoding encoding,
      AboutText(options.model->tokenizer()->Encode(in.target_prefix(), encode),
                path + ".target_prefix"));
  if (encoding.partial) {
    return CheckTokenCount(encoding, path + ".target_prefix", most,
                           "send a shorter prefix");
  }
  return std::move(encoding.ids);
}

absl::StatusOr<PreparedInput> ConvertInput(const v1::Input& in,
                                           const std::string& path,
                                           const InputOptions& options) {
  const Model& model = *options.model;
  const ModelInfo& info = model.info();
  const bool has_encoder = info.design != Design::kDecoder;
  const int limit = MostTokens(in, options);
  if (!has_encoder) TRIVIUM_RETURN_IF_ERROR(CheckPrompt(in, path));

  PreparedInput out;
  TRIVIUM_ASSIGN_OR_RETURN(
      Encoding encoding,
      EncodeInput(in, path, limit, options, &out.text_begin));
  if (options.divides && encoding.ids.size() > static_cast<size_t>(limit)) {
    out.too_long = true;
    return out;
  }
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<int32_t> target,
                           ConvertTargetPrefix(in, path, options));
  // Without an encoder, a blank prompt is a prompt like any other. With a
  // target prefix there is something to continue.
  out.blank = options.decodes && has_encoder && target.empty() &&
              in.has_text() && IsBlank(in.text());
  if (in.has_text()) {
    TRIVIUM_ASSIGN_OR_RETURN(out.prompt_tokens, PromptTokens(options));
  }
  out.truncated = encoding.truncated;
  out.tokens = std::move(encoding.tokens);
  CountTruncated(out, options);

  if (!out.blank || !encoding.ids.empty()) {
    TRIVIUM_RETURN_IF_ERROR(CheckTokenCount(
        encoding, path, limit, in.has_ids() ? "send fewer ids" : kShorten));
  }
  if (has_encoder) {
    out.source = ToSource(std::move(encoding), info);
    out.source.route = options.route;
    const MultiVectors* const multi = model.sentence_encoder().multi_vectors();
    if (multi != nullptr && in.has_text() && options.kind == TextKind::kQuery) {
      multi->Expand(info.max_source_tokens, &out.source);
    }
    out.prefix = model.decoder_prefix();
    if (options.direction.start_id) out.prefix = {*options.direction.start_id};
    const std::optional<int32_t> first = options.direction.forced_first_id;
    out.has_target = !target.empty();
    if (out.has_target && first && target.front() != *first) {
      out.prefix.push_back(*first);
    }
  } else {
    out.prefix = std::move(encoding.ids);
  }
  out.prefix.insert(out.prefix.end(), target.begin(), target.end());
  return out;
}

}  // namespace trivium
