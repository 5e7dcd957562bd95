#ifndef TRIVIUM_MODEL_WEIGHTS_COPY_ARENA_H_
#define TRIVIUM_MODEL_WEIGHTS_COPY_ARENA_H_

#include <cstddef>
#include <optional>
#include <span>

namespace trivium {

// Memory for tensors that cannot be views of their file. It has a fixed
// capacity; pages are allocated as they are written, and freed together. The
// capacity is the file's size, so that no file can make us copy more than it
// holds, whatever it claims.
class CopyArena {
 public:
  explicit CopyArena(size_t capacity) : capacity_(capacity) {}
  ~CopyArena();
  CopyArena(const CopyArena&) = delete;
  CopyArena& operator=(const CopyArena&) = delete;

  // Returns nullopt if the capacity or the system's memory is exhausted.
  std::optional<std::span<std::byte>> Allocate(size_t size);

 private:
  const size_t capacity_;
  std::byte* data_ = nullptr;
  size_t used_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_COPY_ARENA_H_
