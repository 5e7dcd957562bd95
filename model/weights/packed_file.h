#ifndef TRIVIUM_MODEL_WEIGHTS_PACKED_FILE_H_
#define TRIVIUM_MODEL_WEIGHTS_PACKED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/weights/mapped_file.h"

namespace trivium {

// Bytes of a packed file, by a number that their writer chose.
struct PackedPiece {
  uint64_t id;
  std::span<const std::byte> bytes;
};

// A file of packed weights, mapped: the system keeps its pages once for all
// processes that map it. All numbers are little-endian u64:
//
//   "TRVPACK1", the key's two halves, the file's size, the number of pieces,
//     the data's offset
//   each piece: id, offset from the file's beginning, size
//   the hash of each kBlock bytes from the data's beginning on
//   the hash of all that stands before it
//   the data, from the next multiple of a page on: pieces, large ones from a
//     page's beginning on, others from a multiple of 64 bytes
//
// Hashes are XXH3's of 64 bits. They tell a file that is broken from a whole
// one; they do not protect against forgery.
class PackedFile {
 public:
  // The bytes that share a hash.
  static constexpr size_t kBlock = size_t{4} << 20;

  // A hash of 128 bits that names what a file was made of.
  struct Key {
    uint64_t high = 0, low = 0;

    static Key Of(std::string_view text);
    // Returns 32 hexadecimal digits.
    std::string Hex() const;
    bool operator==(const Key&) const = default;
  };

  // Maps a file and compares all its bytes with their hashes, on several
  // threads. NOT_FOUND if there is none; INVALID_ARGUMENT says what is wrong
  // with it.
  static absl::StatusOr<std::shared_ptr<const PackedFile>> Open(
      const std::string& path, const Key& key);

  // Writes a file under another name and renames it. If another process is
  // writing it, returns ABORTED and leaves it to that. UNAVAILABLE tells why
  // the system does not write it, such as a full disk; nothing is left then.
  static absl::Status Write(const std::string& path, const Key& key,
                            std::span<const PackedPiece> pieces);

  // Returns nullopt if there is no such piece.
  std::optional<std::span<const std::byte>> Find(uint64_t id) const;
  // INVALID_ARGUMENT if the file was written to or truncated since Open: what
  // was read of it must not be used.
  absl::Status CheckUnchanged() const { return file_->CheckUnchanged(); }

 private:
  explicit PackedFile(std::unique_ptr<MappedFile> file)
      : file_(std::move(file)) {}

  // Reads all before the data. Returns what is wrong with it.
  absl::Status ReadHead(const Key& key);
  absl::Status CheckBlocks() const;

  const std::unique_ptr<MappedFile> file_;
  std::map<uint64_t, std::span<const std::byte>> pieces_;
  std::span<const std::byte> data_;
  std::span<const std::byte> hashes_;  // of data_'s blocks
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_PACKED_FILE_H_
