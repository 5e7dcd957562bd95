#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_ELEMENTS_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_ELEMENTS_H_

#include <string_view>

namespace trivium {

// The role of an HTML element for the sentences around it.
enum class ElementRole {
  kInline,   // part of a sentence: <b>, and unknown elements
  kBlock,    // its tags end sentences: <p>, <br>
  kName,     // not translated, stands for a word: <code>
  kObject,   // not translated, stands for nothing: <script>
  kListing,  // not translated, ends sentences: <pre>
};

// `name` must be in lower case.
ElementRole RoleOf(std::string_view name);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_ELEMENTS_H_
