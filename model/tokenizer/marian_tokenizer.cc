// Encoding a text: special texts ("</s>") are cut out first; the parts between
// them go to SentencePiece, and a language code at the beginning of a part
// stays one token. A piece that the vocabulary lacks becomes the unknown token
// but keeps its text. Without a SentencePiece model, pieces are the words
// between spaces.
//
// Decoding uses a table made at loading that says for every id whether it is
// text, a byte, a word or nothing, so a token costs one lookup.
#include "model/tokenizer/marian_tokenizer.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/interruption.h"
#include "model/tokenizer/special_texts.h"
#include "model/tokenizer/text_beginning.h"
#include "model/tokenizer/tokenizer_config.h"
#include "model/tokenizer/truncation.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

constexpr std::string_view kCodeBegin = ">>";
constexpr std::string_view kCodeEnd = "<<";

bool IsLanguageCode(std::string_view piece) {
  return piece.starts_with(kCodeBegin) && piece.ends_with(kCodeEnd);
}

// Converts "<0xE2>" to 0xE2.
uint8_t ByteOfPiece(std::string_view piece) {
  unsigned byte = 0;
  for (const char c : piece.substr(3, 2)) {
    byte = byte * 16 + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return static_cast<uint8_t>(byte);
}

}  // namespace

class MarianTokenizer::Streaming : public StreamingDecoder {
 public:
  explicit Streaming(const MarianTokenizer* tokenizer)
      : tokenizer_(*tokenizer), detokenizer_(tokenizer->clean_up_spaces_) {}

  std::string Push(int32_t id) override {
    std::string text;
    tokenizer_.Push(id, &detokenizer_, &text);
    return text;
  }
  std::string Finish() override {
    std::string text;
    detokenizer_.Finish(&text);
    return text;
  }

 private:
  const MarianTokenizer& tokenizer_;
  Detokenizer detokenizer_;
};

absl::StatusOr<std::unique_ptr<MarianTokenizer>> MarianTokenizer::Load(
    const std::string& folder) {
  std::unique_ptr<MarianTokenizer> tokenizer(new MarianTokenizer);
  TRIVIUM_ASSIGN_OR_RETURN(const TokenizerConfig found,
                           TokenizerConfig::Load(folder));
  const Config config = {
      .end = found.end.value_or("</s>"),
      .unknown = found.unknown.value_or("<unk>"),
      .padding = found.padding.value_or("<pad>"),
      // If the configuration does not say, the existence of the file does.
      .separate_vocabularies =
          found.separate_vocabularies.value_or(!absl::IsNotFound(
              InputFile::Open(folder + "/target_vocab.json").status())),
      .clean_up_spaces = found.clean_up_spaces.value_or(false)};
  TRIVIUM_ASSIGN_OR_RETURN(tokenizer->vocabulary_,
                           Vocabulary::Load(folder + "/vocab.json"));
  tokenizer->source_.vocabulary = &tokenizer->vocabulary_;
  tokenizer->target_.vocabulary = &tokenizer->vocabulary_;
  const char* target_file = "vocab.json";
  if (config.separate_vocabularies) {
    target_file = "target_vocab.json";
    TRIVIUM_ASSIGN_OR_RETURN(tokenizer->target_vocabulary_,
                             Vocabulary::Load(folder + "/target_vocab.json"));
    tokenizer->target_.vocabulary = &tokenizer->target_vocabulary_;
  }
  for (const auto& [side, model, vocabulary] :
       {std::tuple(&tokenizer->source_, "source.spm", "vocab.json"),
        {&tokenizer->target_, "target.spm", target_file}}) {
    TRIVIUM_RETURN_IF_ERROR(ReadSentencePiece(folder + "/" + model, side));
    TRIVIUM_RETURN_IF_ERROR(
        FindSpecialIds(folder + "/" + vocabulary, config, side));
  }
  tokenizer->InitOutputs(config);
  return tokenizer;
}

absl::StatusOr<std::unique_ptr<MarianTokenizer>> MarianTokenizer::Load(
    SideFiles source, SideFiles target) {
  std::unique_ptr<MarianTokenizer> tokenizer(new MarianTokenizer);
  const Config config = {.end = "</s>",
                         .unknown = "<unk>",
                         .padding = "",
                         .separate_vocabularies = true,
                         .clean_up_spaces = false};
  for (const auto& [files, side, vocabulary] :
       {std::tuple(&source, &tokenizer->source_, &tokenizer->vocabulary_),
        {&target, &tokenizer->target_, &tokenizer->target_vocabulary_}}) {
    if (!files->sentencepiece.empty()) {
      TRIVIUM_RETURN_IF_ERROR(ReadSentencePiece(files->sentencepiece, side));
    }
    if (files->vocabulary) {
      *vocabulary = *std::move(files->vocabulary);
    } else {
      std::vector<std::pair<std::string, int32_t>> pieces;
      for (int32_t id = 0; id < side->sentencepiece->size(); ++id) {
        pieces.emplace_back(side->sentencepiece->PieceOf(id), id);
      }
      *vocabulary = Vocabulary(std::move(pieces));
      files->vocabulary_path = files->sentencepiece;
      tokenizer->codes_in_texts_ = false;
    }
    side->vocabulary = vocabulary;
    TRIVIUM_RETURN_IF_ERROR(
        FindSpecialIds(files->vocabulary_path, config, side));
  }
  tokenizer->InitOutputs(config);
  if (!tokenizer->codes_in_texts_) tokenizer->special_texts_.clear();
  return tokenizer;
}

absl::Status MarianTokenizer::ReadSentencePiece(const std::string& path,
                                                Side* side) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::string serialized, ReadFile(path));
  std::string error;
  side->sentencepiece = SentencePieceModel::Parse(serialized, &error);
  if (side->sentencepiece == nullptr) {
    return absl::InvalidArgumentError(fmt::format(
        "{} is not a SentencePiece model ({}); fetch it again", path, error));
  }
  return absl::OkStatus();
}

absl::Status MarianTokenizer::FindSpecialIds(const std::string& vocabulary_path,
                                             const Config& config, Side* side) {
  side->end_id = side->vocabulary->IdOf(config.end);
  side->unknown_id = side->vocabulary->IdOf(config.unknown);
  side->padding_id = side->vocabulary->IdOf(config.padding);
  for (const auto& [id, piece] : {std::pair(side->end_id, config.end),
                                  {side->unknown_id, config.unknown}}) {
    if (id < 0) {
      return absl::InvalidArgumentError(fmt::format(
          "{} lacks the special token \"{}\"; check that it belongs to this "
          "model",
          vocabulary_path, piece));
    }
  }
  return absl::OkStatus();
}

void MarianTokenizer::InitOutputs(const Config& config) {
  special_texts_ = {config.end, config.unknown, config.padding};
  std::erase(special_texts_, "");
  clean_up_spaces_ = config.clean_up_spaces;
  // Transformers decodes with the source's model if the vocabulary is shared;
  // pieces that are text for both models decode alike.
  const SentencePieceModel* const model =
      (config.separate_vocabularies ? target_ : source_).sentencepiece.get();
  outputs_.resize(target_.vocabulary->size());
  for (int32_t id = 0; id < target_.vocabulary->size(); ++id) {
    if (id == target_.end_id || id == target_.unknown_id ||
        id == target_.padding_id) {
      continue;
    }
    const std::string& piece = target_.vocabulary->PieceOf(id);
    if (model == nullptr) {
      outputs_[id].kind = Output::Kind::kWord;
      continue;
    }
    const SentencePieceModel::Kind kind = model->KindOf(piece);
    if (kind == SentencePieceModel::Kind::kByte) {
      outputs_[id] = {Output::Kind::kByte, ByteOfPiece(piece)};
    } else if (kind == SentencePieceModel::Kind::kText) {
      outputs_[id].kind = Output::Kind::kText;
    }
  }
}

void MarianTokenizer::AppendPieces(std::string_view text, size_t offset,
                                   const Side& side,
                                   std::vector<Token>* tokens) const {
  const auto append = [&](std::string piece, size_t begin, size_t end) {
    Token token;
    token.id = side.vocabulary->IdOf(piece);
    if (token.id < 0) token.id = side.unknown_id;
    token.piece = std::move(piece);
    token.byte_begin = static_cast<int>(offset + begin);
    token.byte_end = static_cast<int>(offset + end);
    token.special = IsLanguageCode(token.piece);
    tokens->push_back(std::move(token));
  };
  size_t code_end = 0;
  if (codes_in_texts_ && text.starts_with(kCodeBegin)) {
    const size_t found = text.find(kCodeEnd);
    if (found != std::string_view::npos) {
      code_end = found + kCodeEnd.size();
      append(std::string(text.substr(0, code_end)), 0, code_end);
    }
  }
  for (SentencePieceModel::Piece& piece :
       side.sentencepiece->Encode(text.substr(code_end))) {
    if (Interrupted(piece.end - piece.begin)) break;
    append(std::move(piece.text), code_end + piece.begin, code_end + piece.end);
  }
}

void MarianTokenizer::AppendWords(std::string_view text, const Side& side,
                                  std::vector<Token>* tokens) {
  constexpr std::string_view kSpaces = " \n";
  for (size_t begin = text.find_first_not_of(kSpaces); begin < text.size();) {
    const size_t end =
        std::min(text.find_first_of(kSpaces, begin), text.size());
    if (Interrupted(end - begin)) break;
    Token& token = tokens->emplace_back();
    token.piece = std::string(text.substr(begin, end - begin));
    token.id = side.vocabulary->IdOf(token.piece);
    if (token.id < 0) token.id = side.unknown_id;
    token.byte_begin = static_cast<int>(begin);
    token.byte_end = static_cast<int>(end);
    begin = text.find_first_not_of(kSpaces, end);
  }
}

std::vector<Token> MarianTokenizer::TextTokens(std::string_view text,
                                               const Side& side) const {
  std::vector<Token> tokens;
  if (side.sentencepiece == nullptr) {
    AppendWords(text, side, &tokens);
    return tokens;
  }
  SpecialTextSearch specials(text, special_texts_);
  for (size_t done = 0; done < text.size();) {
    const SpecialTextSearch::Match special = specials.Next();
    const size_t begin = std::min(special.begin, text.size());
    if (begin > done) {
      AppendPieces(text.substr(done, begin - done), done, side, &tokens);
    }
    if (begin == text.size()) break;
    Token token;
    token.piece = std::string(special.text);
    token.id = side.vocabulary->IdOf(special.text);
    if (token.id < 0) token.id = side.unknown_id;
    done = begin + special.text.size();
    token.byte_begin = static_cast<int>(begin);
    token.byte_end = static_cast<int>(done);
    token.special = true;
    tokens.push_back(std::move(token));
  }
  return tokens;
}

absl::StatusOr<Encoding> MarianTokenizer::Encode(
    std::string_view text, const EncodeOptions& options) const {
  const Side& side = this->side(options.side);
  const size_t added = options.prefix_ids.size() + options.suffix_ids.size() +
                       (options.add_special_tokens ? 1 : 0);
  if (text.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return absl::InvalidArgumentError("a text of 2 GiB or more is too long");
  }

  Encoding encoding;
  TRIVIUM_ASSIGN_OR_RETURN(
      std::vector<Token> tokens,
      TokenizeEnough(
          text, options,
          [&](std::string_view some) { return TextTokens(some, side); },
          &encoding.partial));
  std::optional<std::vector<Token>> no_second;
  TRIVIUM_ASSIGN_OR_RETURN(encoding.truncated,
                           Truncate(options, added, &tokens, &no_second));
  const auto special = [&](int32_t id, size_t at) {
    Token token;
    token.id = id;
    token.piece = side.vocabulary->PieceOf(id);
    token.byte_begin = token.byte_end = static_cast<int>(at);
    token.special = true;
    return token;
  };
  // A long text's tokens take far more memory than the text: no second list.
  tokens.reserve(tokens.size() + added);
  std::vector<Token> before;
  for (const int32_t id : options.prefix_ids) before.push_back(special(id, 0));
  tokens.insert(tokens.begin(), std::move_iterator(before.begin()),
                std::move_iterator(before.end()));
  if (options.add_special_tokens) {
    tokens.push_back(special(side.end_id, text.size()));
  }
  for (const int32_t id : options.suffix_ids) {
    tokens.push_back(special(id, text.size()));
  }
  encoding.ids.reserve(tokens.size());
  for (const Token& token : tokens) encoding.ids.push_back(token.id);
  if (options.with_tokens) {
    const std::vector<int> characters = CharacterOfByte(text);
    for (Token& token : tokens) {
      token.char_begin = characters[token.byte_begin];
      token.char_end = characters[token.byte_end];
    }
    encoding.tokens = std::move(tokens);
  }
  return encoding;
}

void MarianTokenizer::Push(int32_t id, Detokenizer* detokenizer,
                           std::string* out) const {
  if (id < 0 || static_cast<size_t>(id) >= outputs_.size()) return;
  const Output& output = outputs_[id];
  if (output.kind == Output::Kind::kByte) {
    detokenizer->PushByte(output.byte, out);
  } else if (output.kind == Output::Kind::kWord) {
    detokenizer->PushWord(target_.vocabulary->PieceOf(id), out);
  } else if (output.kind == Output::Kind::kText) {
    detokenizer->PushText(target_.vocabulary->PieceOf(id), out);
  }
}

std::string MarianTokenizer::Decode(std::span<const int32_t> ids) const {
  Detokenizer detokenizer(clean_up_spaces_);
  std::string text;
  for (const int32_t id : ids) Push(id, &detokenizer, &text);
  detokenizer.Finish(&text);
  return text;
}

std::unique_ptr<StreamingDecoder> MarianTokenizer::NewStreamingDecoder() const {
  return std::make_unique<Streaming>(this);
}

int MarianTokenizer::vocabulary_size(TextSide which) const {
  return side(which).vocabulary->size();
}

std::string MarianTokenizer::IdToPiece(int32_t id, TextSide which) const {
  return side(which).vocabulary->PieceOf(id);
}

int32_t MarianTokenizer::PieceToId(std::string_view piece,
                                   TextSide which) const {
  return side(which).vocabulary->IdOf(piece);
}

}  // namespace trivium
