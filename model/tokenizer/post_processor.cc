#include "model/tokenizer/post_processor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

using Kind = PostProcessor::Item::Kind;

bool IsSpace(char32_t c) { return c == kByteAlphabetSpace || IsWhiteSpace(c); }

// Returns the number of white space characters at the beginning and the end of
// a piece.
std::pair<int, int> SpacesAround(std::string_view piece) {
  int leading = 0;
  size_t begin = 0;  // of the first character that is not white space
  for (size_t at = 0; at < piece.size(); begin = at, ++leading) {
    if (!IsSpace(NextCharacter(piece, &at))) break;
  }
  if (begin == piece.size()) return {leading, leading};
  int trailing = 0;
  for (size_t end = piece.size(); end > begin; ++trailing) {
    do {
      --end;
    } while (end > begin && IsContinuation(piece[end]));
    size_t at = end;
    if (!IsSpace(NextCharacter(piece, &at))) break;
  }
  return {leading, trailing};
}

int SizeOfCharacter(std::string_view text, int at) {
  return FirstCodePoint(text.substr(at)).size;
}

int CharactersBetween(std::string_view text, int begin, int end) {
  int count = 0;
  for (int at = begin; at < end; ++count) at += SizeOfCharacter(text, at);
  return count;
}

}  // namespace

PostProcessor::PostProcessor()
    : single_({{Kind::kFirst, 0, 0, ""}}),
      pair_({{Kind::kFirst, 0, 0, ""}, {Kind::kSecond, 1, 0, ""}}) {}

void PostProcessor::set_templates(Template single, Template pair) {
  single_ = std::move(single);
  pair_ = std::move(pair);
}

void PostProcessor::set_trim_offsets(bool prefix_space_added) {
  trims_ = true;
  prefix_space_added_ = prefix_space_added;
}

int PostProcessor::special_token_count(bool pair) const {
  const Template& items = pair ? pair_ : single_;
  return static_cast<int>(std::count_if(
      items.begin(), items.end(),
      [](const Item& item) { return item.kind == Kind::kSpecial; }));
}

std::vector<Token> PostProcessor::Join(std::vector<Token> first,
                                       std::optional<std::vector<Token>> second,
                                       bool add_special_tokens) const {
  std::vector<Token> tokens;
  tokens.reserve(first.size() + (second ? second->size() : 0) + 4);
  for (const Item& item : second.has_value() ? pair_ : single_) {
    if (item.kind == Kind::kSpecial) {
      if (!add_special_tokens) continue;
      Token token;
      token.id = item.id;
      token.piece = item.piece;
      token.type_id = item.type_id;
      token.special = true;
      token.text_index = -1;
      tokens.push_back(std::move(token));
      continue;
    }
    const bool is_first = item.kind == Kind::kFirst;
    if (!is_first && !second.has_value()) continue;
    for (const Token& token : is_first ? first : *second) {
      tokens.push_back(token);
      tokens.back().type_id = item.type_id;
      tokens.back().text_index = is_first ? 0 : 1;
    }
  }
  return tokens;
}

void PostProcessor::TrimOffsets(std::string_view text,
                                std::vector<Token>* tokens) const {
  if (!trims_) return;
  bool first = true;
  for (Token& token : *tokens) {
    auto [leading, trailing] = SpacesAround(token.piece);
    const bool at_start = first || token.byte_begin == 0;
    first = false;
    if (leading > 0) {
      if (at_start && prefix_space_added_ && leading == 1) leading = 0;
      for (; leading > 0 && token.byte_begin < token.byte_end; --leading) {
        token.byte_begin += SizeOfCharacter(text, token.byte_begin);
      }
    }
    if (trailing == 0) continue;
    // Counted in characters, like the leading spaces.
    const int characters =
        CharactersBetween(text, token.byte_begin, token.byte_end);
    const int kept = std::max(characters - trailing, 0);
    int end = token.byte_begin;
    for (int i = 0; i < kept; ++i) end += SizeOfCharacter(text, end);
    token.byte_end = end;
  }
}

}  // namespace trivium
