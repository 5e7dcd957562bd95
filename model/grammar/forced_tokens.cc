// The tokenizer spells forced bytes as if they stood alone. The text has the
// same tokens there unless a token reaches from these bytes into the next ones:
// it has the bytes from some place on, and a byte that may come after them. So
// only the tokens count that end before the first such place.
//
// A text has at most kMostForcedBytes, and a constraint remembers at most
// kMostSpelled texts, so that both are bounded whatever the grammar is.
#include <algorithm>
#include <bitset>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "model/grammar/constraint.h"

namespace trivium {
namespace {

constexpr size_t kMostForcedBytes = 256;  // longer texts are spelled in parts
constexpr size_t kMostSpelled = 1024;

}  // namespace

std::shared_ptr<const ForcedRun> Constraint::Spell(
    const std::string& text, const std::bitset<256>& after) const {
  if (!spells()) return nullptr;
  std::string key = text;
  key.resize(text.size() + sizeof(after));
  std::memcpy(key.data() + text.size(), &after, sizeof(after));
  {
    MutexLock lock(&mutex_);
    const auto found = spelled_.find(key);
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
  if (known && bytes == text) {
    KeepSure(text, after, run.get());
  } else {
    run->clear();
  }
  if (run->empty()) run = nullptr;
  MutexLock lock(&mutex_);
  if (spelled_.size() >= kMostSpelled) spelled_.clear();
  return spelled_.try_emplace(std::move(key), std::move(run)).first->second;
}

void Constraint::KeepSure(std::string_view text, const std::bitset<256>& after,
                          ForcedRun* run) const {
  size_t sure = text.size() - std::min<size_t>(text.size(), trie_->longest());
  while (sure < text.size() &&
         !trie_->all().AnyGoesOn(text.substr(sure), after)) {
    ++sure;
  }
  size_t end = 0;
  const auto unsure =
      std::find_if(run->begin(), run->end(), [&](int32_t token) {
        return (end += trie_->bytes(token).size()) > sure;
      });
  run->erase(unsure, run->end());
}

std::shared_ptr<const ForcedRun> ConstraintMatcher::ForcedTokens(State state) {
  if (!constraint_->spells()) return nullptr;
  std::string text = Forced(state, kMostForcedBytes);
  text.resize(WholeSize(text));
  if (text.empty() || !IsUtf8(text)) return nullptr;
  return constraint_->Spell(text,
                            states_.NextBytes(states_.Walk(state.id, text)));
}

}  // namespace trivium
