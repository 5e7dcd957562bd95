#include "model/translator_prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"

namespace trivium {
namespace {

constexpr PromptLanguage kTranslateGemma[] = {
    {"ar", "ar"}, {"bg", "bg"}, {"bn", "bn"},   {"ca", "ca"},
    {"cs", "cs"}, {"da", "da"}, {"de", "de"},   {"el", "el"},
    {"en", "en"}, {"es", "es"}, {"et", "et"},   {"fa", "fa"},
    {"fi", "fi"}, {"fr", "fr"}, {"fil", "fil"}, {"gu", "gu"},
    {"he", "he"}, {"hi", "hi"}, {"hr", "hr"},   {"hu", "hu"},
    {"id", "id"}, {"is", "is"}, {"it", "it"},   {"ja", "ja"},
    {"kn", "kn"}, {"ko", "ko"}, {"lt", "lt"},   {"lv", "lv"},
    {"ml", "ml"}, {"mr", "mr"}, {"nl", "nl"},   {"no", "no"},
    {"pa", "pa"}, {"pl", "pl"}, {"pt", "pt"},   {"ro", "ro"},
    {"ru", "ru"}, {"sk", "sk"}, {"sl", "sl"},   {"sr", "sr"},
    {"sv", "sv"}, {"sw", "sw"}, {"ta", "ta"},   {"te", "te"},
    {"th", "th"}, {"tr", "tr"}, {"uk", "uk"},   {"ur", "ur"},
    {"vi", "vi"}, {"zh", "zh"}, {"zu", "zu"},   {"zh-Hant", "zh-Hant"},
};

constexpr PromptLanguage kHunyuan[] = {
    {"zh", "Chinese", "中文"},
    {"en", "English", "英语"},
    {"fr", "French", "法语"},
    {"pt", "Portuguese", "葡萄牙语"},
    {"es", "Spanish", "西班牙语"},
    {"ja", "Japanese", "日语"},
    {"tr", "Turkish", "土耳其语"},
    {"ru", "Russian", "俄语"},
    {"ar", "Arabic", "阿拉伯语"},
    {"ko", "Korean", "韩语"},
    {"th", "Thai", "泰语"},
    {"it", "Italian", "意大利语"},
    {"de", "German", "德语"},
    {"vi", "Vietnamese", "越南语"},
    {"ms", "Malay", "马来语"},
    {"id", "Indonesian", "印尼语"},
    {"fil", "Filipino", "菲律宾语"},
    {"hi", "Hindi", "印地语"},
    {"zh-Hant", "Traditional Chinese", "繁体中文"},
    {"pl", "Polish", "波兰语"},
    {"cs", "Czech", "捷克语"},
    {"nl", "Dutch", "荷兰语"},
    {"km", "Khmer", "高棉语"},
    {"my", "Burmese", "缅甸语"},
    {"fa", "Persian", "波斯语"},
    {"gu", "Gujarati", "古吉拉特语"},
    {"ur", "Urdu", "乌尔都语"},
    {"te", "Telugu", "泰卢固语"},
    {"mr", "Marathi", "马拉地语"},
    {"he", "Hebrew", "希伯来语"},
    {"bn", "Bengali", "孟加拉语"},
    {"ta", "Tamil", "泰米尔语"},
    {"uk", "Ukrainian", "乌克兰语"},
    {"bo", "Tibetan", "藏语"},
    {"kk", "Kazakh", "哈萨克语"},
    {"mn", "Mongolian", "蒙古语"},
    {"ug", "Uyghur", "维吾尔语"},
    {"yue", "Cantonese", "粤语"},
};

constexpr PromptLanguage kTower[] = {
    {"en", "English"}, {"pt", "Portuguese"}, {"es", "Spanish"},
    {"fr", "French"},  {"de", "German"},     {"nl", "Dutch"},
    {"it", "Italian"}, {"ko", "Korean"},     {"zh", "Chinese"},
    {"ru", "Russian"},
};

constexpr PromptLanguage kTowerPlus[] = {
    {"en", "English"},
    {"de", "German"},
    {"es", "Spanish"},
    {"es-419", "Spanish (Latin America)"},
    {"fr", "French"},
    {"it", "Italian"},
    {"ko", "Korean"},
    {"nl", "Dutch"},
    {"ru", "Russian"},
    {"pt-PT", "Portuguese (Portugal)"},
    {"pt-BR", "Portuguese (Brazil)"},
    {"zh-Hans", "Chinese (Simplified)"},
    {"zh-Hant", "Chinese (Traditional)"},
    {"cs", "Czech"},
    {"uk", "Ukrainian"},
    {"hi", "Hindi"},
    {"is", "Icelandic"},
    {"ja", "Japanese"},
    {"pl", "Polish"},
    {"sv", "Swedish"},
    {"hu", "Hungarian"},
    {"ro", "Romanian"},
    {"da", "Danish"},
    {"nb", "Norwegian (Bokmål)"},
    {"nn", "Norwegian (Nynorsk)"},
    {"fi", "Finnish"},
};

constexpr PromptLanguage kEuroLlm[] = {
    {"bg", "Bulgarian"},  {"hr", "Croatian"},  {"cs", "Czech"},
    {"da", "Danish"},     {"nl", "Dutch"},     {"en", "English"},
    {"et", "Estonian"},   {"fi", "Finnish"},   {"fr", "French"},
    {"de", "German"},     {"el", "Greek"},     {"hu", "Hungarian"},
    {"ga", "Irish"},      {"it", "Italian"},   {"lv", "Latvian"},
    {"lt", "Lithuanian"}, {"mt", "Maltese"},   {"pl", "Polish"},
    {"pt", "Portuguese"}, {"ro", "Romanian"},  {"sk", "Slovak"},
    {"sl", "Slovenian"},  {"es", "Spanish"},   {"sv", "Swedish"},
    {"ar", "Arabic"},     {"ca", "Catalan"},   {"zh", "Chinese"},
    {"gl", "Galician"},   {"hi", "Hindi"},     {"ja", "Japanese"},
    {"ko", "Korean"},     {"no", "Norwegian"}, {"ru", "Russian"},
    {"tr", "Turkish"},    {"uk", "Ukrainian"},
};

constexpr std::string_view kGemmaEnds[] = {"<end_of_turn>"};
constexpr std::string_view kHunyuanEnds[] = {
    "<|eos|>", "<｜hy_place▁holder▁no▁2｜>", "<｜hy_end▁of▁sentence｜>"};
constexpr std::string_view kChatMlEnds[] = {"<|im_end|>"};
constexpr std::string_view kTowerPlusEnds[] = {"<end_of_turn>", "<|im_end|>"};

constexpr std::string_view kTranslateGemmaFolders[] = {"translategemma"};
constexpr std::string_view kHyMt2Folders[] = {"hy-mt2"};
constexpr std::string_view kHyMt15Folders[] = {"hy-mt1.5"};
constexpr std::string_view kHunyuanMtFolders[] = {"hunyuan-mt"};
constexpr std::string_view kTowerPlusFolders[] = {"tower-plus"};
constexpr std::string_view kTowerFolders[] = {"towerinstruct"};
constexpr std::string_view kEuroLlmFolders[] = {"eurollm"};

constexpr TranslatorPrompt kTranslatorPrompts[] = {
    {"translategemma", "", "", kTranslateGemma, kTranslateGemmaFolders,
     kGemmaEnds},
    {"hy-mt2",
     "Translate the following text into {target}. Note that you should only "
     "output the translated result without any additional "
     "explanation:\n\n{text}",
     "", kHunyuan, kHyMt2Folders, kHunyuanEnds},
    {"hy-mt1.5",
     "Translate the following segment into {target}, without additional "
     "explanation.\n\n{text}",
     "将以下文本翻译为{target}，注意只需要输出翻译后的结果，不要额外解释：\n\n"
     "{text}",
     kHunyuan, kHyMt15Folders, kHunyuanEnds},
    {"hunyuan-mt",
     "Translate the following segment into {target}, without additional "
     "explanation.\n\n{text}",
     "把下面的文本翻译成{target}，不要额外解释。\n\n{text}", kHunyuan,
     kHunyuanMtFolders, kHunyuanEnds},
    {"tower-plus",
     "Translate the following {source} source text to {target}:\n"
     "{source}: {text}\n{target}: ",
     "", kTowerPlus, kTowerPlusFolders, kTowerPlusEnds},
    {"tower",
     "Translate the following text from {source} into {target}.\n"
     "{source}: {text}\n{target}:",
     "", kTower, kTowerFolders, kChatMlEnds},
    {"eurollm",
     "Translate the following {source} source text to {target}:\n"
     "{source}: {text} \n{target}: ",
     "", kEuroLlm, kEuroLlmFolders, kChatMlEnds},
};

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kNone = "none";

bool IsChinese(const PromptLanguage* language) {
  return language != nullptr && language->tag.starts_with("zh");
}

// True if the template takes the text and the languages as fields. It refuses
// other messages.
bool TakesFields(const ChatTemplate& chat) {
  return chat.source().find("source_lang_code") != std::string_view::npos;
}

// Adds the last part of a path and, if the path lies in a snapshot of a hub's
// repository, the repository's.
void AddNames(std::filesystem::path path, std::vector<std::string>* names) {
  if (!path.has_filename()) path = path.parent_path();
  names->push_back(path.filename().string());
  for (; path.has_relative_path(); path = path.parent_path()) {
    if (path.filename() != "snapshots") continue;
    names->push_back(path.parent_path().filename().string());
  }
}

std::string JsonTextOf(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/false,
                                   nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::span<const TranslatorPrompt> TranslatorPrompts() {
  return kTranslatorPrompts;
}

const TranslatorPrompt* FindTranslatorPrompt(std::string_view name) {
  const auto found = std::find_if(
      std::begin(kTranslatorPrompts), std::end(kTranslatorPrompts),
      [name](const TranslatorPrompt& one) { return one.name == name; });
  return found == std::end(kTranslatorPrompts) ? nullptr : found;
}

absl::StatusOr<std::string_view> ParseTranslateWith(std::string_view name) {
  for (const std::string_view word : {kAuto, kNone}) {
    if (name == word) return word;
  }
  if (const auto* prompt = FindTranslatorPrompt(name)) return prompt->name;
  std::string names;
  for (const TranslatorPrompt& prompt : kTranslatorPrompts) {
    names += fmt::format("{}, ", prompt.name);
  }
  return absl::InvalidArgumentError(
      fmt::format("'{}' is not one of {}auto and none", name, names));
}

std::vector<std::string> NamesOfModel(const std::string& path,
                                      const nlohmann::json& config) {
  std::vector<std::string> names;
  std::error_code error;
  // A hub's GGUF file is a link to a blob, which is named by its hash.
  AddNames(std::filesystem::absolute(path, error).lexically_normal(), &names);
  const auto own = std::filesystem::weakly_canonical(path, error);
  if (!error) AddNames(own, &names);
  const auto saved = config.find("_name_or_path");
  if (saved != config.end() && saved->is_string()) {
    names.push_back(
        std::filesystem::path(saved->get<std::string>()).filename().string());
  }
  return names;
}

const TranslatorPrompt* RecognizeTranslator(
    const ChatTemplates& templates, std::span<const std::string> names) {
  const absl::StatusOr<const ChatTemplate*> usual =
      templates.Find("", /*has_tools=*/false);
  if (!usual.ok()) return nullptr;
  for (const TranslatorPrompt& prompt : kTranslatorPrompts) {
    const bool fields = TakesFields(**usual);
    if (fields != prompt.takes_fields()) continue;
    if (fields) return &prompt;
    for (const std::string& name : names) {
      const std::string folded = absl::AsciiStrToLower(name);
      for (const std::string_view part : prompt.folders) {
        if (folded.find(part) != folded.npos) return &prompt;
      }
    }
  }
  return nullptr;
}

absl::Status CheckTranslator(const TranslatorPrompt& prompt,
                             const ChatTemplates& templates) {
  const absl::StatusOr<const ChatTemplate*> usual =
      templates.Find("", /*has_tools=*/false);
  if (!usual.ok()) {
    return absl::FailedPreconditionError(fmt::format(
        "cannot translate with {}, since no chat template writes its prompt "
        "({}); fetch the folder again, with its chat template",
        prompt.name, std::string(usual.status().message())));
  }
  if (TakesFields(**usual) == prompt.takes_fields()) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "cannot translate with {}, whose chat template {} source_lang_code, "
      "unlike the folder's; leave translate_with out, or give another",
      prompt.name, prompt.takes_fields() ? "reads" : "does not read"));
}

TranslationChat ChatOfTranslation(const TranslatorPrompt& prompt,
                                  const Direction& direction,
                                  std::string_view text) {
  const PromptLanguage* const source = direction.prompt_source;
  const PromptLanguage* const target = direction.prompt_target;
  if (prompt.takes_fields()) {
    return {fmt::format(R"([{{"role": "user", "content": [{{"type": "text", )"
                        R"("source_lang_code": {}, "target_lang_code": {}, )"
                        R"("text": {}}}]}}])",
                        JsonTextOf(source->name), JsonTextOf(target->name),
                        JsonTextOf(text)),
            ""};
  }
  const bool chinese = !prompt.chinese_message.empty() &&
                       (IsChinese(source) || IsChinese(target));
  const std::string_view message =
      chinese ? prompt.chinese_message : prompt.message;
  const std::string_view from = source == nullptr ? "" : source->name;
  const std::string_view to = chinese ? target->chinese : target->name;
  const auto fill = [from, to](std::string_view part) {
    return absl::StrReplaceAll(
        absl::string_view(part.data(), part.size()),
        {{"{source}", absl::string_view(from.data(), from.size())},
         {"{target}", absl::string_view(to.data(), to.size())}});
  };
  constexpr std::string_view kText = "{text}";
  const size_t at = message.find(kText);
  const std::string begin = fill(message.substr(0, at));
  const std::string end = fill(message.substr(at + kText.size()));
  return {fmt::format(R"([{{"role": "user", "content": {}}}])",
                      JsonTextOf(begin + std::string(text) + end)),
          end};
}

}  // namespace trivium
