#ifndef TRIVIUM_MODEL_TOKENIZER_WORDPIECE_MODEL_H_
#define TRIVIUM_MODEL_TOKENIZER_WORDPIECE_MODEL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/tokenizer/token_model.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {

// BERT's WordPiece: takes the longest piece of the vocabulary with which the
// rest of a word begins, again and again. If that fails, the whole word is
// unknown.
class WordPieceModel : public TokenModel {
 public:
  struct Options {
    std::string unknown = "[UNK]";
    std::string continuing_prefix = "##";  // before pieces inside a word
    size_t max_word_characters = 100;      // a longer word is unknown
  };

  // INVALID_ARGUMENT if the vocabulary lacks the unknown piece.
  static absl::StatusOr<std::unique_ptr<WordPieceModel>> Create(
      Vocabulary vocabulary, const Options& options);

  void Tokenize(std::string_view word,
                std::vector<Piece>* pieces) const override;
  int size() const override { return vocabulary_.size(); }
  int count() const override { return vocabulary_.count(); }
  int32_t IdOf(std::string_view piece) const override {
    return vocabulary_.IdOf(piece);
  }
  bool marks_pieces_inside_words() const override {
    return !options_.continuing_prefix.empty();
  }
  int32_t unknown_id() const override { return unknown_id_; }
  const std::string& PieceOf(int32_t id) const override {
    return vocabulary_.PieceOf(id);
  }

 private:
  WordPieceModel(Vocabulary vocabulary, const Options& options);

  const Vocabulary vocabulary_;
  const Options options_;
  int32_t unknown_id_;
  size_t longest_piece_ = 0;  // bytes
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_WORDPIECE_MODEL_H_
