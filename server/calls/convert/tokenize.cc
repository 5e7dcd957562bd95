#include "server/calls/convert/tokenize.h"

#include <fmt/format.h>

#include "base/status.h"
#include "server/errors/status.h"

namespace trivium {

absl::StatusOr<TokenizeJob> ReadTokenize(const v1::TokenizeRequest& in,
                                         const RequestLimits& limits) {
  if (!in.texts().empty() && !in.pairs().empty()) {
    return InvalidField("pairs", "and texts are both set; set one of them");
  }
  TokenizeJob job;
  job.pairs = !in.pairs().empty();
  TRIVIUM_RETURN_IF_ERROR(
      job.pairs ? CheckInputCount(in.pairs_size(), "pairs", limits)
                : CheckInputCount(in.texts_size(), "texts", limits));
  for (const std::string& text : in.texts()) {
    const std::string path = fmt::format("texts[{}]", job.inputs.size());
    TRIVIUM_RETURN_IF_ERROR(CheckTextBytes(text.size(), path, limits));
    job.inputs.push_back({.text = text, .second = {}, .path = path});
  }
  for (const v1::TextPair& pair : in.pairs()) {
    const std::string path = fmt::format("pairs[{}]", job.inputs.size());
    TRIVIUM_RETURN_IF_ERROR(
        CheckTextBytes(pair.first().size(), path + ".first", limits));
    TRIVIUM_RETURN_IF_ERROR(
        CheckTextBytes(pair.second().size(), path + ".second", limits));
    job.inputs.push_back(
        {.text = pair.first(), .second = pair.second(), .path = path});
  }
  if (job.pairs && in.target()) {
    return InvalidField("target", "is for texts, not for pairs");
  }
  job.side = in.target() ? TextSide::kTarget : TextSide::kSource;
  job.add_special_tokens =
      !in.has_add_special_tokens() || in.add_special_tokens();
  return job;
}

v1::TokenizedText* AddTokens(v1::TokenizeResponse* out) {
  return out->add_results();
}

void AppendTokens(std::span<const Token> tokens, bool types, bool pairs,
                  v1::TokenizedText* out) {
  for (const Token& token : tokens) {
    v1::Token* added = out->add_tokens();
    *added = ConvertToken(token);
    if (types) added->set_type_id(static_cast<uint32_t>(token.type_id));
    if (pairs && token.text_index >= 0) {
      added->set_sequence(static_cast<uint32_t>(token.text_index));
    }
  }
}

int IdCount(const v1::TokenIds& in) { return in.ids_size(); }

absl::StatusOr<std::vector<int32_t>> ReadIds(const v1::TokenIds& in,
                                             const std::string& path,
                                             int vocabulary) {
  return CheckIds(in.ids(), path, vocabulary);
}

std::string* AddText(v1::DetokenizeResponse* out) { return out->add_texts(); }

}  // namespace trivium
