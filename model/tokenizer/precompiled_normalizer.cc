#include "model/tokenizer/precompiled_normalizer.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

using Change = NormalizedText::Change;

class Precompiled : public Normalizer {
 public:
  Precompiled(std::vector<uint32_t> trie, std::string replacements)
      : trie_(std::move(trie)), replacements_(std::move(replacements)) {}

  void Apply(NormalizedText* text) const override {
    const std::string_view all = text->text();
    std::vector<Change> changes;
    bool modified = false;
    const auto replace = [&](std::string_view from) {
      const std::optional<std::string_view> to = Find(from);
      if (!to.has_value()) return false;
      Append(from, *to, &changes);
      modified = true;
      return true;
    };
    size_t begin = 0;
    for (const size_t end : Clusters(all)) {
      if (!text->MayGrowTo(changes.size())) return;
      if (end - begin < 6 && replace(all.substr(begin, end - begin))) {
        begin = end;
        continue;
      }
      while (begin < end) {
        size_t next = begin;
        const char32_t c = NextCharacter(all, &next);
        if (!replace(all.substr(begin, next - begin))) {
          changes.push_back({c, 0});
        }
        begin = next;
      }
    }
    if (modified) text->Transform(changes, 0);
  }

 private:
  // In ASCII, every character except CR LF is a cluster of its own.
  static std::vector<size_t> Clusters(std::string_view text) {
    const bool ascii = std::all_of(text.begin(), text.end(), [](char c) {
      return static_cast<uint8_t>(c) < 0x80 && c != '\r';
    });
    if (!ascii) return GraphemeEnds(text);
    std::vector<size_t> ends(text.size());
    for (size_t i = 0; i < ends.size(); ++i) ends[i] = i + 1;
    return ends;
  }

  // Returns the replacement of the shortest beginning of `text` that the table
  // has. Like the reference, it lets the shortest stand for the whole.
  std::optional<std::string_view> Find(std::string_view text) const {
    const auto offset = [](uint32_t unit) {
      return (unit >> 10) << ((unit & (1u << 9)) >> 6);
    };
    uint32_t at = offset(trie_[0]);
    for (const char c : text) {
      const uint8_t byte = static_cast<uint8_t>(c);
      if (byte == 0) break;
      at ^= byte;
      if (at >= trie_.size()) return std::nullopt;
      const uint32_t unit = trie_[at];
      if ((unit & ((1u << 31) | 0xFF)) != byte) return std::nullopt;
      at ^= offset(unit);
      if (at >= trie_.size()) return std::nullopt;
      if (((unit >> 8) & 1) == 0) continue;
      const size_t begin = trie_[at] & ((1u << 31) - 1);
      if (begin > replacements_.size()) return std::nullopt;
      const size_t end =
          std::min(replacements_.find('\0', begin), replacements_.size());
      return std::string_view(replacements_).substr(begin, end - begin);
    }
    return std::nullopt;
  }

  static size_t Count(std::string_view text) {
    size_t count = 0;
    for (size_t at = 0; at < text.size(); ++count) NextCharacter(text, &at);
    return count;
  }

  static void Append(std::string_view from, std::string_view to,
                     std::vector<Change>* changes) {
    for (size_t at = 0; at < to.size();) {
      changes->push_back({NextCharacter(to, &at), 0});
    }
    const size_t old_count = Count(from);
    const size_t new_count = Count(to);
    if (new_count > old_count) {
      for (size_t i = 0; i < new_count - old_count; ++i) {
        (*changes)[changes->size() - 1 - i].change = 1;
      }
    } else if (new_count < old_count && !changes->empty()) {
      changes->back().change -= static_cast<int>(old_count - new_count);
    }
  }

  const std::vector<uint32_t> trie_;
  const std::string replacements_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Normalizer>> MakePrecompiled(
    std::string_view charsmap) {
  const auto unit = [charsmap](size_t at) {
    uint32_t value = 0;
    for (size_t i = 4; i-- > 0;) {
      value = (value << 8) | static_cast<uint8_t>(charsmap[at + i]);
    }
    return value;
  };
  const size_t trie_bytes = charsmap.size() < 4 ? 0 : unit(0);
  if (trie_bytes < 4 || trie_bytes % 4 != 0 ||
      trie_bytes > charsmap.size() - 4) {
    return absl::InvalidArgumentError(
        "precompiled_charsmap is not SentencePiece's table");
  }
  std::vector<uint32_t> trie(trie_bytes / 4);
  for (size_t i = 0; i < trie.size(); ++i) trie[i] = unit(4 + 4 * i);
  return std::unique_ptr<Normalizer>(new Precompiled(
      std::move(trie), std::string(charsmap.substr(4 + trie_bytes))));
}

absl::StatusOr<std::unique_ptr<Normalizer>> MakePrecompiledFromBase64(
    std::string_view base64) {
  std::string charsmap;
  if (!absl::Base64Unescape(absl::string_view(base64.data(), base64.size()),
                            &charsmap)) {
    return absl::InvalidArgumentError("precompiled_charsmap is not base64");
  }
  return MakePrecompiled(charsmap);
}

}  // namespace trivium
