#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_SCRIPTS_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_SCRIPTS_H_

#include <string_view>
#include <vector>

#include "server/translation/markup_pieces.h"

namespace trivium {

// Returns the pieces with two changes for <sub> and <sup> that hold no words:
//   - A formula, such as "H<sub>2</sub>O" or "m<sup>2</sup>", becomes one
//     opaque piece.
//   - Another one, such as the <sup>1</sup> of a footnote, becomes kVoid. So
//     the model does not read "Berlin1", and a sentence may end before it.
std::vector<MarkupPiece> WithScripts(std::string_view text,
                                     std::vector<MarkupPiece> pieces);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_SCRIPTS_H_
