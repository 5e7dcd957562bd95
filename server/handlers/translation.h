#ifndef TRIVIUM_SERVER_HANDLERS_TRANSLATION_H_
#define TRIVIUM_SERVER_HANDLERS_TRANSLATION_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/handlers/convert.h"
#include "server/handlers/text_parts.h"
#include "server/handlers/token_counts.h"
#include "server/text/sentences.h"

namespace trivium {

// What Translate and TranslateStream share: the options of a call, checked
// once, and from them the requests of each input, one a sentence, and its
// result. Immutable.
class Translation {
 public:
  // `path` of `options` in its message, "options"; `wanted` as
  // InputOptions'.
  static absl::StatusOr<Translation> Create(
      const Environment& environment, const ServedModel& model,
      const v1::TranslateOptions& options, const std::string& path,
      std::function<absl::Status()> wanted);

  struct Item {
    TextParts text;
    std::vector<Request> requests;  // [text.parts]; none where all is blank
    int64_t response_bytes = 0;     // about, of what grows without text
  };

  // Splits and tokenizes. `path`: "inputs[3]".
  absl::StatusOr<Item> Prepare(const v1::Input& input,
                               const std::string& path) const;

  // Of one part.
  v1::TranslateResult PartResult(const PreparedInput& part,
                                 RequestResult result) const;
  // Of an input, of its parts' results: [text.parts], or none where it is
  // blank.
  v1::TranslateResult Result(const TextParts& text,
                             std::vector<v1::TranslateResult> parts) const;

 private:
  Translation() = default;

  absl::Status ReadSplit(const v1::TranslateOptions& options,
                         const std::string& path);
  absl::Status PrepareSentences(const v1::Input& input, const std::string& path,
                                Item* item) const;
  // Of span of item's text, or parts of it. `counts`: of a sentence that is far
  // too long; null of others.
  absl::Status AddSentence(const v1::Input& input, TextSpan span, bool cut,
                           const TokenCounts* counts, const std::string& path,
                           Item* item) const;
  absl::Status AddHalves(const v1::Input& input, TextSpan span,
                         const TokenCounts* counts, const std::string& path,
                         Item* item) const;
  // INVALID_ARGUMENT where there are more than a call's sentences may have.
  absl::StatusOr<TokenCounts> CountTokens(TextSpan span,
                                          const std::string& path,
                                          const Item& item) const;
  absl::Status AddPart(TextParts::Part part, const std::string& path,
                       Item* item) const;
  // Whether an input may have several parts.
  absl::Status CheckSeveral(const v1::Input& input,
                            const std::string& path) const;

  const Model* model_ = nullptr;
  InputOptions input_options_;
  CallDecoding decoding_;
  bool tokens_ = false;
  std::string path_;                         // of the options
  v1::Split split_ = v1::SPLIT_UNSPECIFIED;  // as the request's
  bool sentences_ = false;
  std::optional<SentenceSplitter> splitter_;  // unless SPLIT_NONE
  std::optional<MapSelection> cross_attention_;
  std::optional<MapSelection> decoder_attention_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_TRANSLATION_H_
