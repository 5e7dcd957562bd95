#ifndef TRIVIUM_MODEL_WEIGHTS_PACKED_HASH_H_
#define TRIVIUM_MODEL_WEIGHTS_PACKED_HASH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace trivium {

// XXH3 (xxHash 0.8), which is as fast as memory. The same on every machine.
uint64_t HashOf(std::span<const std::byte> bytes);
// Sets the two halves of the hash of 128 bits.
void HashOfText(std::string_view text, uint64_t* high, uint64_t* low);

// Hashes bytes that come one after the other, in blocks of one size.
class BlockHashes {
 public:
  explicit BlockHashes(size_t block);
  ~BlockHashes();

  void Add(std::span<const std::byte> bytes);
  // Ends the last block. Returns the hash of each.
  const std::vector<uint64_t>& Finish();

 private:
  struct State;

  const size_t block_;
  size_t in_block_ = 0;
  std::unique_ptr<State> state_;
  std::vector<uint64_t> hashes_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_PACKED_HASH_H_
