#ifndef TRIVIUM_MODEL_WEIGHTS_DIGEST_H_
#define TRIVIUM_MODEL_WEIGHTS_DIGEST_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trivium {

// A 64-bit FNV-1a hash of byte strings. It distinguishes files and is the same
// on every machine; it does not protect against forgery.
class Digest {
 public:
  // Adds the length, too, so that ("ab", "c") and ("a", "bc") differ.
  void Add(std::span<const std::byte> bytes);
  void Add(std::string_view text);
  void Add(uint64_t number);

  // Returns 16 hexadecimal digits.
  std::string Hex() const;

 private:
  void AddBytes(std::span<const std::byte> bytes);

  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_DIGEST_H_
