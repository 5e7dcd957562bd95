#include "model/lexical_shortlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/weights/mapped_file.h"

namespace trivium {
namespace {

constexpr uint64_t kMagic = 0xF11A48D5013417F5;

struct ShortlistHeader {
  uint64_t magic, checksum, always, most_targets, offsets, targets;
};

absl::Status BrokenShortlist(const std::string& what) {
  return absl::InvalidArgumentError(what + "; fetch the file again");
}

template <class T>
std::vector<T> CopyValues(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) {
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  }
  return values;
}

absl::StatusOr<Shortlist::Table> ParseShortlist(
    std::span<const std::byte> bytes,
    const ShortlistVocabularies& vocabularies) {
  ShortlistHeader header;
  if (bytes.size() < sizeof(header))
    return BrokenShortlist("ends within its header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kMagic) {
    return absl::InvalidArgumentError(
        "does not begin as Marian's binary shortlists do; make one with "
        "marian-conv --shortlist");
  }
  bytes = bytes.subspan(sizeof(header));
  const size_t size = bytes.size();
  if (header.offsets > size / sizeof(uint64_t) ||
      header.targets != (size - header.offsets * sizeof(uint64_t)) / 4 ||
      size % 4 != 0) {
    return BrokenShortlist(
        fmt::format("has {} bytes behind its header, not those of {} "
                    "offsets and {} targets",
                    size, header.offsets, header.targets));
  }
  const auto source = static_cast<size_t>(vocabularies.source);
  if (header.offsets != source + 1) {
    return absl::InvalidArgumentError(
        fmt::format("has {} offsets, but a source vocabulary of {} needs {}; "
                    "take both from the same model",
                    header.offsets, source, source + 1));
  }
  const size_t targets_at = header.offsets * sizeof(uint64_t);
  const auto offsets = CopyValues<uint64_t>(bytes.first(targets_at));
  const auto targets = CopyValues<int32_t>(bytes.subspan(targets_at));
  if (offsets.front() != 0 || offsets.back() != targets.size() ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    return BrokenShortlist(
        fmt::format("has offsets that do not ascend from 0 to its "
                    "{} targets",
                    targets.size()));
  }
  Shortlist::Table table;
  table.always.resize(std::min<uint64_t>(header.always, vocabularies.target));
  std::iota(table.always.begin(), table.always.end(), 0);
  table.fill_from = static_cast<int32_t>(table.always.size());
  table.offsets.push_back(0);
  for (size_t token = 0; token < source; ++token) {
    std::vector<int32_t> own(targets.begin() + offsets[token],
                             targets.begin() + offsets[token + 1]);
    if (vocabularies.shared) own.push_back(static_cast<int32_t>(token));
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    table.targets.insert(table.targets.end(), own.begin(), own.end());
    table.offsets.push_back(static_cast<int32_t>(table.targets.size()));
  }
  return table;
}

}  // namespace

absl::StatusOr<Shortlist::Table> ReadLexicalShortlist(
    const std::string& path, const ShortlistVocabularies& vocabularies) {
  TRIVIUM_ASSIGN_OR_RETURN(const auto mapped, MappedFile::Open(path));
  absl::StatusOr<Shortlist::Table> table =
      ParseShortlist(mapped->bytes(), vocabularies);
  TRIVIUM_RETURN_IF_ERROR(mapped->CheckUnchanged());
  if (table.ok()) return table;
  return absl::InvalidArgumentError(
      fmt::format("{}: {}", path, std::string(table.status().message())));
}

}  // namespace trivium
