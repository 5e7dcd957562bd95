#include "server/adapters/openai_logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/utf8.h"

namespace trivium {

using nlohmann::ordered_json;

namespace {

std::string Escaped(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(text), "\\x{:02x}",
                   static_cast<uint8_t>(byte));
  }
  return text;
}

std::string TextOf(const std::string& bytes, const char* before) {
  return IsUtf8(bytes) ? bytes : before + Escaped(bytes);
}

}  // namespace

OpenAiLogprobs::OpenAiLogprobs(const Tokenizer* tokenizer, int shown)
    : shown_(shown) {
  if (tokenizer != nullptr) bytes_.emplace(*tokenizer);
}

ordered_json OpenAiLogprobs::OfChat(
    std::span<const v1::TokenLogprobs> tokens) const {
  ordered_json content = ordered_json::array();
  for (const v1::TokenLogprobs& token : tokens) {
    ordered_json one = ChatEntry(token.token());
    one["top_logprobs"] = ordered_json::array();
    for (int k = 0; k < Shown(token); ++k) {
      one["top_logprobs"].push_back(ChatEntry(token.alternatives(k)));
    }
    content.push_back(one);
  }
  return {{"content", content}, {"refusal", nullptr}};
}

ordered_json OpenAiLogprobs::OfText(std::optional<int32_t> first,
                                    std::span<const v1::TokenLogprobs> tokens,
                                    Place* place) const {
  ordered_json out = {{"tokens", ordered_json::array()},
                      {"token_logprobs", ordered_json::array()},
                      {"top_logprobs", nullptr},
                      {"text_offset", ordered_json::array()}};
  if (shown_ > 0) out["top_logprobs"] = ordered_json::array();
  // True for the alternatives of the last added token.
  bool drops_space = false;
  const auto text_of = [&drops_space](TokenBytes::Bytes token) {
    if (drops_space && token.bytes.starts_with(' ')) token.bytes.erase(0, 1);
    return token.bytes;
  };
  const auto add = [&](const TokenBytes::Bytes& token) {
    drops_space = !token.special && std::exchange(place->drops_space, false);
    const std::string bytes = text_of(token);
    out["tokens"].push_back(TextOf(bytes, "bytes:"));
    out["text_offset"].push_back(place->characters);
    if (!token.special) place->characters += CountCharacters(bytes);
  };
  if (first) {
    v1::TokenLogprob token;
    token.set_id(static_cast<uint32_t>(*first));
    add(BytesOf(token));
    out["token_logprobs"].push_back(nullptr);
    if (shown_ > 0) out["top_logprobs"].push_back(nullptr);
  }
  for (const v1::TokenLogprobs& token : tokens) {
    add(BytesOf(token.token()));
    out["token_logprobs"].push_back(token.token().logprob());
    if (shown_ == 0) continue;
    ordered_json best = ordered_json::object();
    for (int k = 0; k < Shown(token); ++k) {
      const v1::TokenLogprob& one = token.alternatives(k);
      best[TextOf(text_of(BytesOf(one)), "bytes:")] = one.logprob();
    }
    out["top_logprobs"].push_back(best);
  }
  return out;
}

ordered_json OpenAiLogprobs::OfPrompt(
    std::span<const v1::TokenLogprobs> tokens) const {
  ordered_json all = ordered_json::array({nullptr});
  for (const v1::TokenLogprobs& token : tokens) {
    int rank = 0;
    for (int k = token.alternatives_size(); k > 0; --k) {
      if (token.alternatives(k - 1).id() == token.token().id()) rank = k;
    }
    ordered_json entries = ordered_json::object();
    entries[fmt::to_string(token.token().id())] =
        PromptEntry(token.token(), rank);
    for (int k = 0; k < Shown(token); ++k) {
      const v1::TokenLogprob& one = token.alternatives(k);
      entries[fmt::to_string(one.id())] = PromptEntry(one, k + 1);
    }
    all.push_back(std::move(entries));
  }
  return all;
}

ordered_json OpenAiLogprobs::PromptEntry(const v1::TokenLogprob& token,
                                         int rank) const {
  return {{"logprob", token.logprob()},
          {"rank", rank == 0 ? ordered_json() : ordered_json(rank)},
          {"decoded_token", TextOf(BytesOf(token).bytes, "")}};
}

TokenBytes::Bytes OpenAiLogprobs::BytesOf(const v1::TokenLogprob& token) const {
  if (!bytes_) return {token.piece()};
  return bytes_->Of(static_cast<int32_t>(token.id()));
}

int OpenAiLogprobs::Shown(const v1::TokenLogprobs& token) const {
  return std::min(shown_, token.alternatives_size());
}

ordered_json OpenAiLogprobs::ChatEntry(const v1::TokenLogprob& token) const {
  const std::string bytes = BytesOf(token).bytes;
  ordered_json numbers = ordered_json::array();
  for (const char byte : bytes) numbers.push_back(static_cast<uint8_t>(byte));
  return {{"token", TextOf(bytes, "")},
          {"logprob", token.logprob()},
          {"bytes", numbers}};
}

}  // namespace trivium
