#ifndef TRIVIUM_MODEL_TOKENIZER_UNIGRAM_MODEL_H_
#define TRIVIUM_MODEL_TOKENIZER_UNIGRAM_MODEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/tokenizer/piece_trie.h"
#include "model/tokenizer/token_model.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {

// SentencePiece's unigram model (Kudo, 2018). Of all ways to cut a text into
// pieces it chooses the one with the largest sum of scores (log-probabilities),
// by Viterbi's algorithm. A character that is no piece is unknown and scores
// worse than every piece; neighbouring unknown characters become one piece.
class UnigramModel : public TokenModel {
 public:
  struct Options {
    int32_t unknown_id = -1;     // -1: unknown characters are left out
    bool byte_fallback = false;  // unknown characters become "<0xE2>" pieces
  };

  // A piece's id is its position in `pieces`.
  static absl::StatusOr<std::unique_ptr<UnigramModel>> Create(
      std::vector<std::pair<std::string, double>> pieces,
      const Options& options);

  void Tokenize(std::string_view word,
                std::vector<Piece>* pieces) const override;
  int size() const override { return vocabulary_.size(); }
  int count() const override { return vocabulary_.size(); }
  int32_t IdOf(std::string_view piece) const override {
    return vocabulary_.IdOf(piece);
  }
  int32_t unknown_id() const override { return options_.unknown_id; }
  const std::string& PieceOf(int32_t id) const override {
    return vocabulary_.PieceOf(id);
  }

 private:
  UnigramModel(Vocabulary vocabulary, std::vector<double> scores,
               const Options& options);

  // Appends the pieces for the unknown characters word[begin, end).
  void AppendUnknown(std::string_view word, uint32_t begin, uint32_t end,
                     std::vector<Piece>* pieces) const;

  const Vocabulary vocabulary_;
  const std::vector<double> scores_;  // [id]
  const Options options_;
  const PieceTrie trie_;
  double unknown_score_ = 0;
  std::array<int32_t, 256> byte_ids_;  // ids of "<0x00>" ...
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_UNIGRAM_MODEL_H_
