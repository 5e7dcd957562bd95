#ifndef TRIVIUM_MODEL_GGUF_GGUF_TOKENIZER_H_
#define TRIVIUM_MODEL_GGUF_GGUF_TOKENIZER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Returns the tokenizer.json that corresponds to a GGUF file's metadata, for
// the kinds "gpt2" (byte-level BPE, whose words tokenizer.ggml.pre names),
// "llama" (SentencePiece's BPE with bytes for unknown characters), "bert"
// (WordPiece) and "t5" (SentencePiece's unigram model). Returns null if the
// file has no tokenizer, or one of the kind "none", as files for ids alone
// have. UNIMPLEMENTED names an unsupported kind, INVALID_ARGUMENT what is
// broken.
absl::StatusOr<nlohmann::json> GgufTokenizerJson(const nlohmann::json& metadata,
                                                 std::string_view architecture);

// A key of GgufTokenizerConfig: the token that a chat begins with, also where
// its template writes none, as in llama.cpp.
inline constexpr char kChatsBeginWith[] = "chats_begin_with";

// Returns tokenizer_config.json: special tokens by their roles, the chat
// template, and under kChatsBeginWith the begin token, if the metadata adds one
// to every prompt (add_bos_token).
nlohmann::json GgufTokenizerConfig(const nlohmann::json& metadata);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_GGUF_TOKENIZER_H_
