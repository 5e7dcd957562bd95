#include "model/shortlist_file.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/lexical_shortlist.h"
#include "model/weights/mapped_file.h"
#include "model/weights/safetensors.h"

namespace trivium {
namespace {

constexpr char kFile[] = "shortlist.safetensors";
constexpr char kRemake[] = "make a new one for this model";

// Reads the one-dimensional tensor `name` as values of T.
template <typename T>
absl::StatusOr<std::vector<T>> ReadTensor(const TensorFile& file,
                                          std::string_view name, DType dtype) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) {
    return absl::InvalidArgumentError(
        fmt::format("has no tensor {}; {}", name, kRemake));
  }
  const TensorView& tensor = found->second;
  if (tensor.dtype != dtype || tensor.shape.size() != 1) {
    return absl::InvalidArgumentError(fmt::format(
        "tensor {} is {} [{}] and must be {} with one dimension; {}", name,
        std::string(DTypeName(tensor.dtype)), fmt::join(tensor.shape, ", "),
        std::string(DTypeName(dtype)), kRemake));
  }
  std::vector<T> values(static_cast<size_t>(tensor.shape[0]));
  // An empty vector's data may be null.
  if (!values.empty()) {
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  }
  return values;
}

absl::StatusOr<ShortlistFile> ReadTensors(std::span<const std::byte> bytes) {
  TRIVIUM_ASSIGN_OR_RETURN(const TensorFile file, ReadSafetensors(bytes));
  ShortlistFile shortlist;
  Shortlist::Table& table = shortlist.table;
  TRIVIUM_ASSIGN_OR_RETURN(table.offsets,
                           ReadTensor<int32_t>(file, "offsets", DType::kI32));
  TRIVIUM_ASSIGN_OR_RETURN(table.targets,
                           ReadTensor<int32_t>(file, "targets", DType::kI32));
  TRIVIUM_ASSIGN_OR_RETURN(table.always,
                           ReadTensor<int32_t>(file, "always", DType::kI32));
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<char> pieces,
                           ReadTensor<char>(file, "pieces", DType::kU8));
  shortlist.pieces.assign(pieces.begin(), pieces.end());
  return shortlist;
}

std::vector<std::string> Pieces(const Tokenizer& tokenizer, TextSide side) {
  std::vector<std::string> pieces(tokenizer.vocabulary_size(side));
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i] = tokenizer.IdToPiece(static_cast<int32_t>(i), side);
  }
  return pieces;
}

// False for vocabularies of the same sizes but other pieces, with which the
// table would be wrong without any error.
bool MadeFor(const ShortlistFile& file, const Tokenizer& tokenizer) {
  return file.pieces == PiecesDigest(Pieces(tokenizer, TextSide::kSource),
                                     Pieces(tokenizer, TextSide::kTarget));
}

absl::StatusOr<Shortlist::Table> ReadOwnTable(const std::string& path,
                                              const ModelFolder& folder) {
  absl::StatusOr<ShortlistFile> file = ReadShortlistFile(path);
  if (absl::IsNotFound(file.status())) {
    return absl::NotFoundError(
        path +
        ": no such file; make one with model/embedded/training/shortlist, or "
        "serve without --vocabulary-shortlist");
  }
  if (!file.ok()) return file.status();
  if (folder.tokenizer != nullptr && !MadeFor(*file, *folder.tokenizer)) {
    return absl::InvalidArgumentError(
        path +
        ": was made for other vocabularies than this folder's; make a new one "
        "with model/embedded/training/shortlist");
  }
  return std::move(file->table);
}

absl::StatusOr<Shortlist::Table> ReadTable(const std::string& path,
                                           const ModelFolder& folder) {
  if (folder.lexical_shortlist.empty()) {
    return ReadOwnTable(path, folder);
  }
  const auto pieces = [&folder](TextSide side) {
    return folder.tokenizer->vocabulary_size(side);
  };
  TRIVIUM_ASSIGN_OR_RETURN(
      Shortlist::Table table,
      ReadLexicalShortlist(
          path, {pieces(TextSide::kSource), pieces(TextSide::kTarget),
                 folder.shared_vocabulary}));
  // Embeddings without a piece have empty lists.
  const int embeddings = folder.description.encoder->vocabulary;
  table.offsets.resize(embeddings + 1, table.offsets.back());
  return table;
}

void AddTo(Digest* digest, const std::vector<int32_t>& values) {
  digest->Add(std::as_bytes(std::span(values)));
}

}  // namespace

absl::StatusOr<ShortlistFile> ReadShortlistFile(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(const auto mapped, MappedFile::Open(path));
  absl::StatusOr<ShortlistFile> file = ReadTensors(mapped->bytes());
  TRIVIUM_RETURN_IF_ERROR(mapped->CheckUnchanged());
  if (file.ok()) return file;
  return absl::InvalidArgumentError(
      fmt::format("{}: {}", path, std::string(file.status().message())));
}

std::string PiecesDigest(std::span<const std::string> source,
                         std::span<const std::string> target) {
  Digest digest;
  for (const std::span<const std::string> pieces : {source, target}) {
    digest.Add(static_cast<uint64_t>(pieces.size()));
    for (const std::string& piece : pieces) digest.Add(piece);
  }
  return digest.Hex();
}

void ReadShortlist(const std::string& path, Problems* problems,
                   ModelFolder* folder, Digest* digest) {
  const std::string& lexical = folder->lexical_shortlist;
  const std::string name =
      lexical.empty() ? fmt::format("{}/{}", path, kFile) : lexical;
  const auto report = [&](const std::string& what) {
    problems->push_back(fmt::format("{}: {}", name, what));
  };
  TransformerDescription& description = folder->description;
  if (!description.encoder || !description.decoder) {
    report(
        "a vocabulary shortlist is for models with encoder and decoder; serve "
        "this one without --vocabulary-shortlist");
    return;
  }
  const absl::StatusOr<Shortlist::Table> read = ReadTable(name, *folder);
  if (!read.ok()) {
    problems->push_back(std::string(read.status().message()));
    return;
  }
  const Shortlist::Table& table = *read;
  const int source = description.encoder->vocabulary;
  const int target = description.decoder->vocabulary;
  const std::vector<int32_t>& end_ids = folder->generation.options.end_ids;
  absl::StatusOr<std::shared_ptr<const Shortlist>> shortlist =
      Shortlist::Create(table, end_ids, source, target,
                        Shortlist::DefaultMost(target));
  if (!shortlist.ok()) {
    report(std::string(shortlist.status().message()));
    return;
  }
  description.shortlist = *std::move(shortlist);
  AddTo(digest, table.offsets);
  AddTo(digest, table.targets);
  AddTo(digest, table.always);
  AddTo(digest, end_ids);
}

}  // namespace trivium
