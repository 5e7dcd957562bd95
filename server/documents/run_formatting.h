#ifndef TRIVIUM_SERVER_DOCUMENTS_RUN_FORMATTING_H_
#define TRIVIUM_SERVER_DOCUMENTS_RUN_FORMATTING_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/documents/document_segment.h"
#include "server/documents/office_runs.h"

namespace trivium {

// A translated text may need other runs than the source has, so each item
// records which run is open before and after it: the key of the beginning of
// that run (its tag and its properties), or nothing.

// The beginnings of a part's runs. Items name them by short keys, so that long
// properties of many texts are there only once. Equal ones have one key; "":
// no run.
class RunTable {
 public:
  explicit RunTable(const RunNames& names) : names_(names) {}

  std::string KeyOf(const std::string& raw);
  const std::string& Raw(const std::string& key) const;
  // The key of a run's visible properties; "": it has none.
  const std::string& Formatting(const std::string& key) const;

 private:
  const RunNames& names_;
  const std::string none_;
  std::vector<std::string> raw_, formatting_;
  absl::flat_hash_map<std::string, std::string> keys_, formattings_;
};

// Returns the items with marks around texts that have another formatting than
// the usual one.
std::vector<DocumentItem> MarkFormattings(const RunTable& runs,
                                          std::vector<DocumentItem> items,
                                          const std::string& usual);

// Writes a translated segment. `usual`: the run for text without another
// formatting. It stops beyond `most` bytes, since a run may be opened again and
// again, with all its properties.
std::string WriteRuns(const RunNames& names, const RunTable& table,
                      const std::string& usual, const DocumentSegment& segment,
                      const std::vector<DocumentPart>& parts, size_t most);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_RUN_FORMATTING_H_
