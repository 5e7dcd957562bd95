#ifndef TRIVIUM_MODEL_TOKENIZER_VOCABULARY_H_
#define TRIVIUM_MODEL_TOKENIZER_VOCABULARY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace trivium {

// Hashes strings that come from a file. The hash differs from process to
// process, so that no file can be made to collide. (Abseil does this for its
// own string_view; for the standard's it may use std::hash, whose seed is
// known.)
struct PieceHash {
  using is_transparent = void;
  size_t operator()(std::string_view piece) const {
    return absl::HashOf(absl::string_view(piece.data(), piece.size()));
  }
};

// Pieces and their ids.
class Vocabulary {
 public:
  // Reads a vocab.json: {"piece": id, ...}.
  static absl::StatusOr<Vocabulary> Load(const std::string& path);
  // Reads a vocab.txt: one piece on each line, ids from 0.
  static absl::StatusOr<Vocabulary> LoadLines(const std::string& path);
  // Ids are below MostIds(); if a piece occurs twice, its last id counts.
  explicit Vocabulary(std::vector<std::pair<std::string, int32_t>> entries);
  Vocabulary() = default;

  // Above any published vocabulary (XLM-V's has 901,629 pieces). A larger id
  // means a broken file, for which no table must be made.
  static constexpr int64_t MostIds() { return 1 << 20; }

  // One more than the largest id.
  int size() const { return static_cast<int>(pieces_.size()); }
  // Number of pieces that have an id.
  int count() const { return static_cast<int>(ids_.size()); }
  // Returns -1 if there is no such piece.
  int32_t IdOf(std::string_view piece) const;
  // Returns an empty string if there is no such id.
  const std::string& PieceOf(int32_t id) const;

 private:
  std::unordered_map<std::string, int32_t, PieceHash, std::equal_to<>> ids_;
  std::vector<std::string> pieces_;  // [id]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_VOCABULARY_H_
