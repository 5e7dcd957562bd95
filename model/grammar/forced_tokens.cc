// The tokenizer spells forced bytes as if they stood alone. The text has the
// same tokens there unless a token reaches from these bytes into the next ones.
// So a token counts only if no longer token begins with it, the rest of the
// forced bytes, and a byte that may come after these.
#include <algorithm>
#include <bitset>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "model/grammar/constraint.h"

namespace trivium {
namespace {

// A longer text is spelled in parts.
constexpr size_t kMostForcedBytes = 256;
constexpr size_t kMostSpelled = 1024;  // texts that are remembered

}  // namespace

std::shared_ptr<const ForcedRun> Constraint::Spell(
    const std::string& text) const {
  if (!spells()) return nullptr;
  {
    MutexLock lock(&mutex_);
    const auto found = spelled_.find(text);
    if (found != spelled_.end()) return found->second;
  }
  auto run = std::make_shared<ForcedRun>(speller_(text));
  std::string bytes;
  const bool known = std::all_of(run->begin(), run->end(), [&](int32_t token) {
    const bool in = token >= 0 && static_cast<size_t>(token) < trie_->tokens();
    if (!in || trie_->bytes(token).empty()) return false;
    bytes += trie_->bytes(token);
    return true;
  });
  if (!known || bytes != text) run = nullptr;
  MutexLock lock(&mutex_);
  if (spelled_.size() >= kMostSpelled) spelled_.clear();
  return spelled_.try_emplace(text, std::move(run)).first->second;
}

std::shared_ptr<const ForcedRun> ConstraintMatcher::ForcedTokens(State state) {
  if (!constraint_->spells()) return nullptr;
  std::string text = Forced(state, kMostForcedBytes);
  text.resize(WholeSize(text));
  if (text.empty() || !IsUtf8(text)) return nullptr;
  std::shared_ptr<const ForcedRun> run = constraint_->Spell(text);
  if (run == nullptr) return nullptr;
  const TokenTrie& trie = constraint_->trie();
  const std::bitset<256> after =
      states_.NextBytes(states_.Walk(state.id, text));
  size_t count = 0;
  for (size_t at = 0; count < run->size(); ++count) {
    if (trie.all().AnyGoesOn(std::string_view(text).substr(at), after)) break;
    at += trie.bytes((*run)[count]).size();
  }
  if (count == 0) return nullptr;
  if (count == run->size()) return run;
  return std::make_shared<ForcedRun>(run->begin(), run->begin() + count);
}

}  // namespace trivium
