#include "server/translation/pipeline/known_characters.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_replace.h"
#include "base/mutex.h"
#include "base/utf8.h"

namespace trivium {
namespace {

// "<0xC5>"
bool IsBytePiece(std::string_view piece) {
  return piece.size() == 6 && piece.starts_with("<0x") && piece[5] == '>';
}

// Returns the character in its plain form: "2" for "²".
std::string PlainForm(char32_t c) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* const nfkc = icu::Normalizer2::getNFKCInstance(error);
  std::string plain;
  if (U_FAILURE(error)) return plain;
  return nfkc->normalize(icu::UnicodeString(static_cast<UChar32>(c)), error)
      .toUTF8String(plain);
}

// The vocabularies of the models that were asked about. It keeps no model:
// once there are kMostModels, those that no call uses are forgotten.
class Registry {
 public:
  std::shared_ptr<const KnownCharacters> Of(const ModelHandle& model) {
    const MutexLock lock(&mutex_);
    Entry& entry = entries_[model->id];
    if (entry.known != nullptr) return entry.known;
    auto made =
        std::make_shared<const KnownCharacters>(*model->model->tokenizer());
    entry = {made, model};
    constexpr size_t kMostModels = 64;
    if (entries_.size() > kMostModels) {
      absl::erase_if(
          entries_, [](const auto& one) { return one.second.model.expired(); });
    }
    return made;
  }

 private:
  struct Entry {
    std::shared_ptr<const KnownCharacters> known;
    std::weak_ptr<const ServedModel> model;
  };

  Mutex mutex_;
  absl::flat_hash_map<uint64_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

bool IsRaised(char32_t c) {
  constexpr char32_t kNumero = 0x2116;
  if (c < 0x80) return false;
  switch (u_getIntPropertyValue(static_cast<UChar32>(c),
                                UCHAR_DECOMPOSITION_TYPE)) {
    case U_DT_SUPER:
    case U_DT_SUB:
    case U_DT_FRACTION:
    case U_DT_CIRCLE:
    case U_DT_SQUARE:
      return true;
    default:
      return c == kNumero;
  }
}

std::shared_ptr<const KnownCharacters> KnownCharacters::Of(
    const ModelHandle& model) {
  static Registry* const registry = new Registry;
  return registry->Of(model);
}

KnownCharacters::KnownCharacters(const Tokenizer& tokenizer)
    : tokenizer_(tokenizer) {
  unknown_ids_.push_back(tokenizer.special_token_ids().unknown);
  for (const std::string_view name : {"<unk>", "[UNK]"}) {
    unknown_ids_.push_back(tokenizer.PieceToId(name, TextSide::kSource));
  }
  std::erase(unknown_ids_, -1);
}

bool KnownCharacters::KnowsCached(char32_t c) const {
  std::atomic<uint64_t>& word = cached_[c / kAnswers];
  const uint64_t asked = uint64_t{1} << (2 * (c % kAnswers));
  const uint64_t known = asked << 1;
  const uint64_t answers = word.load(std::memory_order_relaxed);
  if ((answers & asked) != 0) return (answers & known) != 0;
  const bool knows = AskTokenizer(c);
  word.fetch_or(asked | (knows ? known : 0), std::memory_order_relaxed);
  return knows;
}

bool KnownCharacters::AskTokenizer(char32_t c) const {
  std::string text;
  AppendUtf8(c, &text);
  const std::optional<std::vector<int32_t>> ids = Ids(text);
  if (!ids) return true;
  if (!KnowsIds(*ids)) return false;
  if (!IsRaised(c)) return true;
  std::string read;
  for (const int32_t id : *ids) {
    read += tokenizer_.IdToPiece(id, TextSide::kSource);
  }
  // SentencePiece's sign of a space, which stands before a word.
  absl::StrReplaceAll({{"▁", ""}}, &read);
  return read != PlainForm(c);
}

bool KnownCharacters::KnowsWord(std::string_view word) const {
  const std::optional<std::vector<int32_t>> ids = Ids(word);
  return !ids || KnowsIds(*ids);
}

bool KnownCharacters::IsPiece(std::string_view word) const {
  const std::optional<std::vector<int32_t>> ids = Ids(word);
  return !ids || ids->size() == 1;
}

std::optional<std::vector<int32_t>> KnownCharacters::Ids(
    std::string_view text) const {
  EncodeOptions options;
  options.add_special_tokens = false;
  absl::StatusOr<Encoding> encoding = tokenizer_.Encode(text, options);
  if (!encoding.ok()) return std::nullopt;
  return std::move(encoding->ids);
}

bool KnownCharacters::KnowsIds(const std::vector<int32_t>& ids) const {
  return std::none_of(ids.begin(), ids.end(), [this](int32_t id) {
    return std::find(unknown_ids_.begin(), unknown_ids_.end(), id) !=
               unknown_ids_.end() ||
           IsBytePiece(tokenizer_.IdToPiece(id, TextSide::kSource));
  });
}

}  // namespace trivium
