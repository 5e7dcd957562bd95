#ifndef TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_TOKEN_MODEL_H_
#define TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_TOKEN_MODEL_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/tokenizer/sentencepiece_model.h"
#include "model/tokenizer/token_model.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {

// A SentencePiece file as a model of the pipeline: the library normalizes and
// cuts whole texts. Families that come from fairseq number the pieces
// differently from the file.
class SentencePieceTokenModel : public TokenModel {
 public:
  struct Layout {
    // Pieces with the first ids; they replace the file's first `skipped`
    // pieces.
    std::vector<std::string> front = {};
    int skipped = 0;
    // Pieces after the file's last one.
    std::vector<std::string> back = {};
    std::string unknown = "<unk>";
    // Put no space in front of texts, whatever the file says.
    bool without_prefix = false;
    // Replaces the file's pieces; pieces that it lacks are unknown.
    std::optional<Vocabulary> vocabulary = std::nullopt;
  };

  // `serialized` is the contents of the file.
  static absl::StatusOr<std::unique_ptr<SentencePieceTokenModel>> Create(
      std::string_view serialized, const Layout& layout);

  void Tokenize(std::string_view word,
                std::vector<Piece>* pieces) const override;
  int size() const override { return vocabulary_.size(); }
  int count() const override { return vocabulary_.count(); }
  int32_t IdOf(std::string_view piece) const override {
    return vocabulary_.IdOf(piece);
  }
  int32_t unknown_id() const override { return unknown_id_; }
  const std::string& PieceOf(int32_t id) const override {
    return vocabulary_.PieceOf(id);
  }
  bool adds_prefix() const { return model_->adds_prefix(); }
  bool byte_fallback() const { return vocabulary_.IdOf("<0x00>") >= 0; }

 private:
  SentencePieceTokenModel(std::unique_ptr<SentencePieceModel> model,
                          Vocabulary vocabulary, int32_t unknown_id);

  const std::unique_ptr<SentencePieceModel> model_;
  const Vocabulary vocabulary_;
  const int32_t unknown_id_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_TOKEN_MODEL_H_
