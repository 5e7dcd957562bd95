// Invariants:
// - A letter whose other case has another number of bytes stays, so spans and
//   alignments of the text stay true. Only "ß" and "SS", of two bytes each,
//   become one another.
// - In doubt a sentence is in normal case: one of acronyms ("NATO, EU"), of
//   names ("Angela Merkel, Barack Obama"), or of one word that the vocabulary
//   knows in capitals.
#include "server/translation/letter_case.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

#include "server/translation/characters.h"
#include "server/translation/language_code.h"
#include "server/translation/numbers.h"

namespace trivium {
namespace {

constexpr size_t kLeastLetters = 6;    // of a sentence in capitals
constexpr size_t kLeastWordAlone = 4;  // letters of its only word
constexpr size_t kLeastPercentCapitals = 85;
constexpr size_t kLeastTitleWords = 3;
constexpr size_t kLeastCommonWords = 2;  // with a capital, in a title
// A word in capitals inside a normal sentence is no acronym or constant if the
// vocabulary knows it, but has this many pieces for its capitals.
constexpr size_t kLeastPiecesOfEmphasis = 3;
// A word of the vocabulary is read in small letters unless its form with a
// capital is so much more frequent: e to the power of this.
constexpr double kMostRarer = 1.5;
// The same of words in several pieces, which are rarely names.
constexpr double kMostRarerInPieces = 1;
// A word by itself with the ending of a common word is no name if its form in
// small letters is so much less rare.
constexpr double kLeastCommoner = 1.4;
// Words with a capital that may be names, for each common one in a title.
constexpr size_t kMostNames = 4;
constexpr size_t kMostTailLetters = 2;   // "'s", "'ll"
constexpr size_t kMostShortLetters = 3;  // "the", "for"
constexpr size_t kMostSmallLetters = 5;  // of a word without one: "about"

bool IsApostrophe(UChar32 c) { return c == '\'' || c == 0x2019; }

// Returns the text with `change` applied to letters outside of `apart`. Letters
// that would have another number of bytes stay.
template <typename Change>
std::string Changed(std::string_view text, const std::vector<TextSpan>& apart,
                    const Change& change) {
  std::string out;
  auto next = apart.begin();
  for (size_t at = 0; at < text.size();) {
    while (next != apart.end() && next->end <= at) ++next;
    const CodePoint point = FirstCodePoint(text.substr(at));
    const size_t begin = out.size();
    if (next == apart.end() || at < next->begin) {
      AppendUtf8(change(static_cast<UChar32>(point.value), at), &out);
    }
    if (out.size() - begin != point.size) {
      out.resize(begin);
      out += text.substr(at, point.size);
    }
    at += point.size;
  }
  return out;
}

// Returns the words outside of `apart`: letters, with apostrophes and digits
// between them.
std::vector<TextSpan> WordSpans(std::string_view text,
                                const std::vector<TextSpan>& apart) {
  std::vector<TextSpan> words;
  bool in_word = false;
  size_t begin = 0, end = 0;
  const auto finish = [&] {
    if (in_word) words.push_back({begin, end});
    in_word = false;
  };
  auto next = apart.begin();
  for (size_t at = 0; at < text.size();) {
    while (next != apart.end() && next->end <= at) ++next;
    if (next != apart.end() && next->begin <= at) {
      finish();
      at = next->end;
      continue;
    }
    const CodePoint point = FirstCodePoint(text.substr(at));
    const auto c = static_cast<UChar32>(point.value);
    if (u_isalpha(c) ||
        (in_word && (u_isdigit(c) || u_charType(c) == U_NON_SPACING_MARK))) {
      if (!in_word) begin = at;
      in_word = true;
      end = at + point.size;
    } else if (!IsApostrophe(c)) {
      finish();
    }
    at += point.size;
  }
  finish();
  return words;
}

// True if an English word in small letters ends as names seldom do.
bool HasCommonEnding(std::string_view word) {
  constexpr std::string_view kEndings[] = {
      "s",   "ing",  "ion",  "ment", "ness", "ship", "ity", "cy",
      "ist", "able", "ible", "ful",  "ous",  "ive",  "al",  "ed"};
  return std::any_of(
      std::begin(kEndings), std::end(kEndings),
      [word](std::string_view one) { return word.ends_with(one); });
}

// True if English titles write the word without a capital.
bool IsSmallInTitles(std::string_view word) {
  constexpr std::string_view kWords[] = {
      "a",  "an", "and", "as", "at", "but", "by",  "for", "from", "in",
      "of", "on", "or",  "to", "vs", "the", "via", "nor", "with", "than"};
  return std::find(std::begin(kWords), std::end(kWords), word) !=
         std::end(kWords);
}

}  // namespace

struct LetterCases::Word {
  TextSpan span;
  std::string text;
  size_t letters = 0, capitals = 0, small = 0;
  size_t first_capitals = 0;  // in a row

  bool all_capitals() const { return small == 0 && capitals > 0; }
  // Writes "It'S" as "It's", which programs make of titles.
  void MendTail() {
    const size_t at = std::max(EndOfLast("'"), EndOfLast("’"));
    if (at == 0 || text.size() - at > kMostTailLetters || small == 0) return;
    const std::string tail = text.substr(at);
    for (const char c : tail) {
      if (c < 'A' || c > 'Z') continue;
      --capitals;
      ++small;
    }
    text.replace(at, tail.size(), InSmallLetters(tail));
  }
  // The end of the last `mark`; 0: there is none.
  size_t EndOfLast(std::string_view mark) const {
    const size_t at = text.rfind(mark);
    return at == text.npos ? 0 : at + mark.size();
  }

  // "Word"
  bool capitalized() const {
    return first_capitals == 1 && capitals == 1 && small > 0;
  }
};

LetterCases::LetterCases(std::string_view language, IdsOfWord ids_of_word)
    : ids_of_word_(std::move(ids_of_word)),
      title_words_(TitleWords::Of(LanguageCode(language))),
      place_names_(PlaceNames::Of(LanguageCode(language))) {
  const std::string code = LanguageCode(language);
  english_ = code == "en";
  german_ = code == "de";
  nouns_ = code == "de" || code == "lb" || code == "nds";
}

std::vector<LetterCases::Word> LetterCases::Words(
    std::string_view sentence, const std::vector<TextSpan>& apart) const {
  std::vector<Word> words;
  for (const TextSpan& span : WordSpans(sentence, apart)) {
    Word word = {span, std::string(span.Of(sentence))};
    for (std::string_view rest = word.text; !rest.empty();
         rest.remove_prefix(FirstCodePoint(rest).size)) {
      const UChar32 c = FirstCharacter(rest);
      if (!u_isalpha(c)) continue;
      if (u_isupper(c)) {
        if (word.first_capitals == word.letters) ++word.first_capitals;
        ++word.capitals;
      } else if (u_islower(c)) {
        ++word.small;
      }
      ++word.letters;
    }
    word.MendTail();
    // Scripts without case do not count.
    if (word.capitals + word.small > 0) words.push_back(std::move(word));
  }
  return words;
}

bool LetterCases::IsCapitals(const std::vector<Word>& words) const {
  size_t letters = 0, capitals = 0;
  bool word_of_sentence = false;
  for (const Word& word : words) {
    letters += word.letters;
    if (word.all_capitals()) capitals += word.letters;
  }
  if (letters < (words.size() == 1 ? kLeastWordAlone : kLeastLetters) ||
      100 * capitals < kLeastPercentCapitals * letters) {
    return false;
  }
  for (const Word& word : words) {
    const size_t pieces = ids_of_word_(word.text).size();
    const std::string small = SmallOfCapitals(word.text);
    word_of_sentence |= ids_of_word_(small).size() < pieces ||
                        ids_of_word_(Capitalized(small)).size() < pieces;
    if (word_of_sentence) break;
  }
  return word_of_sentence;
}

double LetterCases::Rarity(std::string_view word) const {
  double rarity = 0;
  for (const int32_t id : ids_of_word_(word)) rarity += std::log(id + 2.0);
  return rarity;
}

bool LetterCases::PrefersSmall(const std::string& small,
                               const std::string& capital) const {
  const bool word_of_vocabulary = ids_of_word_(small).size() == 1;
  const bool letter = FirstCodePoint(small).size == small.size();
  if (const auto by_ending = title_words_.SmallByEnding(small)) {
    return *by_ending;
  }
  const double slack = nouns_ || letter     ? 0
                       : word_of_vocabulary ? kMostRarer
                                            : kMostRarerInPieces;
  return Rarity(small) <= Rarity(capital) + slack;
}

bool LetterCases::IsPlace(const std::string& small) const {
  return place_names_.Has(small) && ids_of_word_(small).size() > 1;
}

bool LetterCases::IsCommon(const Word& word) const {
  const std::string small = InSmallLetters(word.text);
  return ids_of_word_(small).size() == 1 && PrefersSmall(small, word.text);
}

std::optional<LetterCases::OtherForm> LetterCases::FormIfCopied(
    std::string_view text) const {
  constexpr size_t kLeastLettersOfLabel = 3, kMostBytesOfLabel = 32;
  if ((!english_ && !german_) || text.size() > kMostBytesOfLabel) {
    return std::nullopt;
  }
  const std::vector<Word> words = Words(text, {});
  if (words.size() != 1 || words[0].text != text || !words[0].capitalized() ||
      words[0].letters < kLeastLettersOfLabel) {
    return std::nullopt;
  }
  if (german_) {
    // Names have many pieces, and many surnames end so. A word that is frequent
    // in small letters is no noun.
    constexpr size_t kMostPiecesOfNoun = 2;
    if (text.ends_with("er") || text.ends_with("mann") ||
        ids_of_word_(text).size() > kMostPiecesOfNoun ||
        ids_of_word_(InSmallLetters(text)).size() == 1) {
      return std::nullopt;
    }
    return OtherForm{"Die " + std::string(text), "The "};
  }
  std::string small = InSmallLetters(text);
  if (small.size() != text.size()) return std::nullopt;
  const bool frequent =
      ids_of_word_(small).size() == 1 && Rarity(small) <= Rarity(text);
  const bool common =
      HasCommonEnding(small) && Rarity(small) + kLeastCommoner <= Rarity(text);
  if (!frequent && !common) return std::nullopt;
  return OtherForm{std::move(small)};
}

std::string LetterCases::WithCopiedNames(std::string_view title,
                                         std::string translation) const {
  std::unordered_set<std::string> names;
  for (const Word& word : Words(title, {})) {
    if (!word.capitalized() || word.letters < kLeastWordAlone) continue;
    std::string small = InSmallLetters(word.text);
    if (ids_of_word_(small).size() > 1) names.insert(std::move(small));
  }
  if (names.empty()) return translation;
  for (const TextSpan& span : WordSpans(translation, {})) {
    const std::string word(span.Of(translation));
    if (!names.contains(word)) continue;
    // Those of other sizes would move the words behind them.
    const std::string capital = Capitalized(word);
    if (capital.size() != word.size()) continue;
    translation.replace(span.begin, word.size(), capital);
  }
  return translation;
}

void LetterCases::LowerClauses(std::string_view sentence,
                               const std::vector<Word>& words,
                               const KnownWords& known,
                               std::string* text) const {
  constexpr size_t kLeastWordsOfClause = 3;
  const auto gap = [&](size_t i) {  // before the word
    const size_t begin = i > 0 ? words[i - 1].span.end : 0;
    return sentence.substr(begin, words[i].span.begin - begin);
  };
  size_t next = 0;
  while (next < words.size()) {
    const size_t begin = next;
    size_t end = begin;
    bool small = false;  // has a word that is no name and no acronym
    while (end < words.size() && words[end].all_capitals() &&
           (end == begin || gap(end) == " " || gap(end) == ", ")) {
      small |= title_words_.IsEvidence(InSmallLetters(words[end].text));
      ++end;
    }
    next = std::max(end, begin + 1);
    const std::vector<Word> clause(
        words.begin() + static_cast<ptrdiff_t>(begin),
        words.begin() + static_cast<ptrdiff_t>(end));
    if (end - begin < kLeastWordsOfClause || !small || !IsCapitals(clause)) {
      continue;
    }
    // A quotation and what follows a colon begin with a capital.
    const bool opens = gap(begin).find_first_not_of(" ,") != std::string::npos;
    for (size_t i = begin; i < end; ++i) {
      std::string form = NormalForm(words[i], LetterCase::kCapitals, known);
      if (i == begin && (opens || begin == 0)) form = Capitalized(form);
      if (form.size() != words[i].text.size()) continue;
      text->replace(words[i].span.begin, form.size(), form);
    }
  }
}

bool LetterCases::HasCapitalsOfTitle(std::string_view sentence,
                                     const std::vector<Word>& words) const {
  size_t capitals = 0, small = 0, sure = 0;
  for (size_t i = 1; i < words.size(); ++i) {
    const Word& word = words[i];
    if (word.capitals == 0) {
      if (!title_words_.IsSmallInTitles(word.text)) return false;
      ++small;
    } else if (word.capitalized()) {
      ++capitals;
      // A quotation or another sentence may begin behind a mark.
      const std::string_view gap = sentence.substr(
          words[i - 1].span.end, word.span.begin - words[i - 1].span.end);
      const bool inside = gap.find_first_not_of(" ,") == gap.npos;
      sure += inside && title_words_.IsEvidence(InSmallLetters(word.text));
    }
  }
  return sure >= 2 ||
         (sure == 1 && (capitals >= 2 || (small == 0 && words.size() > 1)));
}

bool LetterCases::IsTitle(std::string_view sentence,
                          const std::vector<Word>& words) const {
  if (HasCapitalsOfTitle(sentence, words)) return true;
  if (words.size() < kLeastTitleWords) return false;
  size_t capitals = 0, small = 0, common = 0;
  for (size_t i = 1; i < words.size(); ++i) {
    const Word& word = words[i];
    if (word.capitals == 0) {
      if (word.letters > kMostSmallLetters ||
          (german_ && !title_words_.IsSmallInTitles(word.text))) {
        return false;
      }
      ++small;
    } else if (word.capitalized()) {
      ++capitals;
    }
  }
  if (capitals < kLeastCommonWords || small > capitals) return false;
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i].capitalized() && IsCommon(words[i])) ++common;
  }
  return common >= kLeastCommonWords && kMostNames * common >= capitals;
}

LetterCase LetterCases::CaseOf(std::string_view sentence,
                               const std::vector<Word>& words) const {
  if (words.empty()) return LetterCase::kNormal;
  if (IsCapitals(words)) return LetterCase::kCapitals;
  return IsTitle(sentence, words) ? LetterCase::kTitle : LetterCase::kNormal;
}

std::string LetterCases::TitleForm(const Word& word) const {
  const std::string small = InSmallLetters(word.text);
  // "I", "I'm"
  if (english_ && small.starts_with('i') &&
      (small.size() == 1 ||
       IsApostrophe(FirstCharacter(std::string_view(small).substr(1))))) {
    return "I" + small.substr(1);
  }
  if (!word.capitalized() || IsPlace(small)) return word.text;
  return title_words_.IsSmall(small) || PrefersSmall(small, word.text)
             ? small
             : word.text;
}

std::string LetterCases::SmallOfCapitals(std::string_view capitals) const {
  constexpr std::string_view kDouble = "ss", kSharp = "ß";  // both of two bytes
  // Each costs two look-ups, and words have few: "SSSS..." is none.
  constexpr int kMostDoubles = 4;
  std::string small = InSmallLetters(capitals);
  size_t at = german_ ? small.find(kDouble) : small.npos;
  if (at == small.npos) return small;
  const auto rarity_of = [&](const std::string& form) {
    return std::min(Rarity(form), Rarity(Capitalized(form)));
  };
  double rarity = rarity_of(small);
  for (int i = 0; i < kMostDoubles && at != small.npos; ++i) {
    std::string sharp = small;
    sharp.replace(at, kDouble.size(), kSharp);
    if (const double its = rarity_of(sharp); its < rarity) {
      small = std::move(sharp);
      rarity = its;
    }
    at = small.find(kDouble, at + kDouble.size());
  }
  return small;
}

std::string LetterCases::NormalForm(const Word& word, LetterCase sentence,
                                    const KnownWords& known) const {
  const std::string small = word.all_capitals() ? SmallOfCapitals(word.text)
                                                : InSmallLetters(word.text);
  // "XIV"
  if (RomanSize(word.text, 0) == word.text.size() && RomanValue(word.text)) {
    return word.text;
  }
  const auto form = known.find(small);
  if (form != known.end()) return form->second;
  if (sentence == LetterCase::kTitle) return TitleForm(word);
  const std::string capital = Capitalized(small);
  // An acronym, such as "NATO".
  if (word.letters > 1 && ids_of_word_(word.text).size() == 1 &&
      ids_of_word_(small).size() > 1 && ids_of_word_(capital).size() > 1) {
    return word.text;
  }
  if (IsPlace(small)) return capital;
  const std::vector<int32_t> of_small = ids_of_word_(small);
  const std::vector<int32_t> of_capital = ids_of_word_(capital);
  if (of_small.size() != of_capital.size()) {
    return of_small.size() < of_capital.size() ? small : capital;
  }
  // A single letter such as "I", or a noun.
  if (of_small.size() == 1 && (nouns_ || word.letters == 1)) {
    return of_small[0] < of_capital[0] ? small : capital;
  }
  return nouns_ ? capital : small;
}

bool LetterCases::IsEmphasis(const Word& word) const {
  const std::string small = SmallOfCapitals(word.text);
  return word.letters >= kLeastWordAlone &&
         ids_of_word_(word.text).size() >= kLeastPiecesOfEmphasis &&
         (ids_of_word_(small).size() == 1 ||
          ids_of_word_(Capitalized(small)).size() == 1);
}

LetterCases::KnownWords LetterCases::WordsOf(std::string_view text) const {
  KnownWords known;
  std::vector<std::pair<std::string, std::string>> found;  // in the sentence
  bool after_small = false, normal = false;
  size_t end = 0;
  const auto finish = [&] {
    if (!normal) found.clear();
    for (const auto& [small, word] : found) {
      const auto [it, added] = known.emplace(small, word);
      // A word that is written in two ways is no name.
      if (!added && it->second != word) it->second = small;
    }
    found.clear();
    after_small = normal = false;
  };
  for (const TextSpan& span : WordSpans(text, {})) {
    const std::string_view word = span.Of(text);
    const std::string_view gap = text.substr(end, span.begin - end);
    end = span.end;
    if (gap.find_first_of(".!?\n") != gap.npos) finish();
    const bool inside = after_small && gap == " ";
    const std::string small = InSmallLetters(word);
    after_small = small == word;
    // Titles have such words, too, so what follows them may be no name.
    normal |= after_small && !title_words_.IsSmallInTitles(small) &&
              small.size() > kMostShortLetters;
    if (inside) found.emplace_back(small, word);
  }
  finish();
  return known;
}

LetterCases::Normal LetterCases::InNormalCase(
    std::string_view sentence, const std::vector<TextSpan>& apart,
    const KnownWords& known) const {
  const std::vector<Word> words = Words(sentence, apart);
  Normal normal;
  normal.was = CaseOf(sentence, words);
  normal.text = std::string(sentence);
  const auto replace = [&](const Word& word, const std::string& form) {
    if (form.size() == word.text.size()) {
      normal.text.replace(word.span.begin, form.size(), form);
    }
  };
  normal.whole_title = true;
  for (size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    if (normal.was != LetterCase::kNormal) {
      const std::string form = NormalForm(word, normal.was, known);
      replace(word, i == 0 && form == InSmallLetters(form) ? Capitalized(form)
                                                           : form);
      if (word.capitals == 0 && word.letters <= kMostShortLetters) {
        normal.whole_title = false;
      }
    } else if (word.first_capitals == 2 && word.capitals == 2 &&
               word.small >= 2) {
      // "HAllo"
      const std::string form = Capitalized(InSmallLetters(word.text));
      if (ids_of_word_(form).size() < ids_of_word_(word.text).size()) {
        replace(word, form);
      }
    } else if (i > 0 && word.all_capitals() && IsEmphasis(word)) {
      replace(word, NormalForm(word, LetterCase::kCapitals, known));
    }
  }
  if (normal.was == LetterCase::kNormal) {
    LowerClauses(sentence, words, known, &normal.text);
  }
  return normal;
}

std::string InSmallLetters(std::string_view text) {
  return Changed(text, {}, [](UChar32 c, size_t) { return u_tolower(c); });
}

std::string Capitalized(std::string_view text) {
  return Changed(text, {}, [](UChar32 c, size_t at) {
    return at == 0 ? u_toupper(c) : c;
  });
}

std::string InCapitals(std::string_view text,
                       const std::vector<TextSpan>& apart) {
  constexpr std::string_view kSharpS = "ß";
  std::string out =
      Changed(text, apart, [](UChar32 c, size_t) { return u_toupper(c); });
  for (const TextSpan& word : WordSpans(text, apart)) {
    const std::string_view head = text.substr(0, word.end);
    for (size_t at = head.find(kSharpS, word.begin); at != head.npos;
         at = head.find(kSharpS, at + kSharpS.size())) {
      out.replace(at, kSharpS.size(), "SS");
    }
  }
  return out;
}

std::string InTitleCase(std::string_view text,
                        const std::vector<TextSpan>& apart, bool all) {
  std::string out(text);
  const std::vector<TextSpan> words = WordSpans(text, apart);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string word(words[i].Of(text));
    const bool inside = i > 0 && i + 1 < words.size();
    if (inside && !all && IsSmallInTitles(word)) continue;
    out.replace(words[i].begin, word.size(), Capitalized(word));
  }
  return out;
}

}  // namespace trivium
