#include "client/commands/search_index.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "nlohmann/json.hpp"

namespace trivium {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kFormat[] = "trivium search index 1";

nlohmann::json ToJson(const SearchIndex::Header& header) {
  return {{"format", kFormat},
          {"model", header.model},
          {"revision", header.revision},
          {"dimensions", header.dimensions}};
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
  const size_t row = sizeof(float) * static_cast<size_t>(header.dimensions);
  while (!bytes.empty()) {
    uint32_t size;
    if (bytes.size() < sizeof(size)) return std::nullopt;
    std::memcpy(&size, bytes.data(), sizeof(size));
    bytes.remove_prefix(sizeof(size));
    if (bytes.size() < size || bytes.size() - size < row) return std::nullopt;
    std::vector<float> embedding(header.dimensions);
    std::memcpy(embedding.data(), bytes.data() + size, row);
    index.Add(std::string(bytes.substr(0, size)), embedding);
    bytes.remove_prefix(size + row);
  }
  return index;
}

std::string SearchIndex::ToBytes() const {
  std::string bytes = ToJson(header_).dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  bytes += '\n';
  for (const auto& [text, embedding] : embeddings_) {
    const auto size = static_cast<uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes += text;
    bytes.append(reinterpret_cast<const char*>(embedding.data()),
                 sizeof(float) * embedding.size());
  }
  return bytes;
}

const std::vector<float>* SearchIndex::Find(std::string_view text) const {
  const auto found = embeddings_.find(text);
  return found == embeddings_.end() ? nullptr : &found->second;
}

void SearchIndex::Add(std::string text, std::span<const float> embedding) {
  embeddings_.insert_or_assign(
      std::move(text), std::vector<float>(embedding.begin(), embedding.end()));
}

void SearchIndex::KeepOnly(const std::set<std::string_view>& texts) {
  std::erase_if(embeddings_, [&](const auto& entry) {
    return !texts.contains(entry.first);
  });
}

}  // namespace trivium
