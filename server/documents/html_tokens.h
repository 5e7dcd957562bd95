#ifndef TRIVIUM_SERVER_DOCUMENTS_HTML_TOKENS_H_
#define TRIVIUM_SERVER_DOCUMENTS_HTML_TOKENS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// A tag, comment or declaration of HTML.
struct HtmlToken {
  size_t begin = 0;  // offset in the text
  std::string_view raw;
  std::string name;  // of tags, in lower case; empty: another token
  bool closes = false;
};

// Finds the tokens of HTML as documents have it, malformed or not. What is no
// token is text.
class HtmlScanner {
 public:
  explicit HtmlScanner(std::string_view text)
      : text_(text), tries_(64 * text.size() + (1 << 20)) {}

  // Finds the first token from `at` on. False: there is none, or gave_up().
  bool Next(size_t at, HtmlToken* token);
  // The place before </name>, or the end of the text.
  size_t EndOfRaw(const std::string& name, size_t at) const;
  // True if the text has so many tags with unclosed quotes that finding their
  // ends would take too long.
  bool gave_up() const { return tries_ == 0; }

 private:
  bool ReadToken(size_t at, HtmlToken* token);
  bool Take(size_t begin, size_t end, HtmlToken* token) const;

  // The first place from `at` on, at which the places only grow. `known` is the
  // place that was found before.
  size_t NextOf(std::string_view wanted, size_t at, size_t* known);

  const std::string_view text_;
  size_t tries_;  // bytes that unclosed quotes may still cost
  size_t close_ = 0, section_end_ = 0;  // of the next > and ]]>
  static constexpr size_t npos = std::string_view::npos;
};

struct HtmlAttribute {
  std::string name;        // in lower case
  std::string_view value;  // with its quotes, if it has any; not empty

  std::string_view bare() const;
};
// The attributes of a tag that have a value.
std::vector<HtmlAttribute> AttributesOf(std::string_view tag);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_HTML_TOKENS_H_
