#ifndef TRIVIUM_SERVER_DOCUMENTS_READERS_H_
#define TRIVIUM_SERVER_DOCUMENTS_READERS_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/documents/document.h"

namespace trivium {

// The readers of documents, one for each format. INVALID_ARGUMENT says
// which part of the document is wrong, and how.
using ReadDocumentFormat = absl::StatusOr<std::unique_ptr<Document>>(
    std::string_view data, const DocumentOptions& options);

// Each line is a text.
ReadDocumentFormat ReadPlainText;
// Parts that can be translated by themselves, in their own markup: blocks of
// HTML and of Markdown, and XML as a whole.
ReadDocumentFormat ReadHtml;
ReadDocumentFormat ReadMarkdown;
ReadDocumentFormat ReadXml;
// Subtitles. The lines of a cue are one text; its translation has as many
// lines. If they begin with dashes, each is a text of another speaker.
ReadDocumentFormat ReadSrt;
ReadDocumentFormat ReadVtt;
// gettext: fills empty translations. The header, obsolete and fuzzy entries
// stay. The first plural form is translated from the singular, the others from
// the plural.
ReadDocumentFormat ReadPo;
// String values, and with the option keys.
ReadDocumentFormat ReadJson;
// ARB of Flutter: JSON whose keys with an @ tell about the texts, and stay. The
// locale becomes the translation's.
ReadDocumentFormat ReadArb;
// XLIFF 1.2 and 2: fills targets that are missing or empty. They get the inline
// codes of the source.
ReadDocumentFormat ReadXliff;
// WordprocessingML: paragraphs of the body, headers, footers and notes.
ReadDocumentFormat ReadDocx;
// PresentationML: paragraphs of slides and their notes.
ReadDocumentFormat ReadPptx;
// SpreadsheetML: strings of cells, in lines; text in drawings and charts. The
// names of a table's columns stay.
ReadDocumentFormat ReadXlsx;
// OpenDocument (text, spreadsheets, presentations): paragraphs, with those of
// headers, footers and notes. Of cells only those that have text by themselves.
ReadDocumentFormat ReadOpenDocument;
// EPUB 2 and 3: its pages as HTML, its title and description, and the labels of
// its table of contents.
ReadDocumentFormat ReadEpub;
// A page of HTML that is a part of a package; places of its texts name it.
absl::StatusOr<std::unique_ptr<Document>> ReadPage(std::string_view data,
                                                   const std::string& part);
// Android's resources: strings, string arrays and plurals that may be
// translated.
ReadDocumentFormat ReadAndroid;
// Qt's .ts: fills empty translations, and all their forms.
ReadDocumentFormat ReadQtTranslation;
// Apple's .strings: values in quotes.
ReadDocumentFormat ReadAppleStrings;
// Java's .properties: values.
ReadDocumentFormat ReadProperties;
// Tables: cells behind the row of names. A cell that needs quotes gets them.
ReadDocumentFormat ReadCsv;
ReadDocumentFormat ReadTsv;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_READERS_H_
