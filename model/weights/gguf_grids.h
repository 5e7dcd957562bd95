#ifndef TRIVIUM_MODEL_WEIGHTS_GGUF_GRIDS_H_
#define TRIVIUM_MODEL_WEIGHTS_GGUF_GRIDS_H_

#include <cstdint>

namespace trivium {

// The codebooks of GGUF's types of one to three bits: a few points of four or
// eight elements, which a block names by their numbers. They are those of
// llama.cpp's ggml-common.h, in the dense form of PyPI's `gguf`.
extern const uint16_t kIq2XxsGrid[256];
extern const uint16_t kIq2XsGrid[512];
extern const uint16_t kIq2SGrid[1024];
extern const uint16_t kIq3XxsGrid[256];
extern const uint16_t kIq3SGrid[512];
extern const uint16_t kIq1Grid[2048];  // of IQ1_S and IQ1_M

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_GGUF_GRIDS_H_
