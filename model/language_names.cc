// Find tries, in this order: the folder's codes as they are; the codes without
// marks; English names; and then tags. A tag must agree in language and script,
// and the region decides between several:
//
//   3  the same region, or none on both sides
//   2  the model's language has no region
//   1  the name has no region
//
// With another region there is no match. Scripts are compared after CLDR's
// likely script has been added, so "zh-TW" does not find "zh-Hans".
#include "model/language_names.h"

#include <fmt/format.h>
#include <unicode/locid.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace trivium {
namespace {

constexpr size_t kLongestCode = 64;
// Error messages list all languages if there are at most so many.
constexpr size_t kFew = 16;
constexpr size_t kNearest = 5;

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

// Canonicalizes like CLDR: "arb" becomes "ar", "iw" becomes "he".
std::optional<icu::Locale> Canonical(std::string_view code) {
  const size_t language =
      std::find_if_not(code.begin(), code.end(), IsAlphanumeric) - code.begin();
  if (language < 2 || language > 3 || code.size() > kLongestCode ||
      !std::all_of(code.begin(), code.end(), [](char c) {
        return IsAlphanumeric(c) || c == '_' || c == '-';
      })) {
    return std::nullopt;
  }
  const icu::Locale locale =
      icu::Locale::createCanonical(std::string(code).c_str());
  if (locale.isBogus()) return std::nullopt;
  for (const std::string_view none : {"", "und", "mul", "mis", "zxx"}) {
    if (locale.getLanguage() == none) return std::nullopt;
  }
  return locale;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t before = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = before + (a[i] == b[j] ? 0 : 1);
      before = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, before + 1});
    }
  }
  return row[b.size()];
}

const std::string& Shown(const Language& language) {
  return language.bcp47.empty() ? language.code : language.bcp47;
}

}  // namespace

std::string ToBcp47(std::string_view code) {
  const std::optional<icu::Locale> locale = Canonical(code);
  if (!locale) return "";
  UErrorCode error = U_ZERO_ERROR;
  std::string tag = locale->toLanguageTag<std::string>(error);
  return U_FAILURE(error) ? "" : tag;
}

bool AreSameLanguage(std::string_view a, std::string_view b) {
  const auto one = LanguageNames::Parse(a);
  const auto other = LanguageNames::Parse(b);
  return one && other && one->language == other->language &&
         one->usual_script == other->usual_script;
}

std::optional<TaskCodes> CodesOfTask(std::string_view name) {
  constexpr std::string_view kBegin = "translation_";
  constexpr std::string_view kBetween = "_to_";
  const size_t between = name.find(kBetween);
  if (!name.starts_with(kBegin) || between == name.npos) return std::nullopt;
  const TaskCodes codes = {name.substr(kBegin.size(), between - kBegin.size()),
                           name.substr(between + kBetween.size())};
  if (ToBcp47(codes.source).empty() || ToBcp47(codes.target).empty()) {
    return std::nullopt;
  }
  return codes;
}

std::string LanguageNames::Folded(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    if (c == '-') c = '_';
  }
  return folded;
}

std::optional<LanguageNames::Subtags> LanguageNames::Parse(
    std::string_view code) {
  std::optional<icu::Locale> locale = Canonical(code);
  if (!locale) return std::nullopt;
  Subtags subtags = {locale->getLanguage(), locale->getScript(),
                     locale->getCountry(), ""};
  // "no" and "nb" are the same language; they differ only in a model that has
  // Nynorsk, too.
  if (subtags.language == "no") subtags.language = "nb";
  UErrorCode error = U_ZERO_ERROR;
  locale->addLikelySubtags(error);
  subtags.usual_script = locale->getScript();
  return subtags;
}

LanguageNames::LanguageNames(const std::vector<Code>& codes) {
  for (const auto& [code, bare] : codes) {
    entries_.push_back(
        {Folded(code), Folded(bare), "", Parse(bare).value_or(Subtags())});
  }
  for (size_t i = 0; i < codes.size(); ++i) {
    const std::string& bare = codes[i].bare;
    Language& language = languages_.emplace_back();
    language.code = codes[i].code;
    const std::optional<icu::Locale> locale = Canonical(bare);
    if (!locale) continue;
    const Subtags& own = entries_[i].subtags;
    const bool alone = std::none_of(
        entries_.begin(), entries_.end(), [&own](const Entry& other) {
          return other.subtags.language == own.language &&
                 other.subtags.usual_script != own.usual_script;
        });
    const std::optional<Subtags> usual = Parse(locale->getLanguage());
    const bool shorten =
        alone && usual && usual->usual_script == own.usual_script;
    std::string shortest = locale->getLanguage();
    if (!own.script.empty() && !shorten) shortest += "_" + own.script;
    if (!own.region.empty()) shortest += "_" + own.region;
    language.bcp47 = ToBcp47(shortest);
    icu::UnicodeString name;
    icu::Locale(shortest.c_str())
        .getDisplayName(icu::Locale::getEnglish(), name);
    std::string english;
    entries_[i].name = Folded(name.toUTF8String(english));
  }
}

std::optional<size_t> LanguageNames::Find(std::string_view name) const {
  if (name.empty() || name.size() > kLongestCode) return std::nullopt;
  const std::string folded = Folded(name);
  for (const auto field : {&Entry::code, &Entry::bare, &Entry::name}) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].*field == folded) return i;
    }
  }
  const std::optional<Subtags> wanted = Parse(name);
  return wanted ? FindTag(*wanted) : std::nullopt;
}

std::optional<size_t> LanguageNames::FindTag(const Subtags& wanted) const {
  std::optional<size_t> best;
  int best_score = 0;
  std::vector<size_t> otherwise_written;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Subtags& own = entries_[i].subtags;
    if (own.language != wanted.language) continue;
    if (own.usual_script != wanted.usual_script) {
      otherwise_written.push_back(i);
      continue;
    }
    const int score = own.region == wanted.region ? 3
                      : own.region.empty()        ? 2
                      : wanted.region.empty()     ? 1
                                                  : 0;
    if (score > best_score) best = i;
    best_score = std::max(best_score, score);
  }
  // A name without a script matches the only script that the model has.
  if (!best && wanted.script.empty() && wanted.region.empty() &&
      otherwise_written.size() == 1) {
    return otherwise_written[0];
  }
  return best;
}

std::string LanguageNames::Choices(std::string_view name) const {
  std::vector<size_t> order(languages_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (order.size() > kFew && !name.empty()) {
    const std::string folded = Folded(name.substr(0, kLongestCode));
    const std::optional<Subtags> wanted = Parse(name);
    std::vector<size_t> distances;
    for (size_t i = 0; i < order.size(); ++i) {
      const Entry& entry = entries_[i];
      distances.push_back(
          wanted && entry.subtags.language == wanted->language
              ? 0
              : 1 + std::min(
                        {EditDistance(folded, entry.bare),
                         EditDistance(folded, entry.name),
                         EditDistance(folded, Folded(languages_[i].bcp47))}));
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return distances[a] < distances[b];
    });
    order.resize(kNearest);
  }
  std::string choices;
  for (const size_t i : order) {
    if (!choices.empty()) choices += ", ";
    choices += Shown(languages_[i]);
  }
  if (order.size() == languages_.size()) return choices;
  return fmt::format("{} languages; the nearest are {}", languages_.size(),
                     choices);
}

}  // namespace trivium
