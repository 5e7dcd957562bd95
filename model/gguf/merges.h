#ifndef TRIVIUM_MODEL_GGUF_MERGES_H_
#define TRIVIUM_MODEL_GGUF_MERGES_H_

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace trivium {

// Returns the merges of a BPE vocabulary that has scores of pieces instead:
// every way to split a piece into two others, the best piece's first; with
// equal scores, those with the longest halves first (Transformers'
// generate_merges). `scores` has one score per piece.
std::vector<std::pair<std::string, std::string>> MergesFromScores(
    std::span<const std::string> pieces, std::span<const double> scores);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_MERGES_H_
