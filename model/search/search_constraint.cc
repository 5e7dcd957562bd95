#include "model/search/search_constraint.h"

#include <string>
#include <utility>

namespace trivium {

SearchConstraint::SearchConstraint(const DecodingOptions& options)
    : constraint_(options.constraint),
      forced_last_id_(options.forced_last_id),
      max_new_tokens_(options.max_new_tokens) {
  if (constraint_ == nullptr) return;
  matcher_.emplace(constraint_);
  thoughts_ = options.thoughts;
}

SearchConstraint::State SearchConstraint::Start() const {
  State state;
  if (matcher_) state.text = matcher_->Start();
  if (thoughts_ != nullptr) state.thought = thoughts_->Start();
  return state;
}

const TokenMask* SearchConstraint::Allowed(State state) {
  if (!matcher_) return nullptr;
  allowed_ = matcher_->Mask(state.text);
  if (thoughts_ == nullptr) return allowed_.get();
  const std::optional<int32_t> forced = thoughts_->Forced(state.thought);
  // Within a character the mark must wait for its end.
  if (forced && allowed_->Has(*forced)) {
    auto only = std::make_shared<TokenMask>(constraint_->trie().tokens());
    only->Set(*forced);
    allowed_ = std::move(only);
  }
  return allowed_.get();
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
