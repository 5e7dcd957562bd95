#ifndef TRIVIUM_SERVER_DOCUMENTS_OFFICE_RUNS_H_
#define TRIVIUM_SERVER_DOCUMENTS_OFFICE_RUNS_H_

#include <re2/re2.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/documents/segment_builder.h"
#include "server/documents/xml_tokens.h"

namespace trivium {

// The elements of WordprocessingML (w:), of DrawingML (a:) or of SpreadsheetML,
// in which texts are runs in paragraphs.
struct RunNames {
  std::string_view paragraph, run, properties, text;
  std::string_view open_text;               // the tag of a text that is written
  bool (*is_break)(std::string_view name);  // ends a text
  bool (*is_unseen)(std::string_view name);  // programs leave it between runs
  // Matches the parts of a run's beginning that nobody sees; they are no
  // formatting.
  const RE2* unseen;
};
const RunNames& WordRuns();
const RunNames& DrawingRuns();
const RunNames& SheetRuns();  // each string is a paragraph

// Reads the paragraphs of a part.
//
// Neighbouring runs with the same formatting are one text, even if the program
// that wrote them split it. A text has a usual formatting, that of most of it.
// Words with another formatting, or in a link, a field or the like, are marked;
// so are numbers of notes and pictures. Tabs and line breaks end a text.
// Deleted text, fields' instructions and everything else stay. A translated
// text has as few runs as it has formattings.
SegmentBuilder ReadRuns(const RunNames& names, const std::string& part,
                        const std::vector<XmlToken>& tokens);
// Reads one of several paragraphs, the one with the number `paragraph`.
void ReadParagraph(const RunNames& names, const std::string& part,
                   const std::vector<XmlToken>& tokens, size_t paragraph,
                   SegmentBuilder* builder);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_OFFICE_RUNS_H_
