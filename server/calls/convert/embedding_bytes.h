#ifndef TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_BYTES_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_BYTES_H_

#include <cstdint>
#include <vector>

#include "trivium/v1/inference.pb.h"

namespace trivium {

// Puts an embedding into a result as the format says.
void SetEmbedding(const std::vector<float>& embedding,
                  v1::EmbeddingFormat format, v1::EncodeResult* out);

// The half-precision number (IEEE 754 binary16) nearest to `value`, of two the
// even one; what is too large is infinite.
uint16_t ToHalf(float value);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_BYTES_H_
