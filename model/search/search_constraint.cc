#include "model/search/search_constraint.h"

#include <string>
#include <utility>

namespace trivium {
namespace {

// True if the rules may ban a token that a text must have, or ask for another
// one.
bool MayBanText(const DecodingOptions& options) {
  const TokenTrie& trie = options.constraint->trie();
  for (const auto& forced : {options.forced_first_id, options.forced_last_id}) {
    if (forced.has_value() && static_cast<size_t>(*forced) < trie.tokens() &&
        !trie.bytes(*forced).empty()) {
      return true;
    }
  }
  return !options.banned_sequences.empty() || !options.suppressed_ids.empty() ||
         !options.first_suppressed_ids.empty() ||
         options.no_repeat_ngram_size != 0 || options.source_ngram_size != 0 ||
         (options.min_new_tokens > 0 && !options.stop_ids.empty());
}

}  // namespace

SearchConstraint::SearchConstraint(const DecodingOptions& options)
    : constraint_(options.constraint),
      forced_last_id_(options.forced_last_id),
      max_new_tokens_(options.max_new_tokens) {
  if (constraint_ == nullptr) return;
  matcher_.emplace(constraint_);
  thoughts_ = options.thoughts;
  runs_ = constraint_->spells() && !MayBanText(options);
  only_.emplace(constraint_->trie().tokens());
}

SearchConstraint::State SearchConstraint::Start() {
  State state;
  if (matcher_) {
    state.text = matcher_->Start();
    BeginRun(&state);
  }
  if (thoughts_ != nullptr) state.thought = thoughts_->Start();
  return state;
}

const TokenMask* SearchConstraint::Allowed(const State& state) {
  if (!matcher_) return nullptr;
  if (thoughts_ != nullptr) {
    const std::optional<int32_t> forced = thoughts_->Forced(state.thought);
    // Within a character the mark must wait for its end.
    if (forced && matcher_->Mask(state.text)->Has(*forced)) {
      return Only(*forced);
    }
  }
  if (const auto run = ForcedTokens(state); !run.empty()) return Only(run[0]);
  allowed_ = matcher_->Mask(state.text);
  return allowed_.get();
}

std::span<const int32_t> SearchConstraint::ForcedTokens(
    const State& state) const {
  // Beyond its memory a text is given up.
  if (state.run == nullptr || !matcher_->status().ok()) return {};
  return std::span(*state.run).subspan(state.written);
}

const TokenMask* SearchConstraint::Only(int32_t token) {
  only_->Reset(only_token_);
  only_->Set(token);
  only_token_ = token;
  return &*only_;
}

void SearchConstraint::BeginRun(State* state) {
  state->run = runs_ ? matcher_->ForcedTokens(state->text) : nullptr;
  state->written = 0;
}

bool SearchConstraint::Advance(int32_t token, int new_tokens, State* state) {
  if (!matcher_) return true;
  const TokenTrie& trie = constraint_->trie();
  if (trie.IsEnd(token)) {
    const bool cut = new_tokens == max_new_tokens_ && token == forced_last_id_;
    return cut || matcher_->IsComplete(state->text);
  }
  if (static_cast<size_t>(token) >= trie.tokens()) return false;
  if (trie.bytes(token).empty()) return true;
  const auto next = matcher_->Advance(state->text, token);
  if (!next.ok()) return false;
  state->text = *next;
  const std::span<const int32_t> run = ForcedTokens(*state);
  if (run.size() > 1 && run[0] == token) {
    ++state->written;
  } else {
    BeginRun(state);
  }
  if (thoughts_ != nullptr) {
    thoughts_->Advance(token, trie.bytes(token), &state->thought);
  }
  return true;
}

absl::Status SearchConstraint::EmptyMask() const {
  if (absl::Status known = status(); !known.ok()) return known;
  return absl::InvalidArgumentError(
      "constraint: no token may follow: the other options forbid all that the "
      "constraint allows, or the vocabulary cannot spell it; change banned, "
      "min_new_tokens or no_repeat_ngram_size, or the constraint");
}

absl::Status SearchConstraint::status() const {
  if (!matcher_) return absl::OkStatus();
  const absl::Status status = matcher_->status();
  if (status.ok()) return status;
  return absl::InvalidArgumentError("constraint: " +
                                    std::string(status.message()));
}

}  // namespace trivium
