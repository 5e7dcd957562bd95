#include "model/shortlist_file.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "model/transformer/shortlist.h"

namespace trivium {
namespace {

constexpr char kFile[] = "shortlist.safetensors";

std::vector<std::string> Pieces(const Tokenizer& tokenizer, TextSide side) {
  std::vector<std::string> pieces(tokenizer.vocabulary_size(side));
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i] = tokenizer.IdToPiece(static_cast<int32_t>(i), side);
  }
  return pieces;
}

// A table of other vocabularies of the same sizes would be quietly wrong.
bool MadeFor(const Shortlist::Table& table, const Tokenizer& tokenizer) {
  return table.pieces ==
         Shortlist::PiecesDigest(Pieces(tokenizer, TextSide::kSource),
                                 Pieces(tokenizer, TextSide::kTarget));
}

void AddTo(Digest* digest, const std::vector<int32_t>& values) {
  digest->Add(std::as_bytes(std::span(values)));
}

}  // namespace

void ReadShortlist(const std::string& path, Problems* problems,
                   ModelFolder* folder, Digest* digest) {
  const auto report = [&](const std::string& what) {
    problems->push_back(fmt::format("{}/{}: {}", path, kFile, what));
  };
  TransformerDescription& description = folder->description;
  if (!description.encoder || !description.decoder) {
    report(
        "a vocabulary shortlist is for models with encoder and decoder; serve "
        "this one without --vocabulary-shortlist");
    return;
  }
  absl::StatusOr<Shortlist::Table> table =
      Shortlist::Read(fmt::format("{}/{}", path, kFile));
  if (absl::IsNotFound(table.status())) {
    report(
        "no such file; make one with model/embedded/training/shortlist, or "
        "serve without --vocabulary-shortlist");
    return;
  }
  if (!table.ok()) {
    problems->push_back(std::string(table.status().message()));
    return;
  }
  if (folder->tokenizer != nullptr && !MadeFor(*table, *folder->tokenizer)) {
    report(
        "was made for other vocabularies than this folder's; make it anew with "
        "model/embedded/training/shortlist");
    return;
  }
  const int source = description.encoder->vocabulary;
  const int target = description.decoder->vocabulary;
  const std::vector<int32_t>& end_ids = folder->generation.options.end_ids;
  absl::StatusOr<std::shared_ptr<const Shortlist>> shortlist =
      Shortlist::Create(*table, end_ids, source, target,
                        Shortlist::MostOf(target));
  if (!shortlist.ok()) {
    report(std::string(shortlist.status().message()));
    return;
  }
  description.shortlist = *std::move(shortlist);
  AddTo(digest, table->offsets);
  AddTo(digest, table->targets);
  AddTo(digest, table->always);
  AddTo(digest, end_ids);
}

}  // namespace trivium
