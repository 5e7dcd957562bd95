// Viterbi's algorithm over bytes: best[end] is the best path of pieces that
// ends there, with its score and the beginning of its last piece. A character
// at which no one-character piece begins may also be unknown, with the score
//
//   lowest score of any piece - kUnknownPenalty
//
// The way back from the end collects the pieces; neighbouring unknown
// characters become one piece, or bytes. Of equal sums the path found first
// wins, as in the reference.
#include "model/tokenizer/unigram_model.h"

#include <algorithm>

#include "absl/status/status.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "model/tokenizer/interruption.h"

namespace trivium {
namespace {

// An unknown character scores worse than the worst piece by this much.
constexpr double kUnknownPenalty = 10.0;

// The trie takes twelve times as much. This allows a million pieces of 16
// bytes.
constexpr size_t kMaxAllPieceBytes = 16 << 20;

std::vector<std::pair<std::string_view, int32_t>> Strings(
    const Vocabulary& vocabulary) {
  std::vector<std::pair<std::string_view, int32_t>> strings;
  strings.reserve(vocabulary.size());
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    strings.emplace_back(vocabulary.PieceOf(id), id);
  }
  return strings;
}

// The best path to the end of a character.
struct Arrival {
  double score = 0;
  int32_t id = 0;
  uint32_t begin = 0;  // beginning of its last piece
  bool reached = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnigramModel>> UnigramModel::Create(
    std::vector<std::pair<std::string, double>> pieces,
    const Options& options) {
  if (pieces.empty()) {
    return absl::InvalidArgumentError("the vocabulary has no pieces");
  }
  if (options.unknown_id >= static_cast<int64_t>(pieces.size())) {
    return absl::InvalidArgumentError(
        fmt::format("unk_id {} is beyond the {} pieces of the vocabulary",
                    options.unknown_id, pieces.size()));
  }
  size_t bytes = 0;
  for (const auto& [piece, score] : pieces) bytes += piece.size();
  if (bytes > kMaxAllPieceBytes) {
    return absl::InvalidArgumentError(
        fmt::format("the vocabulary's pieces have {} bytes together, and at "
                    "most {} are read",
                    bytes, kMaxAllPieceBytes));
  }
  std::vector<double> scores;
  std::vector<std::pair<std::string, int32_t>> entries;
  scores.reserve(pieces.size());
  entries.reserve(pieces.size());
  for (auto& [piece, score] : pieces) {
    entries.emplace_back(std::move(piece), static_cast<int32_t>(scores.size()));
    scores.push_back(score);
  }
  return std::unique_ptr<UnigramModel>(new UnigramModel(
      Vocabulary(std::move(entries)), std::move(scores), options));
}

UnigramModel::UnigramModel(Vocabulary vocabulary, std::vector<double> scores,
                           const Options& options)
    : vocabulary_(std::move(vocabulary)),
      scores_(std::move(scores)),
      options_(options),
      trie_(Strings(vocabulary_)) {
  unknown_score_ =
      *std::min_element(scores_.begin(), scores_.end()) - kUnknownPenalty;
  for (int byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary_.IdOf(fmt::format("<0x{:02X}>", byte));
  }
}

void UnigramModel::AppendUnknown(std::string_view word, uint32_t begin,
                                 uint32_t end,
                                 std::vector<Piece>* pieces) const {
  const std::string_view text = word.substr(begin, end - begin);
  // Text whose characters are unknown may be a piece as a whole.
  const int32_t id = vocabulary_.IdOf(text);
  if (id >= 0) {
    pieces->push_back({id, begin, end});
    return;
  }
  if (options_.byte_fallback &&
      std::all_of(text.begin(), text.end(), [this](char byte) {
        return byte_ids_[static_cast<uint8_t>(byte)] >= 0;
      })) {
    for (const char byte : text) {
      pieces->push_back({byte_ids_[static_cast<uint8_t>(byte)], begin, end});
    }
    return;
  }
  pieces->push_back({options_.unknown_id, begin, end});
}

void UnigramModel::Tokenize(std::string_view word,
                            std::vector<Piece>* pieces) const {
  std::vector<Arrival> best(word.size() + 1);  // [bytes] by where pieces end
  for (size_t at = 0; at < word.size();) {
    const double so_far = best[at].score;
    const uint32_t begin = static_cast<uint32_t>(at);
    const size_t character = FirstCodePoint(word.substr(at)).size;
    if (Interrupted(character)) return;
    bool known = false;
    const auto offer = [&](size_t length, double score, int32_t id) {
      Arrival& arrival = best[at + length];
      if (!arrival.reached || so_far + score > arrival.score) {
        arrival = {so_far + score, id, begin, true};
      }
    };
    trie_.ForEachPrefix(word.substr(at), [&](size_t length, int32_t id) {
      known |= length == character;
      offer(length, scores_[id], id);
    });
    if (!known) offer(character, unknown_score_, options_.unknown_id);
    at += character;
  }
  const size_t first = pieces->size();
  uint32_t unknown_end = 0;  // end of the waiting unknown characters; 0: none
  uint32_t begin = 0;
  // Goes backwards; the result is reversed at the end.
  std::vector<Piece> reversed;
  const auto flush = [&](uint32_t from) {
    if (unknown_end == 0) return;
    const size_t before = reversed.size();
    AppendUnknown(word, from, unknown_end, &reversed);
    std::reverse(reversed.begin() + before, reversed.end());
    unknown_end = 0;
  };
  for (uint32_t end = static_cast<uint32_t>(word.size()); end > 0;
       end = begin) {
    const Arrival& arrival = best[end];
    begin = arrival.begin;
    if (arrival.id == options_.unknown_id) {
      if (unknown_end == 0) unknown_end = end;
      continue;
    }
    flush(end);
    reversed.push_back({arrival.id, begin, end});
  }
  flush(0);
  pieces->insert(pieces->end(), reversed.rbegin(), reversed.rend());
  if (options_.unknown_id < 0) {
    pieces->erase(
        std::remove_if(pieces->begin() + first, pieces->end(),
                       [](const Piece& piece) { return piece.id < 0; }),
        pieces->end());
  }
}

}  // namespace trivium
