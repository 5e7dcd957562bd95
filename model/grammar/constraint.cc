// A mask is made of parts. A position's own mask says which tokens its rule
// reads whole, and where in the trie the rule may end; it is computed once for
// all requests and callers. Only the tokens below such an end are tried in the
// state at hand: in a JSON string, those with a quotation mark.
//
// A state's tokens are those of its items together, so the parts are joined.
#include "model/grammar/constraint.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <utility>

#include "fmt/format.h"

namespace trivium {
namespace {

// The longest list of PositionMask::few. A mask of 150,000 bits is as large as
// a list of 4,700.
constexpr size_t kMostFew = 1024;
// The most masks that a request remembers.
constexpr size_t kMostMasks = 256;
// The most rules around a position that its mask looks into.
constexpr int kMostCallers = 16;
// States of one PositionMask.
constexpr size_t kPositionStateBytes = 64 << 20;
// A state of more positions than that, of which few bytes lead on, is followed
// as a whole: tools whose calls begin alike.
constexpr size_t kManyPositions = 4;
constexpr size_t kFewBytes = 12;

// Tells whether each character that stands in a JSON string as it is leads from
// `start` to `next`, and nowhere on the way the rule may end. The bytes of
// characters are those of Unicode's table 3-7.
class PlainReader {
 public:
  PlainReader(ParseStates* states, ParseStates::Id next)
      : states_(*states), next_(next) {}

  bool Reads(ParseStates::Id start) {
    return Leads(start, 0x20, '"' - 1, 0) &&
           Leads(start, '"' + 1, '\\' - 1, 0) &&
           Leads(start, '\\' + 1, 0x7F, 0) && Leads(start, 0xC2, 0xDF, 1) &&
           Begins(start, 0xE0, 0xA0, 0xBF, 1) && Leads(start, 0xE1, 0xEC, 2) &&
           Begins(start, 0xED, 0x80, 0x9F, 1) && Leads(start, 0xEE, 0xEF, 2) &&
           Begins(start, 0xF0, 0x90, 0xBF, 2) && Leads(start, 0xF1, 0xF3, 3) &&
           Begins(start, 0xF4, 0x80, 0x8F, 2);
  }

 private:
  // True if each of the bytes, and any `more` bytes 80 .. BF after it, lead to
  // next_.
  bool Leads(ParseStates::Id from, int low, int high, int more) {
    for (int byte = low; byte <= high; ++byte) {
      const ParseStates::Id to = states_.Step(from, static_cast<uint8_t>(byte));
      if (to == ParseStates::kDead || states_.IsComplete(to)) return false;
      if (more == 0 ? to != next_ : !Continues(to, more)) return false;
    }
    return true;
  }

  // Most bytes lead to the same states, which are looked at once.
  bool Continues(ParseStates::Id from, int more) {
    const auto [found, added] = known_.try_emplace({from, more}, false);
    if (added) found->second = Leads(from, 0x80, 0xBF, more - 1);
    return found->second;
  }

  // The same for one first byte and some second ones.
  bool Begins(ParseStates::Id start, int first, int low, int high, int more) {
    const ParseStates::Id to = states_.Step(start, static_cast<uint8_t>(first));
    return to != ParseStates::kDead && !states_.IsComplete(to) &&
           Leads(to, low, high, more);
  }

  ParseStates& states_;
  const ParseStates::Id next_;
  std::map<std::pair<ParseStates::Id, int>, bool> known_;
};

// The most characters of plain tokens; kAnyCharacters if there is no bound.
using Characters = std::optional<uint32_t>;
constexpr uint32_t kAnyCharacters = ~uint32_t{0};

// True if a plain token may begin with one of the bytes.
bool BeginsPlain(std::bitset<256> bytes) {
  for (size_t byte = 0; byte < 0x20; ++byte) bytes.reset(byte);
  return bytes.reset('"').reset('\\').any();
}

// Does what PlainCharacters does, at a position of a counted rule.
Characters CountedCharacters(const Automaton& automaton, Position position,
                             ParseStates::Id origin, ParseStates::Id start,
                             ParseStates* states) {
  const Automaton::Count count = automaton.CountAt(position);
  if (!count.endless && count.left == 0) return std::nullopt;
  // The count may pass the place from which the rule may end.
  if (states->IsComplete(states->At(count.may_end, origin)) ||
      !PlainReader(states, states->At(count.next, origin)).Reads(start)) {
    return std::nullopt;
  }
  if (count.endless) return kAnyCharacters;
  // A longer token goes on with what follows the rule: that is not plain.
  if (BeginsPlain(states->NextBytes(states->At(count.last, origin)))) {
    return std::nullopt;
  }
  return count.left;
}

// The most characters of plain tokens that are read from a position, whose
// state is `start`, without leaving its rule, if any plain character may come;
// nothing if not.
Characters PlainCharacters(const Automaton& automaton, Position position,
                           ParseStates::Id origin, ParseStates::Id start,
                           ParseStates* states) {
  if (start == ParseStates::kDead) return std::nullopt;
  if (automaton.IsCounted(position)) {
    return CountedCharacters(automaton, position, origin, start, states);
  }
  const ParseStates::Id next = states->Step(start, 'a');
  if (next == ParseStates::kDead || !PlainReader(states, next).Reads(start)) {
    return std::nullopt;
  }
  if (next == start || PlainReader(states, next).Reads(next)) {
    return kAnyCharacters;
  }
  // The first character may begin a counted rule.
  for (const Position counted : states->Kernel(next)) {
    if (!automaton.IsCounted(counted) || states->At(counted, start) != next) {
      continue;
    }
    const Characters more =
        CountedCharacters(automaton, counted, start, next, states);
    if (!more.has_value() || *more == kAnyCharacters) return more;
    return *more + 1;
  }
  return std::nullopt;
}

}  // namespace

size_t PositionMask::bytes() const {
  return sizeof(*this) + few.capacity() * sizeof(int32_t) +
         (many == nullptr ? 0 : many->words().size() * sizeof(uint64_t)) +
         exits.capacity() * sizeof(Exit);
}

Constraint::Constraint(Automaton automaton,
                       std::shared_ptr<const TokenTrie> trie,
                       const Limits& limits, Speller speller)
    : automaton_(std::move(automaton)),
      trie_(std::move(trie)),
      limits_(limits),
      speller_(std::move(speller)) {}

std::shared_ptr<const PositionMask> Constraint::MaskAt(
    Position position) const {
  position = automaton_.Representative(position, trie_->longest());
  {
    MutexLock lock(&mutex_);
    const auto found = masks_.find(position);
    if (found != masks_.end()) return found->second;
  }
  // Two requests may compute the same mask at once.
  auto mask = std::make_shared<const PositionMask>(Compute(position));
  MutexLock lock(&mutex_);
  if (bytes_ > limits_.position_bytes) {
    masks_.clear();
    bytes_ = 0;
  }
  const auto [found, added] = masks_.try_emplace(position, mask);
  if (added) bytes_ += mask->bytes();
  return found->second;
}

PositionMask Constraint::Compute(Position position) const {
  ParseStates states(&automaton_, kPositionStateBytes);
  // If only one position calls the rule, what follows the call is known, too.
  std::vector<Position> callers;
  for (Position site = automaton_.rule(automaton_.RuleOf(position)).site;
       site != Automaton::kNone && callers.size() < kMostCallers;
       site = automaton_.rule(automaton_.RuleOf(site)).site) {
    callers.push_back(site);
  }
  ParseStates::Id origin = ParseStates::kDead;
  for (; !callers.empty(); callers.pop_back()) {
    origin = states.At(callers.back(), origin);
  }
  PositionMask result;
  TokenMask mask(trie_->tokens());
  const ParseStates::Id start = states.At(position, origin);
  const Characters plain =
      PlainCharacters(automaton_, position, origin, start, &states);
  result.plain = plain.has_value();
  if (plain.has_value()) trie_->AddPlain(*plain, &mask);
  const TokenNodes& tokens = plain ? trie_->not_plain() : trie_->all();
  size_t count = 0;
  std::vector<ParseStates::Id> path(trie_->longest() + 1);
  std::vector<uint32_t> ancestors(trie_->longest() + 1);
  size_t listed = 0;  // the ancestors that `exits` has
  path[0] = start;
  const std::span<const TokenNodes::Node> nodes = tokens.nodes();
  for (uint32_t i = 0; i < tokens.size();) {
    const TokenNodes::Node& node = nodes[i];
    const ParseStates::Id state = states.Step(path[node.depth - 1], node.byte);
    listed = std::min<size_t>(listed, node.depth - 1);
    if (state == ParseStates::kDead) {
      i = node.next;
      continue;
    }
    ancestors[node.depth] = i;
    if (states.IsComplete(state)) {
      while (++listed < node.depth) {
        result.exits.push_back({ancestors[listed], false});
      }
      result.exits.push_back({i, true});
      i = node.next;
      continue;
    }
    path[node.depth] = state;
    for (const int32_t token : tokens.TokensAt(i)) {
      mask.Set(token);
      if (++count <= kMostFew) result.few.push_back(token);
    }
    ++i;
  }
  if (count > kMostFew || plain.has_value()) {
    result.few.clear();
    result.many = std::make_unique<TokenMask>(std::move(mask));
  }
  result.few.shrink_to_fit();
  result.exits.shrink_to_fit();
  result.exhausted = states.exhausted();
  return result;
}

ConstraintMatcher::ConstraintMatcher(
    std::shared_ptr<const Constraint> constraint)
    : constraint_(std::move(constraint)),
      states_(&constraint_->automaton(), constraint_->limits().request_bytes),
      items_(&states_, constraint_->limits().request_bytes),
      start_{states_.Start()},
      path_(constraint_->trie().longest() + 1) {}

absl::Status ConstraintMatcher::status() const {
  if (!exhausted_ && !states_.exhausted() && !items_.exhausted()) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      fmt::format("a text needs more than {} MiB to be followed; give a "
                  "constraint with fewer ways to read the same text",
                  constraint_->limits().request_bytes >> 20));
}

std::shared_ptr<const TokenMask> ConstraintMatcher::Mask(State state) {
  const uint64_t key = uint64_t{state.items} << 32 | state.id;
  const auto found = masks_.find(key);
  if (found != masks_.end() && status().ok()) return found->second;
  std::shared_ptr<const TokenMask> mask = Compute(state);
  if (!status().ok()) {
    return std::make_shared<const TokenMask>(constraint_->trie().tokens());
  }
  if (masks_.size() >= kMostMasks) masks_.clear();
  masks_.emplace(key, mask);
  return mask;
}

std::shared_ptr<const TokenMask> ConstraintMatcher::Compute(State state) {
  const TokenTrie& trie = constraint_->trie();
  if (state.items != UniqueItems::kNone) {
    // The array's items before the open one are no matter to the others.
    auto mask = std::make_shared<TokenMask>(*Mask({state.id}));
    RemoveRepeated(state, mask.get());
    return mask;
  }
  auto mask = std::make_shared<TokenMask>(trie.tokens());
  if (IsComplete(state)) {
    for (const int32_t id : trie.end_ids()) mask->Set(id);
  }
  const std::vector<Position> kernel = states_.Kernel(state.id);
  if (kernel.size() > kManyPositions &&
      states_.NextBytes(state.id).count() <= kFewBytes) {
    path_[0] = state.id;
    AddTokens(trie.all(), 0, static_cast<uint32_t>(trie.all().size()),
              mask.get());
    RemoveRepeated(state, mask.get());
    return mask;
  }
  for (const Position position : kernel) {
    const auto part = constraint_->MaskAt(position);
    exhausted_ = exhausted_ || part->exhausted;
    if (exhausted_ || states_.exhausted()) break;
    for (const int32_t token : part->few) mask->Set(token);
    if (part->many != nullptr) mask->Add(*part->many);
    AddExits(state, *part, mask.get());
  }
  RemoveRepeated(state, mask.get());
  return mask;
}

void ConstraintMatcher::RemoveRepeated(State state, TokenMask* mask) {
  if (!constraint_->automaton().has_unique()) return;
  const TokenTrie& trie = constraint_->trie();
  const UniqueItems::Written& written = items_.At(state.items);
  if (written.between() || UniqueItems::MayRepeat(written)) {
    path_[0] = state.id;
    RemoveRepeated(0, static_cast<uint32_t>(trie.all().size()), written, mask);
  }
  for (const int32_t token : trie.across_items()) {
    if (!mask->Has(token)) continue;
    ParseStates::Id id = state.id;
    UniqueItems::Written then = written;
    if (!Read(trie.bytes(token), &id, &then)) mask->Reset(token);
  }
}

void ConstraintMatcher::RemoveRepeated(uint32_t first, uint32_t last,
                                       const UniqueItems::Written& written,
                                       TokenMask* mask) {
  const TokenNodes& tokens = constraint_->trie().all();
  const std::span<const TokenNodes::Node> nodes = tokens.nodes();
  for (uint32_t i = first; i < last; i = nodes[i].next) {
    const TokenNodes::Node& node = nodes[i];
    const ParseStates::Id before = path_[node.depth - 1];
    const ParseStates::Id next = states_.Step(before, node.byte);
    if (next == ParseStates::kDead) continue;
    UniqueItems::Written then = written;
    if (!items_.Read(before, node.byte, next, &then)) {
      for (uint32_t below = i; below < node.next; ++below) {
        for (const int32_t token : tokens.TokensAt(below)) mask->Reset(token);
      }
      continue;
    }
    // The tokens across items tell whether another item may follow.
    const bool before_item = written.between() && then.between();
    if (before_item || UniqueItems::MayRepeat(then)) {
      path_[node.depth] = next;
      RemoveRepeated(i + 1, node.next, then, mask);
    }
  }
}

bool ConstraintMatcher::Read(std::string_view bytes, ParseStates::Id* state,
                             UniqueItems::Written* written) {
  for (const char c : bytes) {
    const uint8_t byte = static_cast<uint8_t>(c);
    const ParseStates::Id next = states_.Step(*state, byte);
    if (next == ParseStates::kDead ||
        !items_.Read(*state, byte, next, written)) {
      return false;
    }
    *state = next;
  }
  return true;
}

ConstraintMatcher::State ConstraintMatcher::Walk(State state,
                                                 std::string_view bytes) {
  if (!constraint_->automaton().has_unique()) {
    return {states_.Walk(state.id, bytes)};
  }
  UniqueItems::Written written = items_.At(state.items);
  if (!Read(bytes, &state.id, &written)) return {};
  return {state.id, items_.IdOf(written)};
}

void ConstraintMatcher::AddTokens(const TokenNodes& tokens, uint32_t first,
                                  uint32_t last, TokenMask* mask) {
  const std::span<const TokenNodes::Node> nodes = tokens.nodes();
  for (uint32_t i = first; i < last;) {
    const TokenNodes::Node& node = nodes[i];
    const ParseStates::Id next = states_.Step(path_[node.depth - 1], node.byte);
    if (next == ParseStates::kDead) {
      i = node.next;
      continue;
    }
    path_[node.depth] = next;
    for (const int32_t token : tokens.TokensAt(i)) mask->Set(token);
    ++i;
  }
}

void ConstraintMatcher::AddExits(State state, const PositionMask& part,
                                 TokenMask* mask) {
  const TokenTrie& trie = constraint_->trie();
  const TokenNodes& tokens = part.plain ? trie.not_plain() : trie.all();
  path_[0] = state.id;
  for (const PositionMask::Exit& exit : part.exits) {
    const TokenNodes::Node& node = tokens.nodes()[exit.node];
    if (exit.ends) {
      AddTokens(tokens, exit.node, node.next, mask);
    } else {
      path_[node.depth] = states_.Step(path_[node.depth - 1], node.byte);
    }
  }
}

absl::StatusOr<ConstraintMatcher::State> ConstraintMatcher::Advance(
    State state, int32_t token) {
  const TokenTrie& trie = constraint_->trie();
  if (token < 0 || static_cast<size_t>(token) >= trie.tokens()) {
    return absl::InvalidArgumentError(fmt::format(
        "token {} is not in the vocabulary of {}", token, trie.tokens()));
  }
  if (trie.IsEnd(token) && IsComplete(state)) return State{};
  const std::string& bytes = trie.bytes(token);
  const State next = bytes.empty() ? State{} : Walk(state, bytes);
  if (!status().ok()) return status();
  if (next.id == ParseStates::kDead) {
    return absl::InvalidArgumentError(
        fmt::format("token {} is not allowed by the constraint here", token));
  }
  return next;
}

std::string ConstraintMatcher::Forced(State state, size_t most) {
  std::string forced;
  ParseStates::Id id = state.id;
  while (forced.size() < most && !states_.IsComplete(id)) {
    const std::bitset<256> bytes = states_.NextBytes(id);
    if (bytes.count() != 1) break;
    size_t byte = 0;
    while (!bytes[byte]) ++byte;
    id = states_.Step(id, static_cast<uint8_t>(byte));
    if (id == ParseStates::kDead) break;
    forced.push_back(static_cast<char>(byte));
  }
  return forced;
}

}  // namespace trivium
