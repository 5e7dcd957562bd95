#ifndef TRIVIUM_MODEL_SENTENCE_MODULES_H_
#define TRIVIUM_MODEL_SENTENCE_MODULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trivium {

// A module of a sentence-transformers folder.
struct SentenceModule {
  std::string type;    // its class, without the packages: "Pooling"
  std::string folder;  // the path of its files

  bool operator==(const SentenceModule&) const = default;
};

// First modules that look a text's tokens up in a table.
inline constexpr std::string_view kStaticEmbedding = "StaticEmbedding";
inline constexpr std::string_view kSparseStaticEmbedding =
    "SparseStaticEmbedding";
// The module that chooses the tokens that have a vector.
inline constexpr std::string_view kMultiVectorMask = "MultiVectorMask";

// The modules that a text goes through, in their order. The first one reads the
// text: a Transformer, or a table of embeddings.
using ModuleList = std::vector<SentenceModule>;

// The modules of a folder. A Router has lists of its own for queries, for
// documents and for other texts; the modules before and after it are in all.
struct SentenceModules {
  // Different lists, one to three. The first one reads texts that are neither
  // queries nor documents.
  std::vector<ModuleList> lists;
  int query = 0;  // index in `lists`
  int document = 0;
  bool routed = false;  // there is a Router
};

// Returns the error of a file that modules.json names, or of modules.json.
absl::Status UnusableModules(const std::string& file, const std::string& what);

// Reads modules.json in `folder`, and router_config.json if there is a Router.
// NOT_FOUND without modules.json. Other errors name the file and the module.
absl::StatusOr<SentenceModules> ReadSentenceModules(const std::string& folder);

// True if the first module looks tokens up in a table, so that the list has no
// Transformer.
bool ReadsTable(const ModuleList& list);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SENTENCE_MODULES_H_
