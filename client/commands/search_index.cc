#include "client/commands/search_index.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "nlohmann/json.hpp"

namespace trivium {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kFormat[] = "trivium search index 2";

nlohmann::json ToJson(const SearchIndex::Header& header) {
  return {{"format", kFormat},
          {"model", header.model},
          {"revision", header.revision},
          {"kind", static_cast<int>(header.kind)}};
}

// Takes bytes with their size before them from the front of `bytes`.
std::optional<std::string_view> TakeSized(std::string_view* bytes) {
  uint32_t size;
  if (bytes->size() < sizeof(size)) return std::nullopt;
  std::memcpy(&size, bytes->data(), sizeof(size));
  bytes->remove_prefix(sizeof(size));
  if (bytes->size() < size) return std::nullopt;
  const std::string_view taken = bytes->substr(0, size);
  bytes->remove_prefix(size);
  return taken;
}

void AppendSized(std::string_view some, std::string* bytes) {
  const auto size = static_cast<uint32_t>(some.size());
  bytes->append(reinterpret_cast<const char*>(&size), sizeof(size));
  *bytes += some;
}

}  // namespace

std::optional<SearchIndex> SearchIndex::Parse(std::string_view bytes,
                                              const Header& header) {
  const size_t end = bytes.find('\n');
  if (end == bytes.npos) return std::nullopt;
  const auto json = nlohmann::json::parse(bytes.substr(0, end), nullptr,
                                          /*allow_exceptions=*/false);
  if (json != ToJson(header)) return std::nullopt;
  bytes.remove_prefix(end + 1);
  SearchIndex index(header);
  while (!bytes.empty()) {
    const auto text = TakeSized(&bytes);
    const auto encoded = text ? TakeSized(&bytes) : std::nullopt;
    v1::EncodeResult result;
    if (!encoded || !result.ParseFromString(std::string(*encoded)) ||
        KindOf(result) != header.kind) {
      return std::nullopt;
    }
    index.Add(std::string(*text), std::move(result));
  }
  return index;
}

std::string SearchIndex::ToBytes() const {
  std::string bytes = ToJson(header_).dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  bytes += '\n';
  for (const auto& [text, embedding] : embeddings_) {
    AppendSized(text, &bytes);
    AppendSized(embedding.SerializeAsString(), &bytes);
  }
  return bytes;
}

const v1::EncodeResult* SearchIndex::Find(std::string_view text) const {
  const auto found = embeddings_.find(text);
  return found == embeddings_.end() ? nullptr : &found->second;
}

void SearchIndex::Add(std::string text, v1::EncodeResult encoded) {
  v1::EncodeResult kept;
  switch (header_.kind) {
    case EmbeddingKind::kDense:
      kept.mutable_embedding()->Swap(encoded.mutable_embedding());
      break;
    case EmbeddingKind::kSparse:
      kept.mutable_sparse()->Swap(encoded.mutable_sparse());
      break;
    case EmbeddingKind::kMultiVector:
      kept.mutable_multi_vector()->Swap(encoded.mutable_multi_vector());
      break;
  }
  embeddings_.insert_or_assign(std::move(text), std::move(kept));
}

void SearchIndex::KeepOnly(const std::set<std::string_view>& texts) {
  std::erase_if(embeddings_, [&](const auto& entry) {
    return !texts.contains(entry.first);
  });
}

}  // namespace trivium
