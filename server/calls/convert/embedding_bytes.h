#ifndef TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_BYTES_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_BYTES_H_

#include <cstdint>
#include <vector>

#include "model/multi_vectors.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Puts the embedding of a text, or of a part of one, into its message in the
// given format.
void SetEmbedding(const std::vector<float>& embedding,
                  v1::EmbeddingFormat format, v1::EncodeResult* out);
void SetEmbedding(const std::vector<float>& embedding,
                  v1::EmbeddingFormat format, v1::Chunk* out);

// The same for the vectors of a text; with their positions, if asked for.
void SetMultiVector(const VectorRows& rows, v1::EmbeddingFormat format,
                    bool positions, v1::MultiVector* out);
// Returns the bytes of `count` vectors of `size` values in a message.
int64_t MultiVectorBytes(int64_t count, int64_t size,
                         v1::EmbeddingFormat format);

// Returns the half-precision number (IEEE 754 binary16) nearest to `value`; of
// two equally near ones the even one. Too large values become infinite.
uint16_t ToHalf(float value);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_BYTES_H_
