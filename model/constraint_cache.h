#ifndef TRIVIUM_MODEL_CONSTRAINT_CACHE_H_
#define TRIVIUM_MODEL_CONSTRAINT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "base/mutex.h"
#include "model/grammar/constraint.h"
#include "model/grammar/frontends.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

// A constraint as a request writes it.
struct ConstraintText {
  enum class Form : uint8_t {
    kJsonSchema,
    kJsonObject,
    kRegex,
    kChoices,
    kGrammar,  // GBNF
    kMade,     // a grammar that the caller of Get makes; `text` tells it
  };
  Form form = Form::kJsonObject;
  std::string text;                  // of the forms that are one text
  std::vector<std::string> choices;  // of kChoices
  JsonSchemaOptions json;            // of kJsonSchema and kJsonObject
  bool operator==(const ConstraintText&) const = default;
};

// Special tokens that are written as text, by id; those of a vocabulary are
// no text otherwise.
using WrittenTokens = std::map<int32_t, std::string>;

// INVALID_ARGUMENT if the text is wrong; RESOURCE_EXHAUSTED if it is too large;
// the message names the place in it. `text` is not kMade.
absl::StatusOr<Grammar> GrammarOf(const ConstraintText& text,
                                  const AliveCheck& check_alive);

// The constraints of one model: compiled when they are first needed, and kept
// for the requests that follow. Thread-safe.
class ConstraintCache {
 public:
  // The constraints that are kept; the one used least recently is dropped.
  static constexpr size_t kMost = 16;

  // FAILED_PRECONDITION if the texts of a model with this tokenizer cannot be
  // held to a constraint: it has none (null), or its texts are not its tokens'
  // bytes joined.
  static absl::Status CheckTokenizer(const Tokenizer* tokenizer);

  // Returns the constraint for a model's vocabulary and the tokens that end its
  // texts. Compiling takes up to a second or so, thus not on a thread of a
  // transport. Every call of a cache has the same tokenizer and vocabulary, and
  // CheckTokenizer has nothing against it.
  //
  // INVALID_ARGUMENT if the text is wrong or too large, or cannot be held
  // exactly; the message names the place in it. FAILED_PRECONDITION if the
  // vocabulary has not the letter that the tokens' bytes are told by. Or the
  // error of check_alive or of `make`.
  //
  // `make` makes the grammar of a text that is kMade. `written` has no end
  // tokens. `tokenizer` outlives every search under the constraint.
  using MakeGrammar = std::function<absl::StatusOr<Grammar>()>;
  absl::StatusOr<std::shared_ptr<const Constraint>> Get(
      const ConstraintText& text, const Tokenizer& tokenizer, int vocabulary,
      std::span<const int32_t> end_tokens, const AliveCheck& check_alive,
      const WrittenTokens& written = {}, const MakeGrammar& make = {})
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A trie is made of these and the vocabulary.
  struct Tokens {
    std::vector<int32_t> end_ids;
    WrittenTokens written;
    bool operator==(const Tokens&) const = default;
  };
  struct Entry {
    ConstraintText text;
    Tokens tokens;
    std::shared_ptr<const Constraint> constraint;
  };
  using Trie = std::shared_ptr<const TokenTrie>;

  // Null: there is none. What Find returns becomes the one used last.
  std::shared_ptr<const Constraint> Find(const ConstraintText& text,
                                         const Tokens& tokens)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Trie FindTrie(const Tokens& tokens) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Trie> TrieFor(const Tokenizer& tokenizer, int vocabulary,
                               const Tokens& tokens,
                               const AliveCheck& check_alive)
      ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // last used first
  // Mostly one or two: models have one list of end tokens, and answers in parts
  // have special tokens that are written.
  std::list<std::pair<Tokens, Trie>> tries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CONSTRAINT_CACHE_H_
