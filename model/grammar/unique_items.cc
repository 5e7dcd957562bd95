#include "model/grammar/unique_items.h"

#include <algorithm>
#include <bitset>
#include <set>
#include <string_view>
#include <utility>

namespace trivium {
namespace {

bool IsSpace(uint8_t byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

// The bytes of numbers, true, false and null.
bool IsOfWord(uint8_t byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
         byte == '-' || byte == '+' || byte == '.' || byte == 'E';
}

// True if a string ends with the text's last byte.
bool ClosesString(std::string_view text) {
  if (text.size() < 2 || text.back() != '"') return false;
  const size_t last = text.find_last_not_of('\\', text.size() - 2);
  return (text.size() - 2 - last) % 2 == 0;
}

}  // namespace

const UniqueItems::Written::Items& UniqueItems::Written::items() const {
  static const Items none;
  return items_ == nullptr ? none : *items_;
}

bool UniqueItems::Written::Begins(const std::string& text) const {
  const auto item = std::lower_bound(items().begin(), items().end(), text);
  return item != items().end() && item->starts_with(text);
}

std::strong_ordering UniqueItems::Written::operator<=>(
    const Written& other) const {
  if (const auto order = item_ <=> other.item_; order != 0) return order;
  if (items_ == other.items_) return std::strong_ordering::equal;
  return items() <=> other.items();
}

UniqueItems::UniqueItems(ParseStates* states, size_t most_bytes)
    : states_(*states), most_bytes_(most_bytes) {
  IdOf(Written());
}

UniqueItems::Id UniqueItems::IdOf(const Written& written) {
  const auto [found, added] =
      ids_.try_emplace(written, static_cast<Id>(by_id_.size()));
  if (added) {
    by_id_.push_back(&found->first);
    bytes_ += sizeof(Written) + 64 + written.item_.size();
  }
  return found->second;
}

bool UniqueItems::Read(ParseStates::Id from, uint8_t byte, ParseStates::Id to,
                       Written* written) {
  std::string& item = written->item_;
  if (!item.empty() && (item[0] == '"' || IsOfWord(byte))) {
    item += static_cast<char>(byte);
    return item[0] == '"' && ClosesString(item) ? End(to, written)
                                                : CanDiffer(to, *written);
  }
  if (!item.empty() && !End(from, written)) return false;
  if (IsSpace(byte)) return true;
  if (byte == ',') return !written->between() || CanDiffer(to, *written);
  if ((byte == '"' || IsOfWord(byte)) && states_.BeginsUnique(from)) {
    item += static_cast<char>(byte);
    return CanDiffer(to, *written);
  }
  *written = Written();
  return true;
}

bool UniqueItems::End(ParseStates::Id state, Written* written) {
  // This may be the end of an item of another array, whose items may be equal.
  if (!states_.EndsUnique(state)) {
    *written = Written();
    return true;
  }
  Written::Items items = written->items();
  const auto place =
      std::lower_bound(items.begin(), items.end(), written->item_);
  if (place != items.end() && *place == written->item_) return false;
  bytes_ += (items.size() + 1) * sizeof(std::string) + written->item_.size();
  items.insert(place, std::move(written->item_));
  written->item_.clear();
  written->items_ = std::make_shared<const Written::Items>(std::move(items));
  return true;
}

bool UniqueItems::CanDiffer(ParseStates::Id state, const Written& written) {
  if (!written.Begins(written.item_)) return true;
  // Follows the items that were written until a byte leads away from them:
  // every state can be completed.
  std::vector<std::pair<ParseStates::Id, std::string>> ways = {
      {state, written.item_}};
  std::set<ParseStates::Id> spaces;  // before the item begins
  while (!ways.empty()) {
    const auto [at, text] = std::move(ways.back());
    ways.pop_back();
    const std::bitset<256> next = states_.NextBytes(at);
    const bool is_string = !text.empty() && text[0] == '"';
    if (!text.empty() && !is_string) {
      const bool unique = states_.EndsUnique(at);
      const bool known = std::binary_search(written.items().begin(),
                                            written.items().end(), text);
      // It may end here, or else as an item of an array like this one whose
      // items may be equal.
      if (unique ? !known : next[','] || next[']'] || next[' ']) return true;
    }
    std::string longer = text + ' ';
    for (size_t i = 256; i-- > 0;) {
      const uint8_t byte = static_cast<uint8_t>(i);
      if (!next[i]) continue;
      const bool space = text.empty() && IsSpace(byte);
      if (!space && !is_string && !IsOfWord(byte) &&
          !(text.empty() && byte == '"')) {
        continue;
      }
      const ParseStates::Id to = states_.Step(at, byte);
      if (to == ParseStates::kDead) continue;
      if (space) {
        if (spaces.insert(to).second) ways.insert(ways.begin(), {to, text});
        continue;
      }
      longer.back() = static_cast<char>(byte);
      const bool closed = is_string && ClosesString(longer);
      if (!written.Begins(longer) || (closed && !states_.EndsUnique(to))) {
        return true;
      }
      if (!closed) ways.emplace_back(to, longer);
    }
  }
  return false;
}

}  // namespace trivium
