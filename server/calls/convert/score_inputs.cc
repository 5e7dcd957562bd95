// Converts the inputs of ScoreRequests to the tokens that the model reads.
//
// With an encoder, the text is the source, and the context is what every
// translation begins with. Without one, text and target are tokenized together,
// since how a text is cut depends on what is before it, and a token that has
// bytes of both belongs to the target.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "server/calls/convert/score.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// Reading a given token id costs about as much as so many bytes of a text.
constexpr int64_t kIdBytes = 4;

int CountCodePoints(std::string_view text) {
  int count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(FirstCodePoint(text).size);
  return count;
}

class ScoreInputReader {
 public:
  explicit ScoreInputReader(const InputOptions& options) : options_(options) {}

  absl::StatusOr<ScoreParts> SourceAndTarget(const v1::ScoreInput& in,
                                             const std::string& path) const {
    if (in.context_case() == v1::ScoreInput::CONTEXT_NOT_SET) {
      return InvalidField(path, "has no source; set text or ids");
    }
    v1::Input source;
    if (in.has_text()) source.set_text(in.text());
    if (in.has_ids()) *source.mutable_ids()->mutable_ids() = in.ids().ids();
    TRIVIUM_ASSIGN_OR_RETURN(PreparedInput input,
                             ConvertInput(source, path, options_));
    ScoreParts parts{.source = std::move(input.source.ids),
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

  absl::StatusOr<ScoreParts> PromptAndTarget(const v1::ScoreInput& in,
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
    ScoreParts parts;
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

  // The token of an id, without a place in a text.
  Token TokenOf(int32_t id) const {
    Token token;
    token.id = id;
    if (model().tokenizer() != nullptr) {
      token.piece = model().tokenizer()->IdToPiece(id, TextSide::kTarget);
    }
    return token;
  }

 private:
  absl::StatusOr<std::vector<Token>> Tokens(const std::string& text,
                                            const std::string& path,
                                            TextSide side,
                                            bool add_special_tokens) const {
    if (model().tokenizer() == nullptr) {
      return absl::FailedPreconditionError(
          path + ": the model's folder has no tokenizer; send ids");
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckTextBytes(text.size(), path, *options_.limits));
    EncodeOptions options;
    options.side = side;
    options.add_special_tokens = add_special_tokens;
    // One more token than may be read, so that a longer text is noticed.
    options.most_tokens = model().info().max_target_tokens + 1;
    options.check_alive = options_.check_alive;
    return AboutText(model().tokenizer()->Tokenize(text, options), path);
  }

  absl::StatusOr<std::vector<Token>> TargetIds(const v1::ScoreInput& in,
                                               const std::string& path) const {
    if (in.target_ids().ids_size() > model().info().max_target_tokens + 1) {
      return TooManyToScore(path, model());
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::vector<int32_t> ids,
        CheckIds(in.target_ids().ids(), path + ".target_ids",
                 model().info().vocabulary));
    std::vector<Token> tokens;
    for (const int32_t id : ids) tokens.push_back(TokenOf(id));
    return tokens;
  }

  const Model& model() const { return *options_.model; }

  const InputOptions& options_;
};

}  // namespace

int64_t TextBytes(const v1::ScoreInput& in) {
  return TextBytes(in.text()) + TextBytes(in.target()) +
         kIdBytes * in.target_ids().ids_size();
}

absl::Status TooManyToScore(const std::string& path, const Model& model) {
  return InvalidField(
      path, fmt::format("has more than {} tokens with what stands before "
                        "them, and the model reads no more; send less",
                        model.info().max_target_tokens + 1));
}

absl::StatusOr<ScoreParts> ReadScoreInput(const v1::ScoreInput& in,
                                          const std::string& path,
                                          const ScoreJob& job) {
  if (in.scored_case() == v1::ScoreInput::SCORED_NOT_SET) {
    return InvalidField(path, "has nothing to score; set target or target_ids");
  }
  const Model& model = *job.options.model;
  const bool encodes = model.info().design == Design::kEncoderDecoder;
  const ScoreInputReader reader(job.options);
  TRIVIUM_ASSIGN_OR_RETURN(ScoreParts parts,
                           encodes ? reader.SourceAndTarget(in, path)
                                   : reader.PromptAndTarget(in, path));
  const std::vector<int32_t>& ends = model.decoding_defaults().end_ids;
  if (job.end_token.value_or(encodes && in.has_target() && !ends.empty())) {
    parts.target.push_back(reader.TokenOf(ends.front()));
  }
  if (parts.target.empty()) {
    return InvalidField(path, "has no tokens to score");
  }
  return parts;
}

}  // namespace trivium
