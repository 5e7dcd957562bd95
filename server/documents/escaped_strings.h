#ifndef TRIVIUM_SERVER_DOCUMENTS_ESCAPED_STRINGS_H_
#define TRIVIUM_SERVER_DOCUMENTS_ESCAPED_STRINGS_H_

#include <re2/re2.h>

#include <string>
#include <string_view>
#include <vector>

#include "server/documents/segment_builder.h"

namespace trivium {

// Strings of programs with backslash escapes, as in PO, JSON and .properties.

// A line of a string, and the escape of its line break: \n or \r, empty at
// the string's end.
struct EscapedLine {
  std::string_view text, end;
};
// Takes the first line off `raw`. One at a time, since a list of them would
// take many times the memory of the string.
EscapedLine NextEscapedLine(std::string_view* raw);

// Adds a string. Each of its lines is a segment; HTML tags in it are marks. Of
// an ICU message with plurals or choices, the text of each branch is a segment,
// and the rest stays.
void AddEscapedString(SegmentBuilder* builder, std::string_view raw,
                      const std::string& place, const DecodeText& decode);

// Matches an HTML tag in a string, as AddTagged reads it.
const RE2& HtmlTagOfStrings();
// Matches one that XML has as text: "&lt;b>".
const RE2& EscapedHtmlTag();

// Adds texts and tags. `tag` matches a tag; its groups are whether it closes,
// and its name. A tag without a name is a mark at a place.
void AddTagged(SegmentBuilder* builder, std::string_view raw,
               const std::string& place, const RE2& tag,
               const DecodeText& decode = nullptr,
               Margin margin = Margin::kSpace);

// A part of an ICU message: text that is translated, or its syntax.
struct IcuPart {
  std::string_view raw;
  bool text = false;
};
// Splits a message that has a plural, select or selectordinal argument. Empty:
// it is no such message, or is malformed.
std::vector<IcuPart> SplitIcuMessage(std::string_view raw);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_ESCAPED_STRINGS_H_
