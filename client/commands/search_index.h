#ifndef TRIVIUM_CLIENT_COMMANDS_SEARCH_INDEX_H_
#define TRIVIUM_CLIENT_COMMANDS_SEARCH_INDEX_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trivium {

// The embeddings of a file's lines, kept in a file beside it, so that a second
// search encodes only the lines that are new.
//
// The file: a line of JSON (the members of SearchIndex::Header); then for each
// text its bytes (uint32), the text, and `dimensions` floats. All numbers are
// little-endian.
class SearchIndex {
 public:
  // The model that made the embeddings.
  struct Header {
    std::string model;
    std::string revision;  // ModelVersion.revision
    int dimensions = 0;

    bool operator==(const Header&) const = default;
  };

  explicit SearchIndex(Header header) : header_(std::move(header)) {}

  // Returns unset if `bytes` are not an index with this header: of another
  // model, or damaged. All lines are encoded again then.
  static std::optional<SearchIndex> Parse(std::string_view bytes,
                                          const Header& header);
  std::string ToBytes() const;

  // Returns the embedding of a text, or null.
  const std::vector<float>* Find(std::string_view text) const;
  // `embedding` has header's dimensions.
  void Add(std::string text, std::span<const float> embedding);
  // Drops the embeddings of texts that are not among these.
  void KeepOnly(const std::set<std::string_view>& texts);

  const Header& header() const { return header_; }

 private:
  Header header_;
  std::map<std::string, std::vector<float>, std::less<>> embeddings_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_SEARCH_INDEX_H_
