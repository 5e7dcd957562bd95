#include "model/constraint_cache.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "model/grammar/automaton.h"
#include "model/tokenizer/token_bytes.h"

namespace trivium {
namespace {

// Requests of one constraint share the masks; each has states of its own.
constexpr Constraint::Limits kLimits = {.request_bytes = 16 << 20,
                                        .position_bytes = 16 << 20};
constexpr size_t kMostTries = 4;
// Tokens between two checks whether the call is alive.
constexpr int kTokensAtOnce = 1024;

// A constraint that is too large is wrong, however often it is sent.
absl::Status AboutTheText(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kResourceExhausted) return status;
  return absl::InvalidArgumentError(status.message());
}

// Returns the tokens of a text that stands within another; none if the
// tokenizer does not tell. Many tokenizers put a space before a text; after a
// line break the text's own tokens come as they would anywhere.
ForcedRun Spell(const Tokenizer& tokenizer, const TokenTrie& trie,
                std::string_view text) {
  for (const std::string before : {"", "\n"}) {
    EncodeOptions options;
    options.side = TextSide::kTarget;
    options.add_special_tokens = false;
    const absl::StatusOr<Encoding> encoding =
        tokenizer.Encode(before + std::string(text), options);
    if (!encoding.ok()) return {};
    size_t bytes = 0;
    ForcedRun run(encoding->ids.rbegin(), encoding->ids.rend());
    for (size_t i = 0; i < run.size() && bytes < text.size(); ++i) {
      if (run[i] < 0 || static_cast<size_t>(run[i]) >= trie.tokens()) break;
      bytes += trie.bytes(run[i]).size();
      if (bytes == text.size()) run.resize(i + 1);
    }
    if (bytes == text.size()) return {run.rbegin(), run.rend()};
  }
  return {};
}

}  // namespace

absl::StatusOr<Grammar> GrammarOf(const ConstraintText& text,
                                  const AliveCheck& check_alive) {
  switch (text.form) {
    case ConstraintText::Form::kJsonSchema:
      return GrammarOfJsonSchema(text.text, text.json, {}, check_alive);
    case ConstraintText::Form::kJsonObject:
      return GrammarOfJsonObject(text.json);
    case ConstraintText::Form::kRegex:
      return GrammarOfRegex(text.text);
    case ConstraintText::Form::kChoices:
      return GrammarOfChoices(text.choices);
    case ConstraintText::Form::kGrammar:
      return GrammarOfGbnf(text.text);
    case ConstraintText::Form::kMade:
      break;
  }
  return absl::InternalError("no such form of a constraint");
}

absl::Status ConstraintCache::CheckTokenizer(const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) {
    return absl::FailedPreconditionError(
        "the model has no tokenizer, so its texts are not known; leave the "
        "constraint out");
  }
  if (tokenizer->NewJoiningDecoder() == nullptr) {
    return absl::FailedPreconditionError(
        "the model's tokenizer changes texts as it joins their pieces, so they "
        "cannot be held to a form; leave the constraint out");
  }
  return absl::OkStatus();
}

std::shared_ptr<const Constraint> ConstraintCache::Find(
    const ConstraintText& text, const Tokens& tokens) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.tokens == tokens && entry.text == text;
      });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->constraint;
}

ConstraintCache::Trie ConstraintCache::FindTrie(const Tokens& tokens) const {
  const auto found =
      std::find_if(tries_.begin(), tries_.end(),
                   [&](const auto& trie) { return trie.first == tokens; });
  return found == tries_.end() ? nullptr : found->second;
}

absl::StatusOr<ConstraintCache::Trie> ConstraintCache::TrieFor(
    const Tokenizer& tokenizer, int vocabulary, const Tokens& tokens,
    const AliveCheck& check_alive) {
  {
    MutexLock lock(&mutex_);
    if (Trie known = FindTrie(tokens)) return known;
  }
  const TokenBytes bytes(tokenizer, /*joining=*/true);
  if (!bytes.after_text()) {
    return absl::FailedPreconditionError(
        "the vocabulary has no token for the letter 'a', so the texts of its "
        "tokens are not known; leave the constraint out");
  }
  std::vector<std::string> texts(vocabulary);
  for (int32_t id = 0; id < vocabulary; ++id) {
    if (id % kTokensAtOnce == 0) TRIVIUM_RETURN_IF_ERROR(check_alive());
    TokenBytes::Bytes token = bytes.Of(id);
    if (!token.special) texts[id] = std::move(token.bytes);
  }
  for (const auto& [id, text] : tokens.written) {
    if (id < vocabulary) texts[id] = text;
  }
  auto trie =
      std::make_shared<const TokenTrie>(std::move(texts), tokens.end_ids);
  MutexLock lock(&mutex_);
  // Calls that made it at the same time share one.
  if (Trie known = FindTrie(tokens)) return known;
  tries_.push_front({tokens, trie});
  if (tries_.size() > kMostTries) tries_.pop_back();
  return trie;
}

absl::StatusOr<std::shared_ptr<const Constraint>> ConstraintCache::Get(
    const ConstraintText& text, const Tokenizer& tokenizer, int vocabulary,
    std::span<const int32_t> end_tokens, const AliveCheck& check_alive,
    const WrittenTokens& written, const MakeGrammar& make) {
  const Tokens tokens = {{end_tokens.begin(), end_tokens.end()}, written};
  {
    MutexLock lock(&mutex_);
    if (auto known = Find(text, tokens)) return known;
  }
  TRIVIUM_RETURN_IF_ERROR(check_alive());
  absl::StatusOr<Grammar> grammar =
      make ? make() : GrammarOf(text, check_alive);
  if (!grammar.ok()) return AboutTheText(grammar.status());
  absl::StatusOr<Automaton> automaton =
      Automaton::Create(*grammar, check_alive);
  if (!automaton.ok()) return AboutTheText(automaton.status());
  TRIVIUM_ASSIGN_OR_RETURN(Trie trie,
                           TrieFor(tokenizer, vocabulary, tokens, check_alive));
  Speller speller = [&tokenizer, trie](std::string_view bytes) {
    return Spell(tokenizer, *trie, bytes);
  };
  std::shared_ptr<const Constraint> constraint = std::make_shared<Constraint>(
      *std::move(automaton), std::move(trie), kLimits, std::move(speller));
  std::list<Entry> dropped;  // freed without the lock
  MutexLock lock(&mutex_);
  // Calls that compiled it at the same time share one, and its masks.
  if (auto known = Find(text, tokens)) return known;
  entries_.push_front({text, tokens, constraint});
  if (entries_.size() > kMost) {
    dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
  }
  return constraint;
}

}  // namespace trivium
