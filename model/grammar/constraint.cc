// A mask is made of parts. A position's own mask says which tokens its rule
// reads whole, and where in the trie the rule may end; it is computed once for
// all requests and callers. Only the tokens below such an end are tried in the
// state at hand: in a JSON string, those with a quotation mark.
//
// A state's tokens are those of its items together, so the parts are joined.
#include "model/grammar/constraint.h"

#include <algorithm>
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

}  // namespace

size_t PositionMask::bytes() const {
  return sizeof(*this) + few.capacity() * sizeof(int32_t) +
         (many == nullptr ? 0 : many->words().size() * sizeof(uint64_t)) +
         exits.capacity() * sizeof(Exit);
}

Constraint::Constraint(Automaton automaton,
                       std::shared_ptr<const TokenTrie> trie,
                       const Limits& limits)
    : automaton_(std::move(automaton)),
      trie_(std::move(trie)),
      limits_(limits) {}

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
  size_t count = 0;
  std::vector<ParseStates::Id> path(trie_->longest() + 1);
  std::vector<uint32_t> ancestors(trie_->longest() + 1);
  size_t listed = 0;  // the ancestors that `exits` has
  path[0] = states.At(position, origin);
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  for (uint32_t i = 0; i < trie_->size();) {
    const TokenTrie::Node& node = nodes[i];
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
    for (const int32_t token : trie_->TokensAt(i)) {
      mask.Set(token);
      if (++count <= kMostFew) result.few.push_back(token);
    }
    ++i;
  }
  if (count > kMostFew) {
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
      start_{states_.Start()},
      path_(constraint_->trie().longest() + 1) {}

absl::Status ConstraintMatcher::status() const {
  if (!exhausted_ && !states_.exhausted()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("a text needs more than {} MiB to be followed; give a "
                  "constraint with fewer ways to read the same text",
                  constraint_->limits().request_bytes >> 20));
}

std::shared_ptr<const TokenMask> ConstraintMatcher::Mask(State state) {
  const auto found = masks_.find(state.id);
  if (found != masks_.end() && status().ok()) return found->second;
  std::shared_ptr<const TokenMask> mask = Compute(state);
  if (!status().ok()) {
    return std::make_shared<const TokenMask>(constraint_->trie().tokens());
  }
  if (masks_.size() >= kMostMasks) masks_.clear();
  masks_.emplace(state.id, mask);
  return mask;
}

std::shared_ptr<const TokenMask> ConstraintMatcher::Compute(State state) {
  const TokenTrie& trie = constraint_->trie();
  auto mask = std::make_shared<TokenMask>(trie.tokens());
  if (IsComplete(state)) {
    for (const int32_t id : trie.end_ids()) mask->Set(id);
  }
  for (const Position position : states_.Kernel(state.id)) {
    const auto part = constraint_->MaskAt(position);
    exhausted_ = exhausted_ || part->exhausted;
    if (exhausted_ || states_.exhausted()) break;
    for (const int32_t token : part->few) mask->Set(token);
    if (part->many != nullptr) mask->Add(*part->many);
    AddExits(state, part->exits, mask.get());
  }
  return mask;
}

void ConstraintMatcher::AddExits(State state,
                                 const std::vector<PositionMask::Exit>& exits,
                                 TokenMask* mask) {
  const TokenTrie& trie = constraint_->trie();
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  path_[0] = state.id;
  for (size_t e = 0; e < exits.size();) {
    const TokenTrie::Node& exit = nodes[exits[e].node];
    if (!exits[e].ends) {
      path_[exit.depth] = states_.Step(path_[exit.depth - 1], exit.byte);
      ++e;
      continue;
    }
    for (uint32_t i = exits[e].node; i < exit.next;) {
      const TokenTrie::Node& node = nodes[i];
      const ParseStates::Id next =
          states_.Step(path_[node.depth - 1], node.byte);
      if (next == ParseStates::kDead) {
        i = node.next;
        continue;
      }
      path_[node.depth] = next;
      for (const int32_t token : trie.TokensAt(i)) mask->Set(token);
      ++i;
    }
    ++e;
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
  const ParseStates::Id next =
      bytes.empty() ? ParseStates::kDead : states_.Walk(state.id, bytes);
  if (!status().ok()) return status();
  if (next == ParseStates::kDead) {
    return absl::InvalidArgumentError(
        fmt::format("token {} is not allowed by the constraint here", token));
  }
  return State{next};
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
