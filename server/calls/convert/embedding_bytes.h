#ifndef TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_BYTES_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_BYTES_H_

#include <cstdint>
#include <vector>

#include "trivium/v1/inference.pb.h"

namespace trivium {

// Puts an embedding into a result in the given format.
void SetEmbedding(const std::vector<float>& embedding,
                  v1::EmbeddingFormat format, v1::EncodeResult* out);

// Returns the half-precision number (IEEE 754 binary16) nearest to `value`; of
// two equally near ones the even one. Too large values become infinite.
uint16_t ToHalf(float value);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_BYTES_H_
