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

// One token of a text. Offsets [begin, end) count from the start of the text as
// the caller passed it; a token without text (end of sentence) has begin ==
// end.
struct Token {
  int32_t id = 0;
  std::string piece;
  int byte_begin = 0;
  int byte_end = 0;
  int char_begin = 0;  // Unicode code points
  int char_end = 0;
  // True for the model's special tokens, whether added or found in the text.
  bool special = false;
  int32_t type_id = 0;  // segment that the model reads it as
  // The text that the token and its offsets belong to: 0 the only or first
  // text, 1 the second text of a pair, -1 none (added between and around them).
  int text_index = 0;
};

// The ids of a text or of a pair of texts, with the model's special tokens.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;  // segments; empty if the model has none
  // Number of tokens cut from the text to obey EncodeOptions::max_tokens; if
  // `partial`, at least so many.
  int truncated = 0;
  // True if not all of the cut text was tokenized (EncodeOptions::most_tokens).
  bool partial = false;
  // [ids] pieces and offsets if EncodeOptions::with_tokens is set, else empty.
  std::vector<Token> tokens;
};

// The first text of pairs, tokenized once for all of them.
struct FirstText {
  std::vector<Token> tokens;
  bool partial = false;
};

// The side whose vocabulary a text belongs to; models with one vocabulary treat
// both alike.
enum class TextSide { kSource, kTarget };

// Ids of the special tokens that a folder names; -1: not named.
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
  // Ids before and after the text and its special tokens, for example that of
  // ">>de<<" before it.
  std::span<const int32_t> prefix_ids = {};
  std::span<const int32_t> suffix_ids = {};
  // Add the end (and begin) tokens that the model was trained with.
  bool add_special_tokens = true;
  // Most ids to return, special tokens, prefix and suffix included. Excess
  // tokens are cut from the end of the text, never special tokens; those of a
  // pair from the longer text until both are equally long, then from both. 0:
  // no limit.
  int max_tokens = 0;
  // Cut from the beginnings of texts instead.
  bool truncate_left = false;
  // The most tokens of each text that the caller can use, at least max_tokens.
  // Of a text with far more tokens, only a beginning (with truncate_left an
  // ending) with more than so many is tokenized. Its tokens are the same as in
  // the whole text. 0: every text is tokenized whole.
  int64_t most_tokens = 0;
  // Also return pieces and offsets.
  bool with_tokens = false;
  // Called while a long text is tokenized.
  AliveCheck check_alive = {};
};

// A part of a text that has several authors, such as a chat's template and the
// messages in it.
struct TextPart {
  std::string_view text;
  // True for a user's own text: special tokens spelled in it ("<|im_end|>")
  // stay text.
  bool literal = false;
};

// Turns ids into text one by one, for streaming. The strings that Push and
// Finish return, joined, equal Decode() of the same ids. Each consists of whole
// UTF-8 characters and is final.
class StreamingDecoder {
 public:
  virtual ~StreamingDecoder() = default;
  // Returns the text that this token made final; often empty.
  virtual std::string Push(int32_t id) = 0;
  // Returns the rest.
  virtual std::string Finish() = 0;
};

// Converts text to ids and back, like the tokenizer of the model's own folder.
// Immutable and thread-safe. Input texts are valid UTF-8.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual absl::StatusOr<Encoding> Encode(
      std::string_view text, const EncodeOptions& options) const = 0;
  // Returns the ids of all parts' texts joined, like Encode: pieces,
  // normalization and spaces do not depend on where parts end. But no special
  // token is made of text of which even one byte is in a literal part. A
  // template's special tokens stay whatever literal text is beside them.
  //
  // Special tokens here are those that the folder calls special, those that
  // have a role in it (SpecialTokenIds), and those written "<|...|>", which
  // some folders forget to call special. Other added tokens, which "<think>",
  // "<tool_call>" or runs of spaces often are, count as words of the
  // vocabulary: models learned them in people's texts, too, so they are found
  // everywhere. (The tokenizers library does the same with
  // encode_special_tokens, and so does llama.cpp with user-defined tokens where
  // it parses no special ones.)
  //
  //   {{"<|im_start|>user\n"}, {message, /*literal=*/true}, {"<|im_end|>\n"}}
  //
  // A chat's template writes its own first token, so set
  // options.add_special_tokens to false. FAILED_PRECONDITION if the tokenizer
  // has no chats (Marian).
  virtual absl::StatusOr<Encoding> EncodeParts(
      std::span<const TextPart> parts, const EncodeOptions& options) const;
  // Encode a pair for models that read two segments, in two steps with the same
  // options, so that many pairs can share their first text. FAILED_PRECONDITION
  // for other models.
  virtual absl::StatusOr<FirstText> TokenizeFirst(
      std::string_view first, const EncodeOptions& options) const;
  virtual absl::StatusOr<Encoding> EncodeSecond(
      const FirstText& first, std::string_view second,
      const EncodeOptions& options) const;
  absl::StatusOr<Encoding> EncodePair(std::string_view first,
                                      std::string_view second,
                                      const EncodeOptions& options) const;
  // Return only the tokens of Encode and EncodePair.
  absl::StatusOr<std::vector<Token>> Tokenize(std::string_view text,
                                              EncodeOptions options) const;
  absl::StatusOr<std::vector<Token>> TokenizePair(std::string_view first,
                                                  std::string_view second,
                                                  EncodeOptions options) const;
  // Adds the special tokens around and between texts that were tokenized
  // without them. So a question is tokenized once for many passages, and a long
  // passage once for many windows.
  virtual absl::StatusOr<std::vector<Token>> AddSpecialTokens(
      std::vector<Token> first, std::optional<std::vector<Token>> second) const;
  // Returns how many tokens AddSpecialTokens adds.
  virtual int special_token_count(bool pair) const;
  virtual SpecialTokenIds special_token_ids() const;
  // True if pieces inside words begin with a mark that the text lacks, like
  // WordPiece's "##".
  virtual bool marks_pieces_inside_words() const { return false; }

  // Returns the text of target ids, without special tokens and ids out of
  // range. Byte pieces that form no UTF-8 become U+FFFD.
  virtual std::string Decode(std::span<const int32_t> ids) const = 0;
  virtual std::unique_ptr<StreamingDecoder> NewStreamingDecoder() const = 0;
  // The same, but without the clean-up of spaces that some folders ask for, so
  // that after a first token with text each token adds the same bytes wherever
  // it stands. Null if the tokenizer knows no such text (Marian).
  virtual std::unique_ptr<StreamingDecoder> NewJoiningDecoder() const {
    return nullptr;
  }

  virtual int vocabulary_size(TextSide side) const = 0;
  // Returns the piece of an id, or an empty string if it is out of range.
  virtual std::string IdToPiece(int32_t id, TextSide side) const = 0;
  // Returns -1 if the vocabulary has no such piece.
  virtual int32_t PieceToId(std::string_view piece, TextSide side) const = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TOKENIZER_H_
