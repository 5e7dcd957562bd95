#ifndef TRIVIUM_SERVER_CALLS_CONVERT_TOKENIZE_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_TOKENIZE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/convert/input_fields.h"

namespace trivium {

// A TokenizeRequest, ready to use. The request outlives this.
struct TokenizeJob {
  struct Input {
    std::string_view text;    // of a pair: the first one
    std::string_view second;  // only of a pair
    std::string path;         // the input's field, "texts[3]"
  };
  std::vector<Input> inputs;
  bool pairs = false;  // each input is a pair
  TextSide side = TextSide::kSource;
  bool add_special_tokens = true;
};

absl::StatusOr<TokenizeJob> ReadTokenize(const v1::TokenizeRequest& in,
                                         const RequestLimits& limits);

// Returns the next input's tokens, still empty.
v1::TokenizedText* AddTokens(v1::TokenizeResponse* out);
// Appends tokens. Says their types if the model has types, and of which text of
// a pair they are.
void AppendTokens(std::span<const Token> tokens, bool types, bool pairs,
                  v1::TokenizedText* out);

// Returns the number of ids.
int IdCount(const v1::TokenIds& in);
// Returns the ids; INVALID_ARGUMENT if one is not in the vocabulary.
absl::StatusOr<std::vector<int32_t>> ReadIds(const v1::TokenIds& in,
                                             const std::string& path,
                                             int vocabulary);
// Adds the text of the next ids, still empty.
std::string* AddText(v1::DetokenizeResponse* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_TOKENIZE_H_
