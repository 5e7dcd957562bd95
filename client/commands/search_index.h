#ifndef TRIVIUM_CLIENT_COMMANDS_SEARCH_INDEX_H_
#define TRIVIUM_CLIENT_COMMANDS_SEARCH_INDEX_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "client/commands/embeddings.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The embeddings of a file's lines, kept in a file beside it, so that a second
// search encodes only the lines that are new.
//
// The file: a line of JSON (the members of SearchIndex::Header); then for each
// text its bytes (uint32), the text, the bytes of its embedding (uint32), and
// that, as a serialized EncodeResult. All numbers are little-endian.
class SearchIndex {
 public:
  // The model that made the embeddings.
  struct Header {
    std::string model;
    std::string revision;  // ModelVersion.revision
    EmbeddingKind kind = EmbeddingKind::kDense;

    bool operator==(const Header&) const = default;
  };

  explicit SearchIndex(Header header) : header_(std::move(header)) {}

  // Returns unset if `bytes` are not an index with this header: of another
  // model, or damaged. All lines are encoded again then.
  static std::optional<SearchIndex> Parse(std::string_view bytes,
                                          const Header& header);
  std::string ToBytes() const;

  // Returns the embedding of a text, or null.
  const v1::EncodeResult* Find(std::string_view text) const;
  // `encoded` has an embedding of the header's kind. Keeps nothing else of it.
  void Add(std::string text, v1::EncodeResult encoded);
  // Drops the embeddings of texts that are not among these.
  void KeepOnly(const std::set<std::string_view>& texts);

  const Header& header() const { return header_; }

 private:
  Header header_;
  std::map<std::string, v1::EncodeResult, std::less<>> embeddings_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_SEARCH_INDEX_H_
