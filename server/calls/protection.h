#ifndef TRIVIUM_SERVER_CALLS_PROTECTION_H_
#define TRIVIUM_SERVER_CALLS_PROTECTION_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/text_parts.h"
#include "server/translation/placeholders.h"
#include "server/translation/protected_spans.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// What v1::Protection asks for, and whether a sentence's translation has it.
// Immutable.
class SpanProtection {
 public:
  // Protects nothing but what it is told of; in pieces, if it must.
  SpanProtection() = default;

  // `path` of the message: "options.protect". Takes milliseconds.
  static absl::StatusOr<SpanProtection> Create(const v1::Protection& in,
                                               const std::string& path);

  // The text's spans, without white space at their ends; `wanted` as
  // InputOptions'.
  absl::StatusOr<std::vector<TextSpan>> Find(
      std::string_view text, const std::function<absl::Status()>& wanted) const;

  bool pieces() const { return pieces_; }

  // Puts the spans of a part back into the hypotheses of `result`, which were
  // made of its text with placeholders, and tells where, [hypotheses]. Adds to
  // `unkept` those that are not in them exactly once, and returns how much is
  // wrong: 0, all came through. An error is Find's.
  absl::StatusOr<int> Restore(
      const TextParts& text, const TextParts::Part& part, int style,
      const std::function<absl::Status()>& wanted, v1::TranslateResult* result,
      std::vector<std::vector<Restored::Place>>* places) const;

  // The same of a part in pieces, which were translated by themselves and of
  // which `joined` was made: what is wrong is spans that a model made up.
  absl::StatusOr<int> CheckPieces(
      const TextParts& text, const TextParts::Part& part,
      const std::vector<v1::TranslateResult>& pieces,
      const std::function<absl::Status()>& wanted,
      v1::TranslateResult* joined) const;

 private:
  SpanProtection(ProtectedSpans spans, std::string path)
      : spans_(std::move(spans)), path_(std::move(path)) {}

  // Adds to `counts` of `kept` how often each is in one of texts.
  absl::Status Count(const std::vector<std::string_view>& texts,
                     const std::vector<std::string_view>& kept,
                     const std::function<absl::Status()>& wanted,
                     std::vector<int>* counts) const;

  ProtectedSpans spans_;
  std::string path_;
  bool pieces_ = true;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_PROTECTION_H_
