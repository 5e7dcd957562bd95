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

// Prompts a decoder with a query and a document, to judge whether the document
// answers the query. It uses the chat template of its folder, in which both are
// messages of the roles "query" and "document". A prompt ("Given a web search
// query, retrieve relevant passages that answer the query") is a message of the
// role "system" before them.
//
//   TRIVIUM_ASSIGN_OR_RETURN(
//       const Encoding encoding,
//       pairs.Encode({.query = q, .document = d}, tokenizer, options));
class PairTemplate {
 public:
  // Reads a sentence-transformers folder. INVALID_ARGUMENT if it has no chat
  // template, or the template does not write both texts.
  static absl::StatusOr<PairTemplate> Load(const std::string& folder);
  // Returns Qwen3-Reranker's template, which its first folders have only in
  // their README.
  static absl::StatusOr<PairTemplate> OfQwen3Reranker();

  struct Pair {
    std::string_view query;
    std::string_view document;
    std::string_view prompt = {};  // empty: none
  };
  // Returns the ids of a pair. Special tokens come from the template alone,
  // never from the pair's texts. options.max_tokens cuts nothing but the
  // document and counts its lost tokens in `truncated`, so the rest may still
  // be longer.
  absl::StatusOr<Encoding> Encode(Pair pair, const Tokenizer& tokenizer,
                                  const EncodeOptions& options) const;

 private:
  PairTemplate(ChatTemplates templates, bool parts)
      : templates_(std::move(templates)), parts_(parts) {}

  // Fails unless the template writes both texts.
  absl::Status Check() const;
  absl::StatusOr<std::vector<PromptText>> Render(
      const Pair& pair, const AliveCheck& check_alive) const;
  absl::StatusOr<Encoding> EncodeWhole(const Pair& pair,
                                       const Tokenizer& tokenizer,
                                       const EncodeOptions& options) const;

  ChatTemplates templates_;
  bool parts_;  // a message's content is [{"type": "text", "text": }]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_PAIR_TEMPLATE_H_
