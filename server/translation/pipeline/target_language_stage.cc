#include "server/translation/pipeline/target_language_stage.h"

#include <string>

namespace trivium {
namespace {

// Returns the sentence without its quotations, whose language may be another;
// empty if there are none.
std::string WithoutQuotations(std::string_view sentence) {
  struct Quotes {
    std::string_view begin, end;
  };
  constexpr Quotes kQuotes[] = {{"\"", "\""},         {"\u201C", "\u201D"},
                                {"\u201E", "\u201C"}, {"\u201E", "\u201D"},
                                {"\u00AB", "\u00BB"}, {"\u00BB", "\u00AB"}};
  std::string rest(sentence);
  for (const auto& [opening, closing] : kQuotes) {
    for (size_t begin = rest.find(opening); begin != rest.npos;
         begin = rest.find(opening, begin)) {
      const size_t end = rest.find(closing, begin + opening.size());
      if (end == rest.npos) break;
      rest.replace(begin, end + closing.size() - begin, " ");
    }
  }
  return rest.size() < sentence.size() ? rest : std::string();
}

}  // namespace

std::optional<TextStage> TargetLanguageStage::Keeps(
    const TranslationJob& job, std::string_view sentence) const {
  if (!job.prefix.empty() || sentence.size() > kLongestSentence ||
      (!target_.IsSurely(sentence) &&
       !target_.IsSurely(WithoutQuotations(sentence)))) {
    return std::nullopt;
  }
  return TextStage::kTargetLanguage;
}

}  // namespace trivium
