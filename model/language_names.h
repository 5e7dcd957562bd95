#ifndef TRIVIUM_MODEL_LANGUAGE_NAMES_H_
#define TRIVIUM_MODEL_LANGUAGE_NAMES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace trivium {

// The BCP 47 tag of a language's code in any spelling, the one that Unicode's
// CLDR prefers: "deu", "GER" and "de" give "de", "zho_Hans" gives "zh-Hans",
// "arb" gives "ar". Empty when the code names no single language ("mul",
// "ROMANCE").
std::string ToBcp47(std::string_view code);

// The codes in a task's name, "translation_en_to_de"; none where it is another
// task. Views of `name`.
struct TaskCodes {
  std::string_view source, target;
};
std::optional<TaskCodes> CodesOfTask(std::string_view name);

// The languages of a model, by whatever callers call them.
//
//   LanguageNames names({{"", "deu_Latn"}, {"", "zho_Hans"}});
//   names.languages()          // their tags: "de", "zh"
//   names.Find("German")       // 0; as "DE", "deu", "de-AT", "deu_Latn" are
//   names.Find("zh-TW")        // none: it is written in another script
class LanguageNames {
 public:
  LanguageNames() = default;
  // A code that stands within marks has them in `code`, and not in `bare`.
  struct Code {
    std::string code;  // ">>deu<<"
    std::string bare;  // "deu"
  };
  // Tags are as short as they can be: no script that is the language's usual
  // one, unless the model has that language in another one, too.
  explicit LanguageNames(const std::vector<Code>& codes);

  const std::vector<Language>& languages() const { return languages_; }

  // By code, English name or tag. A tag's script, given or usual, must be the
  // model's; a region that the model does not tell apart is any region's.
  std::optional<size_t> Find(std::string_view name) const;

  // All languages for an error message, or the nearest of many: the same
  // language otherwise written first, then those spelled alike.
  std::string Choices(std::string_view name) const;

 private:
  // Of a tag: empty where it does not say.
  struct Subtags {
    std::string language, script, region;
    std::string usual_script;  // or the one it has
  };
  struct Entry {
    std::string code, bare, name;  // in lower case, with "_" for "-"
    Subtags subtags;
  };

  static std::optional<Subtags> Parse(std::string_view code);
  static std::string Folded(std::string_view text);
  std::optional<size_t> FindTag(const Subtags& wanted) const;

  std::vector<Language> languages_;
  std::vector<Entry> entries_;  // [languages_]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_LANGUAGE_NAMES_H_
