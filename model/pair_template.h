#ifndef TRIVIUM_MODEL_PAIR_TEMPLATE_H_
#define TRIVIUM_MODEL_PAIR_TEMPLATE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/chat_template.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

// How a decoder reads a query and a document of which it is to say whether the
// one answers the other: the chat template of its folder, in which they are
// messages of the roles "query" and "document", behind one of the role "system"
// that holds a prompt ("Given a web search query, retrieve relevant passages
// that answer the query") if there is one.
//
//   TRIVIUM_ASSIGN_OR_RETURN(
//       const Encoding encoding,
//       pairs.Encode({.query = q, .document = d}, tokenizer, options));
class PairTemplate {
 public:
  // Of a sentence-transformers folder. INVALID_ARGUMENT where it has no chat
  // template, or none that both texts appear in.
  static absl::StatusOr<PairTemplate> Load(const std::string& folder);
  // Qwen3-Reranker's, whose first folders have it in their README only.
  static absl::StatusOr<PairTemplate> OfQwen3Reranker();

  struct Pair {
    std::string_view query;
    std::string_view document;
    std::string_view prompt = {};  // empty: none
  };
  // No special token is made of what a pair says. With options.max_tokens the
  // document is cut, of which so many tokens are `truncated`, and nothing else:
  // what is left may still be longer. Special tokens are the template's own.
  absl::StatusOr<Encoding> Encode(Pair pair, const Tokenizer& tokenizer,
                                  const EncodeOptions& options) const;

 private:
  PairTemplate(ChatTemplates templates, bool parts)
      : templates_(std::move(templates)), parts_(parts) {}

  // That the template writes both texts.
  absl::Status Check() const;
  absl::StatusOr<std::vector<ChatSegment>> Render(
      const Pair& pair, const AliveCheck& check_alive) const;
  absl::StatusOr<Encoding> EncodeWhole(const Pair& pair,
                                       const Tokenizer& tokenizer,
                                       const EncodeOptions& options) const;

  ChatTemplates templates_;
  bool parts_;  // a message's content is [{"type": "text", "text": }]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_PAIR_TEMPLATE_H_
