#ifndef TRIVIUM_MODEL_GRAMMAR_UNIQUE_ITEMS_H_
#define TRIVIUM_MODEL_GRAMMAR_UNIQUE_ITEMS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/grammar/parse_states.h"

namespace trivium {

// Follows arrays whose items must differ, which no state of a parser can: it
// remembers the items of the open array and refuses the bytes that would end
// one of them again, or would leave nothing else.
//
// The items are scalars, and each has one spelling (Grammar::SetUnique), so
// two are equal if their texts are. They hold no arrays, so only one such array
// is open at a time. An item begins where the parser may begin a rule of such
// items, and ends at its closing quotation mark or before a byte that no
// number, true, false or null has.
class UniqueItems {
 public:
  // A value: the items that the open array has so far.
  class Written {
   public:
    std::strong_ordering operator<=>(const Written& other) const;
    bool operator==(const Written& other) const {
      return (*this <=> other) == std::strong_ordering::equal;
    }
    // True if an item has begun and not ended.
    bool in_item() const { return !item_.empty(); }
    // True if the array has an item that has ended, and one may follow.
    bool between() const { return item_.empty() && !items().empty(); }

   private:
    friend class UniqueItems;
    using Items = std::vector<std::string>;
    const Items& items() const;
    // True if an item begins like the text.
    bool Begins(const std::string& text) const;

    std::shared_ptr<const Items> items_;  // sorted; null: none
    std::string item_;                    // that has not ended
  };
  using Id = uint32_t;
  static constexpr Id kNone = 0;

  // `states` outlives this. Remembers at most `most_bytes`, about.
  UniqueItems(ParseStates* states, size_t most_bytes);

  // Reads a byte that leads from one state to the next. False if items could
  // not differ any more.
  bool Read(ParseStates::Id from, uint8_t byte, ParseStates::Id to,
            Written* written);
  // True if an item that was written begins with the open one.
  static bool MayRepeat(const Written& written) {
    return written.in_item() && written.Begins(written.item_);
  }

  // Equal values have equal numbers.
  Id IdOf(const Written& written);
  const Written& At(Id id) const { return *by_id_[id]; }
  // True beyond most_bytes. Then numbers do not count.
  bool exhausted() const { return bytes_ > most_bytes_; }

 private:
  // Adds the open item to those that were written. False if it is one of them.
  bool End(ParseStates::Id state, Written* written);
  // True if the open item, of which nothing may have been written, can become
  // one that was not written.
  bool CanDiffer(ParseStates::Id state, const Written& written);

  ParseStates& states_;
  const size_t most_bytes_;
  size_t bytes_ = 0;
  std::map<Written, Id> ids_;
  std::vector<const Written*> by_id_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_UNIQUE_ITEMS_H_
