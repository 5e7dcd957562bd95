#ifndef TRIVIUM_MODEL_TOKENIZER_TOKENIZER_H_
#define TRIVIUM_MODEL_TOKENIZER_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/alive_check.h"

namespace trivium {

// One token of a text. Offsets count from the start of the text as the caller
// gave it, [begin, end); a token that stands for no text (end of sentence) has
// begin == end.
struct Token {
  int32_t id = 0;
  std::string piece;
  int byte_begin = 0;
  int byte_end = 0;
  int char_begin = 0;  // Unicode code points
  int char_end = 0;
  // Of the model's special tokens, whether added or found in the text.
  bool special = false;
  int32_t type_id = 0;  // the segment that the model takes it for
  // The text that it is from and its offsets count in: 0 the only or first of
  // a pair, 1 the second, -1 none (added between and around them).
  int text_index = 0;
};

// A text's, or a pair of texts', ids with the special tokens of the model.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;  // segments; empty where the model has none
  // Tokens cut from the text to obey EncodeOptions::max_tokens; of a partial
  // one at least so many.
  int truncated = 0;
  // What is cut was not all tokenized (EncodeOptions::most_tokens).
  bool partial = false;
  // Of each id its piece and offsets, where EncodeOptions::with_tokens asks.
  std::vector<Token> tokens;
};

// The first text of pairs, tokenized once for all of them.
struct FirstText {
  std::vector<Token> tokens;
  bool partial = false;
};

// Which side's vocabulary a text belongs to; models with one vocabulary treat
// both alike.
enum class TextSide { kSource, kTarget };

// Ids of the special tokens that a folder names; -1: it names none such.
struct SpecialTokenIds {
  int32_t begin = -1;           // bos_token
  int32_t end = -1;             // eos_token
  int32_t classification = -1;  // cls_token
  int32_t separator = -1;       // sep_token
  int32_t mask = -1;            // mask_token
  int32_t padding = -1;         // pad_token
  int32_t unknown = -1;         // unk_token
};

struct EncodeOptions {
  TextSide side = TextSide::kSource;
  // Put around the text and its special tokens, for example {">>de<<"}'s id in
  // front.
  std::span<const int32_t> prefix_ids = {};
  std::span<const int32_t> suffix_ids = {};
  // Add the end (and begin) tokens that the model was trained with.
  bool add_special_tokens = true;
  // Most ids to return, special tokens, prefix and suffix included; what is
  // beyond is cut from the end of the text (special tokens stay); of a pair
  // from the longer text until both are equal, then from both. 0: no limit.
  int max_tokens = 0;
  // Cut from the beginnings of texts instead.
  bool truncate_left = false;
  // What the caller can use of each text, at least max_tokens: of a text that
  // has far more tokens only a beginning is tokenized (with truncate_left an
  // ending), which has more than so many. They are the whole text's tokens. 0:
  // every text is tokenized whole.
  int64_t most_tokens = 0;
  // Pieces and offsets, too.
  bool with_tokens = false;
  // Called while a long text is tokenized.
  AliveCheck check_alive = {};
};

// A part of a text that has more than one author: a chat's template and what
// people wrote into it.
struct TextPart {
  std::string_view text;
  // As a user wrote it: what spells a special token ("<|im_end|>") is text like
  // any other.
  bool literal = false;
};

// Turns ids into text one by one, for streaming: the strings that Push and
// Finish return, joined, are Decode() of the same ids; each is whole UTF-8
// characters, and none is ever taken back.
class StreamingDecoder {
 public:
  virtual ~StreamingDecoder() = default;
  // The text that became certain with this token; often empty.
  virtual std::string Push(int32_t id) = 0;
  // The rest.
  virtual std::string Finish() = 0;
};

// Text to ids and back, as the tokenizer of the model's own folder does it.
// Immutable and thread-safe. Input texts are valid UTF-8.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual absl::StatusOr<Encoding> Encode(
      std::string_view text, const EncodeOptions& options) const = 0;
  // The ids of all parts' texts put together, as Encode gives them: pieces,
  // normalization and spaces know nothing of where parts end. But no special
  // token is made of text that is in a literal part, be it a byte of it.
  // Special tokens are here: those that the folder says are special, those that
  // have a role in it (SpecialTokenIds), and those that are written "<|...|>",
  // which some folders forget to call special. Other added tokens, as
  // "<think>",
  // "<tool_call>" or runs of spaces often are, are words of the vocabulary that
  // models learned in people's texts, too, and are found everywhere. (So does
  // the tokenizers library with encode_special_tokens, and llama.cpp with its
  // user-defined tokens where it parses no special ones.) A template's special
  // tokens stay whatever literal text is beside them.
  //
  //   {{"<|im_start|>user\n"}, {message, /*literal=*/true}, {"<|im_end|>\n"}}
  //
  // A chat's template writes its own first token: options.add_special_tokens is
  // false then. FAILED_PRECONDITION where tokenizers have no chats (Marian).
  virtual absl::StatusOr<Encoding> EncodeParts(
      std::span<const TextPart> parts, const EncodeOptions& options) const;
  // A pair for models that read two segments, in two steps, of the same
  // options, so that many pairs share their first text; FAILED_PRECONDITION
  // else.
  virtual absl::StatusOr<FirstText> TokenizeFirst(
      std::string_view first, const EncodeOptions& options) const;
  virtual absl::StatusOr<Encoding> EncodeSecond(
      const FirstText& first, std::string_view second,
      const EncodeOptions& options) const;
  absl::StatusOr<Encoding> EncodePair(std::string_view first,
                                      std::string_view second,
                                      const EncodeOptions& options) const;
  // The tokens alone of Encode and EncodePair.
  absl::StatusOr<std::vector<Token>> Tokenize(std::string_view text,
                                              EncodeOptions options) const;
  absl::StatusOr<std::vector<Token>> TokenizePair(std::string_view first,
                                                  std::string_view second,
                                                  EncodeOptions options) const;
  // Puts the special tokens around and between texts that were tokenized
  // without them, so that a question is tokenized once for many passages, and
  // a long passage once for many windows.
  virtual absl::StatusOr<std::vector<Token>> AddSpecialTokens(
      std::vector<Token> first, std::optional<std::vector<Token>> second) const;
  // How many tokens that adds.
  virtual int special_token_count(bool pair) const;
  virtual SpecialTokenIds special_token_ids() const;
  // Whether pieces inside words begin with a mark that the text lacks, as
  // WordPiece's "##".
  virtual bool marks_pieces_inside_words() const { return false; }

  // Text of target ids; special tokens are left out. Ids out of range are
  // left out too. Byte pieces that form no UTF-8 become U+FFFD.
  virtual std::string Decode(std::span<const int32_t> ids) const = 0;
  virtual std::unique_ptr<StreamingDecoder> NewStreamingDecoder() const = 0;

  virtual int vocabulary_size(TextSide side) const = 0;
  // The piece of an id; empty when out of range.
  virtual std::string IdToPiece(int32_t id, TextSide side) const = 0;
  // -1 when the vocabulary has no such piece.
  virtual int32_t PieceToId(std::string_view piece, TextSide side) const = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TOKENIZER_H_
