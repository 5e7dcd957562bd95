#ifndef TRIVIUM_SERVER_CALLS_CONVERT_HEAD_TRACE_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_HEAD_TRACE_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "server/calls/convert/convert.h"

namespace trivium {

// Reads the field `path`, which asks for a head of the model's decoder or
// encoder. INVALID_ARGUMENT says which heads there are, or why the model's
// cannot be told.
absl::StatusOr<HeadChoice> ConvertHeadChoice(const v1::HeadTraceOptions& in,
                                             const std::string& path,
                                             bool decoder, const Model& model);

// INVALID_ARGUMENT about `path` if a trace would have more tokens than one may
// have.
absl::Status CheckTracedTokens(int64_t tokens, const std::string& path,
                               const char* advice);

// About how many bytes a trace has on the wire.
int64_t HeadTraceBytes(int64_t queries, int64_t keys, const ModelInfo& info,
                       bool decoder);

// The tokens of a trace. Pieces are left out if there is no tokenizer.
struct TracedTokens {
  std::span<const int32_t> queries, keys;
  const Tokenizer* tokenizer;
  TextSide query_side, key_side;
};
v1::HeadTrace ConvertHeadTrace(const HeadTrace& in, const TracedTokens& tokens);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_HEAD_TRACE_H_
