#ifndef TRIVIUM_MODEL_GRAMMAR_PARSE_STATES_H_
#define TRIVIUM_MODEL_GRAMMAR_PARSE_STATES_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/grammar/automaton.h"

namespace trivium {

// The states of Earley's parser over an automaton, made when they are needed. A
// state tells all that the bytes read so far leave possible.
//
// A state is a set of items (position in a rule, state in which the rule
// began). Equal sets are one state, so states are compared by number, and
// states that began anywhere but hold the same items go on alike. Each state
// remembers its successors: a byte that was read before costs one look-up.
//
// A state stays valid until the states are destroyed. Not thread-safe.
class ParseStates {
 public:
  using Id = uint32_t;
  // The state in which nothing is possible.
  static constexpr Id kDead = 0;

  // `automaton` outlives this. Takes at most `most_bytes` of memory, about.
  ParseStates(const Automaton* automaton, size_t most_bytes);

  // The state before the first byte of the root.
  Id Start();
  // The state at `position` of its rule, which began in state `origin`. With
  // the origin kDead, IsComplete tells that the rule has ended.
  Id At(Position position, Id origin);

  // Returns the state after a byte; kDead if the byte is not possible. Every
  // other state can be completed.
  Id Step(Id state, uint8_t byte) {
    const Next* next = states_[state].next.get();
    const Id known = next == nullptr ? kUnknown : (*next)[byte];
    return known != kUnknown ? known : Compute(state, byte);
  }
  Id Walk(Id state, std::string_view bytes);

  bool IsComplete(Id state) const { return states_[state].complete; }
  // True if a rule of items that must differ has ended with the last byte.
  bool EndsUnique(Id state) const { return states_[state].ends_unique; }
  // True if such a rule may begin with the next byte.
  bool BeginsUnique(Id state) {
    Close(state);
    return states_[state].begins_unique;
  }
  // Positions from which the state goes on, each once, those of rules
  // that are called from them not included.
  std::vector<Position> Kernel(Id state) const;
  // A position, and the state in which its rule began.
  struct Item {
    Position at;
    Id origin;
    bool operator==(const Item&) const = default;
  };
  // The same with the states in which the rules began. Valid until the next
  // call of a function that is not const.
  std::span<const Item> KernelItems(Id state) const {
    return states_[state].kernel;
  }
  // Returns the bytes that may come next.
  std::bitset<256> NextBytes(Id state);

  // True if the bound was reached. Then states may be kDead that should not be,
  // and no answer counts.
  bool exhausted() const { return exhausted_; }

 private:
  struct Waiting {  // an item that goes on when a rule ends
    RuleId rule;
    Item then;
  };
  using Next = std::array<Id, 256>;
  struct State {
    std::vector<Item> kernel;  // sorted
    // Made when they are first needed.
    bool closed = false;
    // The kernel and what it predicts, whose origin is kSelf.
    std::vector<Item> items;
    std::vector<Waiting> waiting;  // by rule
    std::unique_ptr<Next> next;
    uint64_t hash = 0;
    bool complete = false;
    bool ends_unique = false;
    bool begins_unique = false;  // told when it is closed
  };
  static constexpr Id kSelf = ~Id{0};
  static constexpr Id kUnknown = ~Id{0};
  // The most items of a state; a state that needs more exhausts the bound.
  static constexpr size_t kMostItems = 4096;

  Id Compute(Id state, uint8_t byte);
  // Adds an item to `added_` unless it is there.
  void Add(Item item);
  // Ends the rules of the items in `added_`, and adds what goes on then.
  // Returns true if a rule ends that began in kDead. Sets ends_unique_.
  bool EndRules();
  void Close(Id id);
  Id Intern(bool complete);
  // Counts bytes of memory. Returns false beyond most_bytes_.
  bool Allocate(size_t bytes);

  const Automaton& automaton_;
  const size_t most_bytes_;
  size_t bytes_ = 0;
  bool exhausted_ = false;
  std::vector<State> states_;
  std::vector<Id> table_;  // open addressing by hash; kUnknown: free
  // Scratch: a set of items in the order in which they were added.
  std::vector<Item> added_;
  std::vector<uint32_t> slots_;   // open addressing: index in added_ ...
  std::vector<uint32_t> stamps_;  // ... if the stamp is round_
  uint32_t round_ = 0;
  bool ends_unique_ = false;  // a rule of items that must differ has ended
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_PARSE_STATES_H_
