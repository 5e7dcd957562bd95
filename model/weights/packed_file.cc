#include "model/weights/packed_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "base/status.h"
#include "model/weights/packed_hash.h"
#include "model/weights/packed_layout.h"

namespace trivium {
namespace {

absl::Status Spoiled(std::string_view what) {
  return absl::InvalidArgumentError(std::string(what));
}

}  // namespace

PackedFile::Key PackedFile::Key::Of(std::string_view text) {
  Key key;
  HashOfText(text, &key.high, &key.low);
  return key;
}

std::string PackedFile::Key::Hex() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

absl::StatusOr<std::shared_ptr<const PackedFile>> PackedFile::Open(
    const std::string& path, const Key& key) {
  TRIVIUM_ASSIGN_OR_RETURN(auto mapped, MappedFile::Open(path));
  mapped->ReadAhead();
  std::shared_ptr<PackedFile> file(new PackedFile(std::move(mapped)));
  absl::Status status = file->ReadHead(key);
  if (status.ok()) status = file->CheckBlocks();
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", path, std::string(status.message())));
  }
  TRIVIUM_RETURN_IF_ERROR(file->CheckUnchanged());
  return file;
}

absl::Status PackedFile::ReadHead(const Key& key) {
  const std::span<const std::byte> bytes = file_->bytes();
  PackedHead head;
  if (bytes.size() < sizeof(head)) return Spoiled("is too short");
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (head.magic != kPackedMagic || head.key_high != key.high ||
      head.key_low != key.low) {
    return Spoiled("is of other weights or of another version");
  }
  if (head.size != bytes.size()) return Spoiled("is truncated");
  // None of these numbers may make a sum overflow.
  if (head.pieces > bytes.size() / sizeof(PackedEntry) ||
      head.data > bytes.size()) {
    return Spoiled("has a head that does not fit into it");
  }
  const size_t hashes = sizeof(head) + head.pieces * sizeof(PackedEntry);
  const size_t blocks = (bytes.size() - head.data + kBlock - 1) / kBlock;
  const size_t head_hash = hashes + blocks * sizeof(uint64_t);
  uint64_t stored;
  if (head.data < head_hash + sizeof(stored)) {
    return Spoiled("has a head that does not fit into it");
  }
  std::memcpy(&stored, bytes.data() + head_hash, sizeof(stored));
  if (HashOf(bytes.first(head_hash)) != stored) {
    return Spoiled("has a head that is not as it was written");
  }
  for (uint64_t i = 0; i < head.pieces; ++i) {
    PackedEntry entry;
    std::memcpy(&entry, bytes.data() + sizeof(head) + i * sizeof(entry),
                sizeof(entry));
    if (entry.offset < head.data || entry.offset > bytes.size() ||
        entry.size > bytes.size() - entry.offset) {
      return Spoiled("has a piece outside of the file");
    }
    pieces_.emplace(entry.id, bytes.subspan(entry.offset, entry.size));
  }
  data_ = bytes.subspan(head.data);
  hashes_ = bytes.subspan(hashes, blocks * sizeof(uint64_t));
  return absl::OkStatus();
}

absl::Status PackedFile::CheckBlocks() const {
  std::atomic<bool> same = true;
  ParallelFor(static_cast<int>(hashes_.size() / sizeof(uint64_t)), /*least=*/1,
              [&](int begin, int end) {
                for (int i = begin; i < end && same; ++i) {
                  const size_t at = static_cast<size_t>(i) * kBlock;
                  const auto block =
                      data_.subspan(at, std::min(kBlock, data_.size() - at));
                  MapPages(block);
                  uint64_t stored;
                  std::memcpy(&stored, &hashes_[i * sizeof(stored)],
                              sizeof(stored));
                  if (HashOf(block) != stored) same = false;
                }
              });
  return same ? absl::OkStatus()
              : Spoiled("has bytes that are not as they were written");
}

std::optional<std::span<const std::byte>> PackedFile::Find(uint64_t id) const {
  const auto found = pieces_.find(id);
  if (found == pieces_.end()) return std::nullopt;
  return found->second;
}

}  // namespace trivium
