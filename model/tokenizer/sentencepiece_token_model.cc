#include "model/tokenizer/sentencepiece_token_model.h"

#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace trivium {

absl::StatusOr<std::unique_ptr<SentencePieceTokenModel>>
SentencePieceTokenModel::Create(std::string_view serialized,
                                const Layout& layout) {
  std::string error;
  std::unique_ptr<SentencePieceModel> model =
      SentencePieceModel::Parse(serialized, &error, layout.without_prefix);
  if (model == nullptr) {
    return absl::InvalidArgumentError(
        fmt::format("it is not a SentencePiece model ({})", error));
  }
  std::vector<std::pair<std::string, int32_t>> entries;
  const auto add = [&entries](const std::string& piece) {
    entries.emplace_back(piece, static_cast<int32_t>(entries.size()));
  };
  for (const std::string& piece : layout.front) add(piece);
  const Vocabulary* given = layout.vocabulary ? &*layout.vocabulary : nullptr;
  const int size = given != nullptr ? given->size() : model->size();
  for (int id = layout.skipped; id < size; ++id) {
    add(given != nullptr ? given->PieceOf(id) : model->PieceOf(id));
  }
  for (const std::string& piece : layout.back) add(piece);
  Vocabulary vocabulary(std::move(entries));
  const int32_t unknown_id = vocabulary.IdOf(layout.unknown);
  if (unknown_id < 0) {
    return absl::InvalidArgumentError(
        fmt::format("it lacks the unknown piece \"{}\"", layout.unknown));
  }
  return std::unique_ptr<SentencePieceTokenModel>(new SentencePieceTokenModel(
      std::move(model), std::move(vocabulary), unknown_id));
}

SentencePieceTokenModel::SentencePieceTokenModel(
    std::unique_ptr<SentencePieceModel> model, Vocabulary vocabulary,
    int32_t unknown_id)
    : model_(std::move(model)),
      vocabulary_(std::move(vocabulary)),
      unknown_id_(unknown_id) {}

void SentencePieceTokenModel::Tokenize(std::string_view word,
                                       std::vector<Piece>* pieces) const {
  for (const SentencePieceModel::Piece& piece : model_->Encode(word)) {
    const int32_t id = vocabulary_.IdOf(piece.text);
    pieces->push_back({id < 0 ? unknown_id_ : id,
                       static_cast<uint32_t>(piece.begin),
                       static_cast<uint32_t>(piece.end)});
  }
}

}  // namespace trivium
