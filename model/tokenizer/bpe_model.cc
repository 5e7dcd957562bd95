// A word becomes a list of symbols (ids with their sizes in bytes), and merges
// join neighbours until no pair of neighbours has a merge. Always the merge of
// the lowest rank applies, the leftmost of equal ones; short and long words
// differ only in how they find it:
// - MergeShort looks at all pairs for each join: O(n^2), but without allocation
//   and faster for words of up to kShortWord symbols, which nearly all words
//   are.
// - MergeLong keeps candidates in a queue: O(n log n). Symbols form a linked
//   list in a vector; a joined symbol has size 0. A candidate is checked again
//   when it comes up, since its pair may have changed.
//
// The sizes of all symbols add up to the word's size, so pieces have exact byte
// offsets. With ignore_merges, a word that is a piece needs no merges. An
// interrupted word has only the pieces that were found until then.
#include "model/tokenizer/bpe_model.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "model/tokenizer/interruption.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

constexpr uint64_t kNoKey = ~uint64_t{0};
// Up to this many symbols, looking at all pairs for each join is faster than a
// queue.
constexpr size_t kShortWord = 24;

uint64_t KeyOf(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) |
         static_cast<uint32_t>(right);
}

}  // namespace

BpeModel::MergeTable::MergeTable(size_t count) {
  size_t size = 16;
  while (size < 2 * count) size *= 2;
  entries_.assign(size, {kNoKey, {}});
}

size_t BpeModel::MergeTable::SlotOf(uint64_t key) const {
  uint64_t hash = key * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 32;
  const size_t mask = entries_.size() - 1;
  size_t slot = hash & mask;
  while (entries_[slot].key != kNoKey && entries_[slot].key != key) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void BpeModel::MergeTable::Insert(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = KeyOf(left, right);
  entries_[SlotOf(key)] = {key, merge};
}

const BpeModel::Merge* BpeModel::MergeTable::Find(int32_t left,
                                                  int32_t right) const {
  const Entry& entry = entries_[SlotOf(KeyOf(left, right))];
  return entry.key == kNoKey ? nullptr : &entry.merge;
}

BpeModel::BpeModel(Vocabulary vocabulary, const Options& options, size_t merges)
    : vocabulary_(std::move(vocabulary)), options_(options), merges_(merges) {
  if (!options_.unknown.empty()) {
    unknown_id_ = vocabulary_.IdOf(options_.unknown);
  }
  std::string character;
  for (char32_t c = 0; c < character_ids_.size(); ++c) {
    character.clear();
    AppendUtf8(c, &character);
    character_ids_[c] = vocabulary_.IdOf(character);
  }
  for (int byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary_.IdOf(fmt::format("<0x{:02X}>", byte));
  }
}

absl::StatusOr<std::unique_ptr<BpeModel>> BpeModel::Create(
    Vocabulary vocabulary, const Merges& merges, const Options& options) {
  if (!options.unknown.empty() && vocabulary.IdOf(options.unknown) < 0) {
    return absl::InvalidArgumentError(fmt::format(
        "the vocabulary lacks the unknown piece \"{}\"", options.unknown));
  }
  std::unique_ptr<BpeModel> model(
      new BpeModel(std::move(vocabulary), options, merges.size()));
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    const std::string joined =
        left + (right.starts_with(options.continuing_prefix)
                    ? right.substr(options.continuing_prefix.size())
                    : right);
    for (const std::string& piece : {left, right, joined}) {
      if (model->vocabulary_.IdOf(piece) >= 0) continue;
      return absl::InvalidArgumentError(
          fmt::format("merge {} (\"{} {}\") needs the piece \"{}\", which the "
                      "vocabulary lacks",
                      rank, left, right, piece));
    }
    model->merges_.Insert(
        model->vocabulary_.IdOf(left), model->vocabulary_.IdOf(right),
        {static_cast<uint32_t>(rank), model->vocabulary_.IdOf(joined)});
  }
  return model;
}

int32_t BpeModel::IdOfCharacter(std::string_view character, bool first,
                                bool last) const {
  if ((first || options_.continuing_prefix.empty()) &&
      (!last || options_.end_suffix.empty())) {
    size_t at = 0;
    const char32_t c = NextCharacter(character, &at);
    return c < character_ids_.size() ? character_ids_[c]
                                     : vocabulary_.IdOf(character);
  }
  std::string key = first ? "" : options_.continuing_prefix;
  key += character;
  if (last) key += options_.end_suffix;
  return vocabulary_.IdOf(key);
}

void BpeModel::AppendSymbols(std::string_view word,
                             std::vector<Symbol>* symbols) const {
  uint32_t unknown = 0;  // bytes of unknown characters that wait to be joined
  const auto add = [symbols](int32_t id, uint32_t size) {
    symbols->push_back({id, size, 0, 0});
  };
  for (size_t at = 0; at < word.size() && !Interrupted(1);) {
    const std::string_view character =
        word.substr(at, FirstCodePoint(word.substr(at)).size);
    const bool first = at == 0;
    at += character.size();
    const uint32_t size = static_cast<uint32_t>(character.size());
    const int32_t id = IdOfCharacter(character, first, at == word.size());
    if (id >= 0) {
      if (unknown > 0) add(unknown_id_, unknown);
      unknown = 0;
      add(id, size);
      continue;
    }
    // The waiting unknown characters go behind these bytes, as in the
    // reference.
    if (options_.byte_fallback &&
        std::all_of(character.begin(), character.end(), [this](char byte) {
          return byte_ids_[static_cast<uint8_t>(byte)] >= 0;
        })) {
      for (const char byte : character) {
        add(byte_ids_[static_cast<uint8_t>(byte)], 1);
      }
      continue;
    }
    if (unknown_id_ < 0) continue;
    if (unknown > 0 && !options_.fuse_unknown) {
      add(unknown_id_, unknown);
      unknown = 0;
    }
    unknown += size;
  }
  if (unknown > 0) add(unknown_id_, unknown);
}

void BpeModel::MergeShort(std::vector<Symbol>* symbols) const {
  // [symbols - 1] the merge of each symbol with the next; null: none.
  std::array<const Merge*, kShortWord> pairs;
  std::vector<Symbol>& word = *symbols;
  size_t count = word.size();
  for (size_t i = 0; i + 1 < count; ++i) {
    pairs[i] = merges_.Find(word[i].id, word[i + 1].id);
  }
  while (count > 1) {
    size_t best = count;
    for (size_t i = 0; i + 1 < count; ++i) {
      if (pairs[i] != nullptr &&
          (best == count || pairs[i]->rank < pairs[best]->rank)) {
        best = i;
      }
    }
    if (best == count) break;
    word[best].id = pairs[best]->id;
    word[best].size += word[best + 1].size;
    word.erase(word.begin() + best + 1);
    --count;
    std::copy(pairs.begin() + best + 1, pairs.begin() + count,
              pairs.begin() + best);
    if (best + 1 < count) {
      pairs[best] = merges_.Find(word[best].id, word[best + 1].id);
    }
    if (best > 0) {
      pairs[best - 1] = merges_.Find(word[best - 1].id, word[best].id);
    }
  }
}

void BpeModel::MergeLong(std::vector<Symbol>* symbols) const {
  struct Candidate {
    uint32_t rank;
    int32_t at;
    int32_t id;
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  std::vector<Symbol>& word = *symbols;
  std::priority_queue<Candidate> queue;
  const auto offer = [&](int32_t at) {
    const int32_t next = word[at].next;
    if (next < 0) return;
    const Merge* merge = merges_.Find(word[at].id, word[next].id);
    if (merge != nullptr) queue.push({merge->rank, at, merge->id});
  };
  const int32_t count = static_cast<int32_t>(word.size());
  for (int32_t i = 0; i < count; ++i) {
    word[i].previous = i - 1;
    word[i].next = i + 1 < count ? i + 1 : -1;
  }
  for (int32_t i = 0; i < count && !Interrupted(1); ++i) offer(i);
  while (!queue.empty() && !Interrupted(1)) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = word[best.at];
    if (left.size == 0 || left.next < 0) continue;
    Symbol& right = word[left.next];
    // The pair may have changed since it was queued.
    const Merge* merge = merges_.Find(left.id, right.id);
    if (merge == nullptr || merge->id != best.id) continue;
    left.id = best.id;
    left.size += right.size;
    right.size = 0;
    left.next = right.next;
    if (left.next >= 0) word[left.next].previous = best.at;
    if (left.previous >= 0) offer(left.previous);
    offer(best.at);
  }
  std::erase_if(word, [](const Symbol& symbol) { return symbol.size == 0; });
}

void BpeModel::Tokenize(std::string_view word,
                        std::vector<Piece>* pieces) const {
  if (options_.ignore_merges) {
    const int32_t id = vocabulary_.IdOf(word);
    if (id >= 0) {
      pieces->push_back({id, 0, static_cast<uint32_t>(word.size())});
      return;
    }
  }
  // Reused for its memory, since words are short and many. While a long word is
  // interrupted, the thread may tokenize other words.
  thread_local std::vector<Symbol> kept;
  std::vector<Symbol> symbols = std::exchange(kept, {});
  symbols.clear();
  AppendSymbols(word, &symbols);
  if (symbols.size() <= kShortWord) {
    MergeShort(&symbols);
  } else {
    MergeLong(&symbols);
  }
  uint32_t at = 0;
  for (const Symbol& symbol : symbols) {
    pieces->push_back({symbol.id, at, at + symbol.size});
    at += symbol.size;
  }
  if (symbols.capacity() <= (1 << 16)) kept = std::move(symbols);
}

}  // namespace trivium
