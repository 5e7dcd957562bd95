#ifndef TRIVIUM_MODEL_GGUF_MERGES_H_
#define TRIVIUM_MODEL_GGUF_MERGES_H_

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace trivium {

// The merges of a BPE whose file has scores of pieces instead: each way to cut
// a piece into two others, the best piece's first; of one score, those with the
// longest halves first (Transformers' generate_merges). `scores` are the
// pieces', as many.
std::vector<std::pair<std::string, std::string>> MergesFromScores(
    std::span<const std::string> pieces, std::span<const double> scores);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_MERGES_H_
