#ifndef TRIVIUM_SERVER_TRANSLATION_MNEMONICS_H_
#define TRIVIUM_SERVER_TRANSLATION_MNEMONICS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "server/translation/text_edits.h"

namespace trivium {

// Labels of programs mark the letter that chooses them: "&File" in Windows and
// Qt, "_File" in GTK. A model takes the mark for a part of the word.

// True if a word is a common one.
using IsCommonWord = std::function<bool(std::string_view word)>;

// Returns the place of the mark in a label that has one, else nullopt. A mark
// within a word must part a common word, as in "Sa&ve", or stand behind its
// capital, as in "E&xit": "R&D" has none.
std::optional<size_t> FindMnemonic(std::string_view label,
                                   const IsCommonWord& is_common);

// Returns the edit that marks a letter of a label's translation: the same
// letter at the begin of a word, else the first one. Scripts without capitals
// have the letter behind the label, as "(&F)". `mnemonic` is the mark and its
// letter: "&F".
TextEdit MnemonicEdit(std::string_view mnemonic, std::string_view translation);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MNEMONICS_H_
