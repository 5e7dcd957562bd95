#ifndef TRIVIUM_MODEL_TOKENIZER_ADDED_TOKENS_H_
#define TRIVIUM_MODEL_TOKENIZER_ADDED_TOKENS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/pre_tokenized_text.h"
#include "model/tokenizer/token_model.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {

// A token that is kept beside the model's vocabulary and found in a text before
// the model sees it.
struct AddedToken {
  std::string content;
  bool single_word = false;  // not found inside a word
  bool left_strip = false;   // includes the white space before it
  bool right_strip = false;
  bool normalized = false;  // is found in the normalized text
  bool special = false;     // is left out of decoded text
  // True if literal text (TextPart) never becomes this token. Such a token need
  // not be special.
  bool control = false;
  // True if it is found in texts; if false, only the model writes it.
  bool in_texts = true;
};

// Finds strings in a text, leftmost first and the longest at each place, in
// time linear in the text (Aho and Corasick, 1975).
class StringFinder {
 public:
  struct Match {
    uint32_t begin;
    uint32_t end;
    int32_t value;
  };

  // Empty strings are never found. If a string occurs twice, its last value
  // counts.
  explicit StringFinder(
      const std::vector<std::pair<std::string, int32_t>>& strings);

  std::vector<Match> Find(std::string_view text) const {
    return Find(text, [](const Match&) { return true; });
  }
  // Ignores matches that are not `wanted`, as if their strings did not exist.
  std::vector<Match> Find(std::string_view text,
                          absl::FunctionRef<bool(const Match&)> wanted) const;
  bool empty() const { return nodes_.size() == 1; }

 private:
  struct Node {
    int32_t value = -1;    // value of the string that ends here
    uint32_t length = 0;   // length of this node's string
    int32_t fail = 0;      // the longest proper suffix that is a node
    int32_t longest = -1;  // the longest suffix (or self) that is a string
  };
  int32_t Child(int32_t node, uint8_t byte) const;

  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, int32_t> children_;
  bool starts_[256] = {};  // first bytes of the strings
};

// All of a tokenizer's added tokens.
class AddedTokens {
 public:
  // Limit of all their texts together. The largest published tokenizers have a
  // tenth of it; each byte takes a hundred bytes of memory.
  static constexpr size_t kMaxBytes = 1 << 20;

  // A token whose text the model knows gets the model's id; others get the next
  // free ids. `normalizer` may be null. status() is an error if there are too
  // many, or if normalizing them takes too long.
  AddedTokens(const std::vector<AddedToken>& tokens, const TokenModel& model,
              const Normalizer* normalizer);

  const absl::Status& status() const { return status_; }

  // Cuts a text into added tokens and the normalized text between them.
  // `literals` (ascending, disjoint) are bytes from which no control token is
  // made.
  PreTokenizedText Extract(std::string_view text, const Normalizer* normalizer,
                           std::span<const ByteSpan> literals = {}) const;

  // One more than the largest id; 0: none.
  int size() const { return size_; }
  const AddedToken* Find(int32_t id) const;  // null: not an added token
  int32_t IdOf(std::string_view content) const;
  bool IsControl(int32_t id) const {
    const AddedToken* token = Find(id);
    return token != nullptr && token->control;
  }
  // The text of a token for the decoder: its normalized text, if it has one.
  const std::string& DecoderText(int32_t id) const;

 private:
  struct Entry {
    AddedToken token;
    std::string normalized;
  };
  struct Part {
    uint32_t begin;
    uint32_t end;
    int32_t token;
  };
  std::vector<Part> Cut(
      std::string_view text, const StringFinder& finder,
      absl::FunctionRef<bool(const StringFinder::Match&)> wanted) const;

  std::unordered_map<int32_t, Entry> entries_;
  std::unordered_map<std::string, int32_t, PieceHash, std::equal_to<>> ids_;
  std::unique_ptr<const StringFinder> plain_;
  std::unique_ptr<const StringFinder> normalized_;
  int size_ = 0;
  absl::Status status_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_ADDED_TOKENS_H_
