#include "client/commands/flag_words.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "fmt/format.h"

namespace trivium {
namespace {

bool IsFieldCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '[' || c == ']';
}

// Returns the flag that sets a field: "--beam-size" for "beam_size",
// "--protect-pattern" for "patterns" of "protect".
std::optional<std::string> FlagOf(std::string_view parent,
                                  std::string_view field,
                                  const std::vector<std::string>& flags) {
  std::string name(field);
  std::replace(name.begin(), name.end(), '_', '-');
  std::string one = name;
  if (one.ends_with('s')) one.pop_back();
  for (const std::string& wanted :
       {name, one, fmt::format("{}-{}", parent, one)}) {
    if (std::find(flags.begin(), flags.end(), wanted) != flags.end()) {
      return "--" + wanted;
    }
  }
  return std::nullopt;
}

// Returns "text 3" for "inputs[2].text" and "inputs[2]"; "it" in a message that
// names the text already. Similarity's first list is the command's texts, its
// second those of --to.
std::optional<std::string> TextOf(std::string_view path, bool named) {
  constexpr std::string_view kFirst = "first.", kSecond = "second.";
  if (path.starts_with(kFirst)) path.remove_prefix(kFirst.size());
  const bool second = path.starts_with(kSecond);
  if (second) path.remove_prefix(kSecond.size());
  // The text of a message of a stream, which has one.
  if (path == "item.input" || path == "item.input.text") {
    return named ? "it" : "TEXT";
  }
  // Tokenize calls them texts, Rerank documents.
  constexpr std::string_view kInputs = "inputs", kTexts = "texts",
                             kDocuments = "documents";
  if (path.starts_with(kInputs)) {
    path.remove_prefix(kInputs.size());
  } else if (path.starts_with("texts[")) {
    path.remove_prefix(kTexts.size());
  } else if (path.starts_with(kDocuments)) {
    path.remove_prefix(kDocuments.size());
  } else {
    return std::nullopt;
  }
  if (path.empty()) return second ? "--to" : "TEXT";
  if (!path.starts_with('[')) return std::nullopt;
  path.remove_prefix(1);
  int index = 0;
  const auto [end, error] =
      std::from_chars(path.data(), path.data() + path.size(), index);
  path.remove_prefix(end - path.data());
  if (error != std::errc() || (path != "]" && path != "].text")) {
    return std::nullopt;
  }
  if (second) return fmt::format("text {} of --to", index + 1);
  return named ? "it" : fmt::format("text {}", index + 1);
}

// Returns a word of the message, which may be the path of a field.
std::string InFlagWord(std::string_view word, bool named,
                       const std::vector<std::string>& flags) {
  if (const auto text = TextOf(word, named)) return *text;
  std::vector<std::string_view> names = {""};
  for (std::string_view rest = word;;) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    names.push_back(part.substr(0, part.find('[')));
    if (part.size() == rest.size()) break;
    rest.remove_prefix(part.size() + 1);
  }
  for (size_t i = names.size() - 1; i > 0; --i) {
    if (const auto flag = FlagOf(names[i - 1], names[i], flags)) return *flag;
  }
  for (const std::string_view front : {"start.", "options."}) {
    if (word.starts_with(front)) word.remove_prefix(front.size());
  }
  return std::string(word);
}

// Phrases of the API about its fields, and the same in the commands' words.
constexpr std::pair<std::string_view, std::string_view> kPhrases[] = {
    {"chat: is for models without an encoder; send the text as input",
     "the model takes no chats; `trivium translate` and `trivium generate` "
     "send it a text, and --model names another model"},
    {"outputs[0]: is sparse; ", "--sparse: "},
    {"outputs[0]: is multi-vector; ", "--multi-vector: "},
    {"outputs[1]: is multi-vector; ", "--multi-vector: "},
    {"or set truncate", "or give --truncate"},
    {"has no source; set text or ids",
     "has no source; write SOURCE<tab>TEXT, with a tab between the two"}};

std::string InCommandWords(std::string text) {
  for (const auto& [phrase, words] : kPhrases) {
    const size_t at = text.find(phrase);
    if (at != text.npos) text.replace(at, phrase.size(), words);
  }
  return text;
}

}  // namespace

std::string InFlagWords(std::string_view message,
                        const std::vector<std::string>& flags) {
  std::string out;
  const bool named = message.starts_with("text ");
  while (!message.empty()) {
    const auto other = [](char c) { return !IsFieldCharacter(c); };
    size_t size =
        std::find_if(message.begin(), message.end(), other) - message.begin();
    // A point or a bracket at the end belongs to the sentence.
    size_t end = size;
    while (end > 0 && (message[end - 1] == '.' || message[end - 1] == '[')) {
      --end;
    }
    const std::string_view word = message.substr(0, end);
    // A word beside other characters is a part of something else, such as a
    // file's name or a number.
    const bool alone = out.empty() || out.back() == ' ' || out.back() == '(';
    // A message begins with the field that it is about.
    const bool is_subject = (out.empty() || out.ends_with(": ")) &&
                            message.substr(end).starts_with(": ");
    const bool is_path = word.find_first_of("_.[") != word.npos || is_subject;
    out +=
        alone && is_path ? InFlagWord(word, named, flags) : std::string(word);
    if (end == size && size < message.size()) ++size;
    out += message.substr(end, size - end);
    message.remove_prefix(size);
  }
  // "text 3: inputs[0]: is blank" names the text twice.
  const size_t twice = named ? out.find(": it: ") : out.npos;
  if (twice != out.npos && twice == out.find(':')) out.erase(twice + 2, 4);
  return InCommandWords(std::move(out));
}

}  // namespace trivium
