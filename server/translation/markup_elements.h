#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_ELEMENTS_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_ELEMENTS_H_

#include <string_view>

namespace trivium {

// What an element of HTML is to the sentences around it.
enum class ElementRole {
  kInline,   // in the midst of text: <b>, and what nobody knows
  kBlock,    // no sentence goes on across its tags: <p>, <br>
  kName,     // for programs, and stands for a word: <code>
  kObject,   // for programs, and stands for nothing: <script>
  kListing,  // for programs, and no sentence goes on across it: <pre>
};

// Of a name in lower case.
ElementRole RoleOf(std::string_view name);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_ELEMENTS_H_
