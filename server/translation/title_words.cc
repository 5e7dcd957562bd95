#include "server/translation/title_words.h"

#include <vector>

#include "absl/strings/str_split.h"

namespace trivium {
namespace {

constexpr std::string_view kEnglishSmall =
    "a an the and or but nor so yet for of in on at to by as is are "
    "was were be been being am do does did has have had will would "
    "shall should can could may might must not no you he she it we "
    "they me him her us them my your his its our their this that "
    "these those who whom whose which what when where why how if "
    "then than with from into onto about after before over under "
    "between through during without within against because while "
    "until since there here very too also just only more most some "
    "any all each every both few many much such other another again "
    "up down out off ";

// Letters of a word whose ending tells.
constexpr size_t kShortestWithEnding = 6;

// True if the word ends with one of `stems`, in one of its forms.
bool EndsInForm(std::string_view word,
                std::initializer_list<std::string_view> stems,
                std::initializer_list<std::string_view> forms) {
  for (const std::string_view form : forms) {
    if (!word.ends_with(form)) continue;
    const std::string_view stem = word.substr(0, word.size() - form.size());
    for (const std::string_view end : stems) {
      if (stem.ends_with(end)) return true;
    }
  }
  return false;
}

}  // namespace

TitleWords::TitleWords(bool endings, std::string_view small,
                       std::string_view doubtful,
                       std::string_view small_in_titles)
    : endings_(endings) {
  const auto add = [](std::string_view words, Words* to) {
    const std::vector<std::string> all = absl::StrSplit(
        absl::string_view(words.data(), words.size()), ' ', absl::SkipEmpty());
    to->insert(all.begin(), all.end());
  };
  add(small, &small_);
  add(doubtful, &doubtful_);
  add(small_in_titles, &small_in_titles_);
}

const TitleWords& TitleWords::Of(std::string_view code) {
  static const TitleWords& english = *new TitleWords(
      /*endings=*/false, kEnglishSmall, "may will no", kEnglishSmall);
  static const TitleWords& german = *new TitleWords(
      /*endings=*/true,
      "aber alle alles als am an ans auch auf aus bei beim bevor bin "
      "bis bist da damit dann darf das dass daß dein deine deinen dem "
      "den denn der des dich die diese diesem diesen dieser dieses dir "
      "doch dort du durch durfte dürfen ein eine einem einen einer "
      "eines entweder er es etwas euch für gegen habe haben hast hat "
      "hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren "
      "ihrer ihres im immer in ins ist jede jeden jeder jedes jemand "
      "jene jener kann kein keine keinem keinen keiner keines konnte "
      "konnten können mag man mehr mein meine meinem meinen meiner "
      "mich mir mit muss musste mussten möchte müssen nach nachdem "
      "neben nicht nichts nie niemand noch nur ob obwohl oder ohne "
      "schon sehr sei seid sein seine seinem seinen seiner seit sich "
      "sie sind so soll sollen sollte sollten sondern trotz um und uns "
      "unser unsere unseren unter viele vom von vor wann war waren "
      "warum was weder wegen weil welche welcher welches wem wen "
      "weniger wenn wer werden wie will wir wird wo wollen wollte "
      "wollten worden wurde wurden während zu zum zur zwischen über ",
      "sie ihr ihre ihren ihrem ihrer ihres ihnen bin seine mag will",
      "am an auf aus bei das dem den der des die ein eine einem einen "
      "einer eines für im in ins mit oder und vom von zu zum zur ");
  static const TitleWords& other = *new TitleWords(false, "", "", "");
  return code == "en" ? english : code == "de" ? german : other;
}

std::optional<bool> TitleWords::SmallByEnding(std::string_view word) const {
  if (!endings_ || word.size() < kShortestWithEnding) return std::nullopt;
  if (EndsInForm(
          word,
          {"ung", "heit", "keit", "schaft", "tion", "tät", "ment", "ismus"},
          {"", "en"})) {
    return false;
  }
  if (EndsInForm(word, {"lich", "isch", "ig", "bar", "los", "sam"},
                 {"", "e", "er", "es", "en", "em"})) {
    return true;
  }
  return std::nullopt;
}

}  // namespace trivium
