#ifndef TRIVIUM_MODEL_LANGUAGE_NAMES_H_
#define TRIVIUM_MODEL_LANGUAGE_NAMES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace trivium {

// Returns the BCP 47 tag of a language's code in any spelling: the tag that
// Unicode's CLDR prefers. "deu", "GER" and "de" give "de", "zho_Hans" gives
// "zh-Hans", "arb" gives "ar". Empty if the code names no single language
// ("mul", "ROMANCE").
std::string ToBcp47(std::string_view code);

// True if both codes, in any spelling, are the same language in the same
// script. Regions do not count, but for the script that they imply: "zh-TW" is
// not "zh-CN". False if one of them names no single language.
bool AreSameLanguage(std::string_view a, std::string_view b);

// The codes in a task's name, "translation_en_to_de"; none for other tasks.
// They are views of `name`.
struct TaskCodes {
  std::string_view source, target;
};
std::optional<TaskCodes> CodesOfTask(std::string_view name);

// Finds the languages of a model by any of their usual names.
//
//   LanguageNames names({{"", "deu_Latn"}, {"", "zho_Hans"}});
//   names.languages()          // their tags: "de", "zh"
//   names.Find("German")       // 0; as "DE", "deu", "de-AT", "deu_Latn" are
//   names.Find("zh-TW")        // none: it is written in another script
class LanguageNames {
 public:
  LanguageNames() = default;
  // A code. If it stands within marks, `code` has them and `bare` does not.
  struct Code {
    std::string code;  // ">>deu<<"
    std::string bare;  // "deu"
  };
  // Tags are as short as possible: they leave out the language's usual script,
  // unless the model has the same language in another script, too.
  explicit LanguageNames(const std::vector<Code>& codes);

  const std::vector<Language>& languages() const { return languages_; }

  // Finds a language by code, English name or tag. The script of a tag, given
  // or usual, must match the model's. A region matches any region if the model
  // does not tell regions apart.
  std::optional<size_t> Find(std::string_view name) const;

  // Lists all languages for an error message, or the nearest if there are many:
  // first the same language in other scripts, then those spelled alike.
  std::string Choices(std::string_view name) const;

 private:
  // The parts of a tag; empty where the tag does not say.
  struct Subtags {
    std::string language, script, region;
    std::string usual_script;  // script of the language, or the given one
  };
  struct Entry {
    std::string code, bare, name;  // in lower case, with "_" for "-"
    Subtags subtags;
  };

  friend bool AreSameLanguage(std::string_view a, std::string_view b);

  static std::optional<Subtags> Parse(std::string_view code);
  static std::string Folded(std::string_view text);
  std::optional<size_t> FindTag(const Subtags& wanted) const;

  std::vector<Language> languages_;
  std::vector<Entry> entries_;  // [languages_]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_LANGUAGE_NAMES_H_
