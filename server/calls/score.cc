// Score: computes how probable given texts are.
//
// The decoder reads context and target in one pass, as a prefix, and at each
// position of the target it is asked for the log-probability of the next token;
// nothing is searched. With an encoder, the text is the source, and the context
// is what every translation begins with. Without one, text and target are
// tokenized together, since how a text is cut depends on what is before it, and
// a token that has bytes of both belongs to the target. The result is made
// before the model is asked, and log-probabilities are filled in afterwards.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "server/calls/convert/convert.h"
#include "server/calls/handlers.h"
#include "server/calls/unary.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// About how many bytes a ScoredToken with a short piece takes on the wire, and
// an alternative.
constexpr int64_t kScoredTokenBytes = 40;
constexpr int64_t kAlternativeBytes = 24;
// Reading a given token id costs about as much as so many bytes of a text.
constexpr int64_t kIdBytes = 4;

int CountCodePoints(std::string_view text) {
  int count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(FirstCodePoint(text).size);
  return count;
}

class ScoreCall final : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  // The tokens of an input.
  struct Parts {
    std::vector<int32_t> source;   // for the encoder, if there is one
    std::vector<int32_t> context;  // the decoder reads it before the target
    std::vector<Token> target;
  };

  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    if (model().info().design == Design::kEncoder) {
      return absl::FailedPreconditionError(fmt::format(
          "the model '{}' has no decoder, so it cannot Score; GetModel tells "
          "the calls it serves",
          call().model().name));
    }
    TRIVIUM_RETURN_IF_ERROR(CheckSalt(request_.cache_salt()));
    TRIVIUM_ASSIGN_OR_RETURN(options_.direction,
                             ConvertDirection(request_, "", model()));
    options_.model = &model();
    options_.limits = &limits;
    options_.check_alive = call().alive_check();
    const int top = static_cast<int>(
        std::min<uint32_t>(request_.top_logprobs(), INT32_MAX));
    if (top > limits.max_top_logprobs) {
      return InvalidField("top_logprobs",
                          fmt::format("is {}; it must be in 0 .. {}", top,
                                      limits.max_top_logprobs));
    }
    if (top > 0 && !tokens()) {
      return InvalidField("top_logprobs",
                          "is of tokens, but tokens is false; leave one of "
                          "them out");
    }
    if (request_.end_token() && model().decoding_defaults().end_ids.empty()) {
      return InvalidField("end_token",
                          "is true, but the model's folder names no end token");
    }
    return CheckInputCount(request_.inputs_size(), "inputs", limits);
  }

  int parts() const override { return request_.inputs_size(); }
  int64_t TextBytes(int part) const override {
    const v1::ScoreInput& in = request_.inputs(part);
    return trivium::TextBytes(in.text()) + trivium::TextBytes(in.target()) +
           kIdBytes * in.target_ids().ids_size();
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    const v1::ScoreInput& in = request_.inputs(part);
    const std::string path = FieldOfPart(part);
    if (in.scored_case() == v1::ScoreInput::SCORED_NOT_SET) {
      return InvalidField(path,
                          "has nothing to score; set target or "
                          "target_ids");
    }
    Parts parts;
    TRIVIUM_ASSIGN_OR_RETURN(parts, encodes() ? SourceAndTarget(in, path)
                                              : PromptAndTarget(in, path));
    if (AddsEnd(in)) {
      const int32_t end = model().decoding_defaults().end_ids.front();
      parts.target.push_back(TokenOf(end));
    }
    if (parts.target.empty()) {
      return InvalidField(path, "has no tokens to score");
    }
    return Add(part, path, parts, requests);
  }

  // Adds the result, without its log-probabilities, and the request for these.
  absl::Status Add(int part, const std::string& path, const Parts& parts,
                   std::vector<Request>* requests) {
    const int most = model().info().max_target_tokens;
    Request request;
    request.source.ids = parts.source;
    request.prefix = parts.context;
    request.salt = request_.cache_salt();
    for (const Token& token : parts.target) request.prefix.push_back(token.id);
    // The decoder does not read the last token.
    if (request.prefix.size() > static_cast<size_t>(most) + 1) {
      return TooMany(path);
    }
    const size_t unscored = parts.context.empty() ? 1 : 0;
    v1::ScoreResult* result = response_.add_results();
    result->set_context_token_count(static_cast<uint32_t>(
        encodes() ? parts.source.size() : parts.context.size()));
    result->set_token_count(
        static_cast<uint32_t>(parts.target.size() - unscored));
    int64_t bytes = kScoredTokenBytes;
    for (const Token& token : parts.target) {
      if (!tokens()) break;
      bytes += kScoredTokenBytes + static_cast<int64_t>(token.piece.size()) +
               request_.top_logprobs() * kAlternativeBytes;
      v1::ScoredToken* added = result->add_tokens();
      added->set_id(static_cast<uint32_t>(token.id));
      added->set_piece(token.piece);
      added->set_byte_begin(token.byte_begin);
      added->set_byte_end(token.byte_end);
      added->set_char_begin(token.char_begin);
      added->set_char_end(token.char_end);
    }
    ExpectResponseBytes(bytes);
    // The result waits for the model from now on.
    call().Hold(Held::kResults, bytes);
    if (result->token_count() == 0) return absl::OkStatus();
    request.scoring =
        Scoring{.first = static_cast<int>(parts.context.size() + unscored),
                .top_logprobs = static_cast<int>(request_.top_logprobs())};
    requests->push_back(std::move(request));
    part_of_request_.push_back(part);
    return absl::OkStatus();
  }

  absl::StatusOr<Parts> SourceAndTarget(const v1::ScoreInput& in,
                                        const std::string& path) const {
    if (in.context_case() == v1::ScoreInput::CONTEXT_NOT_SET) {
      return InvalidField(path, "has no source; set text or ids");
    }
    v1::Input source;
    if (in.has_text()) source.set_text(in.text());
    if (in.has_ids()) *source.mutable_ids()->mutable_ids() = in.ids().ids();
    TRIVIUM_ASSIGN_OR_RETURN(PreparedInput input,
                             ConvertInput(source, path, options_));
    Parts parts{.source = std::move(input.source.ids),
                .context = std::move(input.prefix),
                .target = {}};
    if (in.has_target_ids()) {
      TRIVIUM_ASSIGN_OR_RETURN(parts.target, TargetIds(in, path));
      return parts;
    }
    // A forced first token (the language of a translation) is not the model's
    // choice, so it is not scored.
    if (const auto first = options_.direction.forced_first_id) {
      parts.context.push_back(*first);
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        parts.target, Tokens(in.target(), path, TextSide::kTarget, false));
    return parts;
  }

  absl::StatusOr<Parts> PromptAndTarget(const v1::ScoreInput& in,
                                        const std::string& path) const {
    if (in.has_ids() && in.has_target()) {
      return InvalidField(path + ".target",
                          "is text after ids; how texts are cut into tokens "
                          "depends on what is before them: send both as text, "
                          "or both as ids");
    }
    if (in.has_text() && in.has_target_ids()) {
      return InvalidField(path + ".target_ids",
                          "are ids after text: send both as text, or both as "
                          "ids");
    }
    Parts parts;
    if (in.has_target_ids()) {
      TRIVIUM_ASSIGN_OR_RETURN(parts.target, TargetIds(in, path));
      TRIVIUM_ASSIGN_OR_RETURN(
          parts.context,
          CheckIds(in.ids().ids(), path + ".ids", model().info().vocabulary));
      return parts;
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        std::vector<Token> tokens,
        Tokens(in.text() + in.target(), path, TextSide::kSource, true));
    // An end token that the tokenizer adds is not part of the text.
    while (!tokens.empty() && tokens.back().text_index < 0) tokens.pop_back();
    const int bytes = static_cast<int>(in.text().size());
    const int chars = CountCodePoints(in.text());
    const auto first =
        std::find_if(tokens.begin(), tokens.end(), [bytes](const Token& token) {
          return token.text_index >= 0 && token.byte_end > bytes;
        });
    for (auto it = tokens.begin(); it != first; ++it) {
      parts.context.push_back(it->id);
    }
    for (auto it = first; it != tokens.end(); ++it) {
      it->byte_begin = std::max(it->byte_begin - bytes, 0);
      it->byte_end = std::max(it->byte_end - bytes, 0);
      it->char_begin = std::max(it->char_begin - chars, 0);
      it->char_end = std::max(it->char_end - chars, 0);
    }
    parts.target.assign(first, tokens.end());
    return parts;
  }

  absl::StatusOr<std::vector<Token>> Tokens(const std::string& text,
                                            const std::string& path,
                                            TextSide side,
                                            bool add_special_tokens) const {
    if (model().tokenizer() == nullptr) {
      return absl::FailedPreconditionError(
          path + ": the model's folder has no tokenizer; send ids");
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckTextBytes(text.size(), path, environment().limits));
    EncodeOptions options;
    options.side = side;
    options.add_special_tokens = add_special_tokens;
    // One more token than may be read, so that a longer text is noticed.
    options.most_tokens = model().info().max_target_tokens + 1;
    options.check_alive = options_.check_alive;
    return AboutText(model().tokenizer()->Tokenize(text, options), path);
  }

  absl::Status TooMany(const std::string& path) const {
    return InvalidField(
        path, fmt::format("has more than {} tokens with what stands before "
                          "them, and the model reads no more; send less",
                          model().info().max_target_tokens + 1));
  }

  absl::StatusOr<std::vector<Token>> TargetIds(const v1::ScoreInput& in,
                                               const std::string& path) const {
    if (in.target_ids().ids_size() > model().info().max_target_tokens + 1) {
      return TooMany(path);
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::vector<int32_t> ids,
        CheckIds(in.target_ids().ids(), path + ".target_ids",
                 model().info().vocabulary));
    std::vector<Token> tokens;
    for (const int32_t id : ids) tokens.push_back(TokenOf(id));
    return tokens;
  }

  Token TokenOf(int32_t id) const {
    Token token;
    token.id = id;
    if (model().tokenizer() != nullptr) {
      token.piece = model().tokenizer()->IdToPiece(id, TextSide::kTarget);
    }
    return token;
  }

  absl::Status HandleResult(int index, RequestResult result) override {
    v1::ScoreResult* out = response_.mutable_results(part_of_request_[index]);
    const Hypothesis& scored = *result.scored;
    out->set_total_logprob(scored.log_probability);
    // Without a context, the first token has no probability.
    const size_t first = out->tokens_size() - scored.ids.size();
    for (size_t i = 0; tokens() && i < scored.ids.size(); ++i) {
      v1::ScoredToken* token = out->mutable_tokens(static_cast<int>(first + i));
      token->set_logprob(scored.logprobs[i]);
      if (scored.top_logprobs.empty()) continue;
      v1::TokenLogprobs logprobs =
          ConvertLogprobs(scored.ids[i], scored.logprobs[i],
                          scored.top_logprobs[i], model().tokenizer());
      *token->mutable_alternatives() =
          std::move(*logprobs.mutable_alternatives());
    }
    return absl::OkStatus();
  }

  const google::protobuf::Message& Response() override {
    return WithTimings(&response_);
  }

  static std::string FieldOfPart(int part) {
    return fmt::format("inputs[{}]", part);
  }
  std::string FieldOf(int request) const override {
    return FieldOfPart(part_of_request_[request]);
  }

  bool encodes() const {
    return model().info().design == Design::kEncoderDecoder;
  }
  bool tokens() const { return !request_.has_tokens() || request_.tokens(); }
  bool AddsEnd(const v1::ScoreInput& in) const {
    if (request_.has_end_token()) return request_.end_token();
    return encodes() && in.has_target() &&
           !model().decoding_defaults().end_ids.empty();
  }

  v1::ScoreRequest request_;
  v1::ScoreResponse response_;
  InputOptions options_;
  std::vector<int> part_of_request_;
};

}  // namespace

std::unique_ptr<Handler> NewScore(const Environment& environment,
                                  CallContext context, Transport* transport) {
  return std::make_unique<ScoreCall>(environment, std::move(context),
                                     Rpc::kScore, transport);
}

}  // namespace trivium
