#include "model/tokenizer/wordpiece_model.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "model/tokenizer/unicode.h"

namespace trivium {

absl::StatusOr<std::unique_ptr<WordPieceModel>> WordPieceModel::Create(
    Vocabulary vocabulary, const Options& options) {
  if (vocabulary.IdOf(options.unknown) < 0) {
    return absl::InvalidArgumentError(fmt::format(
        "the vocabulary lacks the unknown piece \"{}\"", options.unknown));
  }
  return std::unique_ptr<WordPieceModel>(
      new WordPieceModel(std::move(vocabulary), options));
}

WordPieceModel::WordPieceModel(Vocabulary vocabulary, const Options& options)
    : vocabulary_(std::move(vocabulary)),
      options_(options),
      unknown_id_(vocabulary_.IdOf(options_.unknown)) {
  for (int32_t id = 0; id < vocabulary_.size(); ++id) {
    longest_piece_ = std::max(longest_piece_, vocabulary_.PieceOf(id).size());
  }
}

void WordPieceModel::Tokenize(std::string_view word,
                              std::vector<Piece>* pieces) const {
  const size_t first = pieces->size();
  const auto unknown = [&] {
    pieces->resize(first);
    pieces->push_back({unknown_id_, 0, static_cast<uint32_t>(word.size())});
  };
  if (word.size() > options_.max_word_characters) {
    size_t characters = 0;
    for (size_t at = 0; at < word.size();) {
      NextCharacter(word, &at);
      if (++characters > options_.max_word_characters) return unknown();
    }
  }
  std::string key = options_.continuing_prefix;
  for (size_t begin = 0; begin < word.size();) {
    // The key is the prefix and the rest, shortened by one character at a time.
    std::string_view rest = word.substr(begin);
    size_t prefix = 0;
    if (begin > 0) {
      prefix = options_.continuing_prefix.size();
      key.resize(prefix);
      key += rest;
      rest = key;
    }
    size_t size = std::min(rest.size(), std::max(longest_piece_, prefix));
    int32_t id = -1;
    for (; size > prefix; --size) {
      // Not inside a character.
      if (size < rest.size() && IsContinuation(rest[size])) continue;
      id = vocabulary_.IdOf(rest.substr(0, size));
      if (id >= 0) break;
    }
    if (id < 0) return unknown();
    const size_t end = begin + size - prefix;
    pieces->push_back(
        {id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
    begin = end;
  }
}

}  // namespace trivium
