// Encoding: EncodeParts joins the parts' texts and remembers which bytes are
// literal; TokenizeEnough limits the work; TextTokens runs the pipeline;
// Assemble truncates and adds special tokens. Offsets of tokens are in bytes of
// the original text throughout, through the spans that every step carries
// along; characters are counted at the end.
//
// Two steps keep literal text from becoming control tokens.
// AddedTokens::Extract ignores added tokens in it. Reword splits a model's
// piece that is a control token into smaller pieces, since a vocabulary may
// contain "</s>" as a piece.
//
// Decode is NewStreamingDecoder's work on all ids at once, so the two cannot
// differ.
#include "model/tokenizer/pipeline_tokenizer.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/status.h"
#include "model/tokenizer/detokenizer.h"
#include "model/tokenizer/interruption.h"
#include "model/tokenizer/text_beginning.h"
#include "model/tokenizer/truncation.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

void SetCharacters(std::string_view text, std::vector<Token>* tokens) {
  const std::vector<int> characters = CharacterOfByte(text);
  for (Token& token : *tokens) {
    token.char_begin = characters[token.byte_begin];
    token.char_end = characters[token.byte_end];
  }
}

absl::Status CheckSize(std::string_view text) {
  if (text.size() <= static_cast<size_t>(std::numeric_limits<int>::max())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "a text of 2 GiB or more is too long, cut it");
}

// Returns the parts of `spans` (ascending, disjoint) behind the first `before`
// bytes, counted from there.
std::vector<ByteSpan> Behind(uint32_t before, std::span<const ByteSpan> spans) {
  std::vector<ByteSpan> behind;
  for (const auto& [begin, end] : spans) {
    if (end <= before) continue;
    behind.push_back({std::max(begin, before) - before, end - before});
  }
  return behind;
}

}  // namespace

class PipelineTokenizer::Streaming : public StreamingDecoder {
 public:
  Streaming(const PipelineTokenizer* tokenizer, bool clean_up)
      : tokenizer_(*tokenizer), decoder_(tokenizer->parts_.decoder) {
    if (clean_up) clean_up_ = MakeCleanUp();
  }

  std::string Push(int32_t id) override {
    std::string text;
    const AddedToken* added = tokenizer_.added_.Find(id);
    if (added != nullptr) {
      if (added->special) return text;
      decoder_.Push(tokenizer_.added_.DecoderText(id), &text);
    } else if (id >= 0 && id < tokenizer_.parts_.model->size()) {
      decoder_.Push(tokenizer_.parts_.model->PieceOf(id), &text);
    }
    for (StreamingReplacer& replacer : clean_up_) {
      std::string replaced;
      replacer.Push(text, &replaced);
      text = std::move(replaced);
    }
    return text;
  }
  std::string Finish() override {
    std::string text;
    decoder_.Finish(&text);
    for (StreamingReplacer& replacer : clean_up_) {
      std::string replaced;
      replacer.Push(text, &replaced);
      replacer.Finish(&replaced);
      text = std::move(replaced);
    }
    return text;
  }

 private:
  const PipelineTokenizer& tokenizer_;
  PieceDecoder decoder_;
  std::vector<StreamingReplacer> clean_up_;
};

PipelineTokenizer::PipelineTokenizer(TokenizerParts parts)
    : parts_(std::move(parts)),
      added_(parts_.added_tokens, *parts_.model, parts_.normalizer.get()) {}

absl::StatusOr<std::unique_ptr<PipelineTokenizer>> PipelineTokenizer::Create(
    TokenizerParts parts) {
  std::unique_ptr<PipelineTokenizer> tokenizer(
      new PipelineTokenizer(std::move(parts)));
  TRIVIUM_RETURN_IF_ERROR(tokenizer->added_.status());
  return tokenizer;
}

void PipelineTokenizer::Reword(std::string_view word,
                               std::span<const ByteSpan> spans,
                               std::span<const ByteSpan> literals,
                               std::vector<TokenModel::Piece>* pieces) const {
  const auto is_control = [&](const TokenModel::Piece& piece) {
    if (!added_.IsControl(piece.id) || piece.begin == piece.end) return false;
    // The text of an unknown token is not the unknown token's own text.
    if (piece.id == parts_.model->unknown_id() &&
        word.substr(piece.begin, piece.end - piece.begin) !=
            parts_.model->PieceOf(piece.id)) {
      return false;
    }
    return Overlaps(literals, spans[piece.begin].begin,
                    spans[piece.end - 1].end);
  };
  if (std::none_of(pieces->begin(), pieces->end(), is_control)) return;
  // The first character and the rest of such a piece become words of their own,
  // again and again. A single character that is a control token is left out.
  std::vector<TokenModel::Piece> todo(pieces->rbegin(), pieces->rend());
  std::vector<TokenModel::Piece> part;
  pieces->clear();
  while (!todo.empty()) {
    const TokenModel::Piece piece = todo.back();
    todo.pop_back();
    if (!is_control(piece)) {
      pieces->push_back(piece);
      continue;
    }
    const std::string_view text =
        word.substr(piece.begin, piece.end - piece.begin);
    const uint32_t first = static_cast<uint32_t>(FirstCodePoint(text).size);
    if (first == text.size()) continue;
    const auto add = [&](uint32_t begin, uint32_t end) {
      part.clear();
      parts_.model->Tokenize(word.substr(begin, end - begin), &part);
      for (auto it = part.rbegin(); it != part.rend(); ++it) {
        todo.push_back({it->id, it->begin + begin, it->end + begin});
      }
    };
    add(piece.begin + first, piece.end);
    add(piece.begin, piece.begin + first);
  }
}

absl::StatusOr<std::vector<Token>> PipelineTokenizer::TextTokens(
    std::string_view text, const EncodeOptions& options,
    std::span<const ByteSpan> literals) const {
  std::vector<Token> tokens;
  if (text.empty()) return tokens;
  PreTokenizedText pre_tokenized =
      added_.Extract(text, parts_.normalizer.get(), literals);
  if (parts_.pre_tokenizer != nullptr)
    parts_.pre_tokenizer->Apply(&pre_tokenized);
  TRIVIUM_RETURN_IF_ERROR(pre_tokenized.status);
  tokens.reserve(pre_tokenized.pre_tokens.size() +
                 pre_tokenized.pre_tokens.size() / 4);
  std::vector<TokenModel::Piece> pieces;
  for (const PreTokenizedText::PreToken& pre_token : pre_tokenized.pre_tokens) {
    if (Interrupted(pre_token.end - pre_token.begin)) break;
    pieces.clear();
    if (pre_token.token >= 0) {
      pieces.push_back({pre_token.token, 0, pre_token.end - pre_token.begin});
    } else {
      parts_.model->Tokenize(pre_token.view(pre_tokenized.text), &pieces);
      if (!literals.empty()) {
        Reword(pre_token.view(pre_tokenized.text),
               std::span(pre_tokenized.spans).subspan(pre_token.begin),
               literals, &pieces);
      }
    }
    for (const TokenModel::Piece& piece : pieces) {
      Token& token = tokens.emplace_back();
      token.id = piece.id;
      if (!options.with_tokens) continue;
      const AddedToken* added = added_.Find(piece.id);
      token.special = added != nullptr && added->special;
      token.piece = pre_token.token >= 0 ? pre_token.view(pre_tokenized.text)
                                         : parts_.model->PieceOf(piece.id);
      if (piece.end == piece.begin) {
        // An inserted space in front comes from where the next character comes
        // from.
        const size_t at = pre_token.begin + piece.begin;
        const bool inside = at < pre_token.end;
        const ByteSpan& span = pre_tokenized.spans[inside ? at : at - 1];
        token.byte_begin = static_cast<int>(inside ? span.begin : span.end);
        token.byte_end = static_cast<int>(span.end);
      } else {
        token.byte_begin = static_cast<int>(
            pre_tokenized.spans[pre_token.begin + piece.begin].begin);
        token.byte_end = static_cast<int>(
            pre_tokenized.spans[pre_token.begin + piece.end - 1].end);
      }
    }
  }
  if (options.with_tokens) parts_.post_processor.TrimOffsets(text, &tokens);
  return tokens;
}

absl::StatusOr<std::vector<Token>> PipelineTokenizer::EnoughTokens(
    std::string_view text, const EncodeOptions& options, bool* partial,
    std::span<const ByteSpan> literals) const {
  TRIVIUM_RETURN_IF_ERROR(CheckSize(text));
  TRIVIUM_ASSIGN_OR_RETURN(
      std::vector<Token> tokens,
      TokenizeEnough(
          text, options,
          [&](std::string_view some) {
            const auto before =
                static_cast<uint32_t>(some.data() - text.data());
            return TextTokens(some, options, Behind(before, literals));
          },
          partial));
  if (options.with_tokens) SetCharacters(text, &tokens);
  return tokens;
}

absl::StatusOr<Encoding> PipelineTokenizer::Assemble(
    std::vector<Token> first, std::optional<std::vector<Token>> second,
    const EncodeOptions& options, bool partial) const {
  size_t added = options.prefix_ids.size() + options.suffix_ids.size();
  if (options.add_special_tokens) {
    added += parts_.post_processor.special_token_count(second.has_value());
  }
  Encoding encoding;
  encoding.partial = partial;
  TRIVIUM_ASSIGN_OR_RETURN(encoding.truncated,
                           Truncate(options, added, &first, &second));
  // A long text's tokens take far more memory than the text: no second list.
  std::vector<Token> tokens = parts_.post_processor.Join(
      std::move(first), std::move(second), options.add_special_tokens);
  const auto insert = [&](std::span<const int32_t> ids, auto at) {
    std::vector<Token> specials;
    for (const int32_t id : ids) {
      Token& token = specials.emplace_back();
      token.id = id;
      token.piece = IdToPiece(id, options.side);
      token.special = true;
      token.text_index = -1;
    }
    tokens.insert(at, std::move_iterator(specials.begin()),
                  std::move_iterator(specials.end()));
  };
  insert(options.prefix_ids, tokens.begin());
  insert(options.suffix_ids, tokens.end());
  if (!parts_.tells_types) {
    for (Token& token : tokens) token.type_id = 0;
  }
  encoding.ids.reserve(tokens.size());
  encoding.type_ids.reserve(tokens.size());
  for (const Token& token : tokens) {
    encoding.ids.push_back(token.id);
    encoding.type_ids.push_back(token.type_id);
  }
  if (options.with_tokens) encoding.tokens = std::move(tokens);
  return encoding;
}

absl::StatusOr<Encoding> PipelineTokenizer::Encode(
    std::string_view text, const EncodeOptions& options) const {
  bool partial = false;
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Token> tokens,
                           EnoughTokens(text, options, &partial));
  return Assemble(std::move(tokens), std::nullopt, options, partial);
}

absl::StatusOr<Encoding> PipelineTokenizer::EncodeParts(
    std::span<const TextPart> parts, const EncodeOptions& options) const {
  size_t size = 0;
  for (const TextPart& part : parts) size += part.text.size();
  std::string text;
  text.reserve(size);
  std::vector<ByteSpan> literals;
  for (const TextPart& part : parts) {
    const uint32_t begin = static_cast<uint32_t>(text.size());
    text += part.text;
    TRIVIUM_RETURN_IF_ERROR(CheckSize(text));
    if (!part.literal || part.text.empty()) continue;
    const uint32_t end = static_cast<uint32_t>(text.size());
    if (!literals.empty() && literals.back().end == begin) {
      literals.back().end = end;
    } else {
      literals.push_back({begin, end});
    }
  }
  bool partial = false;
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Token> tokens,
                           EnoughTokens(text, options, &partial, literals));
  return Assemble(std::move(tokens), std::nullopt, options, partial);
}

absl::StatusOr<FirstText> PipelineTokenizer::TokenizeFirst(
    std::string_view first, const EncodeOptions& options) const {
  FirstText out;
  TRIVIUM_ASSIGN_OR_RETURN(out.tokens,
                           EnoughTokens(first, options, &out.partial));
  return out;
}

absl::StatusOr<Encoding> PipelineTokenizer::EncodeSecond(
    const FirstText& first, std::string_view second,
    const EncodeOptions& options) const {
  bool partial = false;
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Token> tokens,
                           EnoughTokens(second, options, &partial));
  return Assemble(first.tokens, std::move(tokens), options,
                  first.partial || partial);
}

absl::StatusOr<std::vector<Token>> PipelineTokenizer::AddSpecialTokens(
    std::vector<Token> first, std::optional<std::vector<Token>> second) const {
  return parts_.post_processor.Join(std::move(first), std::move(second),
                                    /*add_special_tokens=*/true);
}

int PipelineTokenizer::special_token_count(bool pair) const {
  return parts_.post_processor.special_token_count(pair);
}

SpecialTokenIds PipelineTokenizer::special_token_ids() const {
  return parts_.special_ids;
}

std::string PipelineTokenizer::Decode(std::span<const int32_t> ids) const {
  Streaming decoder(this, parts_.clean_up_spaces);
  std::string text;
  for (const int32_t id : ids) text += decoder.Push(id);
  text += decoder.Finish();
  return text;
}

std::unique_ptr<StreamingDecoder> PipelineTokenizer::NewStreamingDecoder()
    const {
  return std::make_unique<Streaming>(this, parts_.clean_up_spaces);
}

std::unique_ptr<StreamingDecoder> PipelineTokenizer::NewJoiningDecoder() const {
  if (!PieceDecoder(parts_.decoder).joins_pieces()) return nullptr;
  return std::make_unique<Streaming>(this, /*clean_up=*/false);
}

int PipelineTokenizer::vocabulary_size(TextSide) const {
  return std::max(parts_.model->size(), added_.size());
}

std::string PipelineTokenizer::IdToPiece(int32_t id, TextSide) const {
  const AddedToken* added = added_.Find(id);
  return added != nullptr ? added->content : parts_.model->PieceOf(id);
}

int32_t PipelineTokenizer::PieceToId(std::string_view piece, TextSide) const {
  const int32_t id = added_.IdOf(piece);
  return id >= 0 ? id : parts_.model->IdOf(piece);
}

}  // namespace trivium
