#ifndef TRIVIUM_SERVER_CALLS_CONVERT_CHUNKS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_CHUNKS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/translation/pipeline/model_input.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The tokens of a part of a text, [begin, end) of those that the model reads.
struct ChunkTokens {
  int begin = 0;
  int end = 0;  // begin, if the model reads none of the part
  bool truncated = false;
};

// Finds the tokens of each span of `text`, which became `input`, with its
// tokens. INVALID_ARGUMENT names a span that is empty, reversed, beyond the
// text, cut within a character, or without any token, as `path`.spans[2].
absl::StatusOr<std::vector<ChunkTokens>> PlaceChunks(
    const v1::Chunks& in, const std::string& path, std::string_view text,
    const PreparedInput& input);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_CHUNKS_H_
