#include "model/weights/copy_arena.h"

#include <sys/mman.h>

namespace trivium {

CopyArena::~CopyArena() {
  if (data_ != nullptr) munmap(data_, capacity_);
}

std::optional<std::span<std::byte>> CopyArena::Allocate(size_t size) {
  if (size > capacity_ - used_) return std::nullopt;
  if (data_ == nullptr) {
    // Not malloc, whose heap may keep freed memory for the life of the process.
    void* data = mmap(nullptr, capacity_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) return std::nullopt;
    data_ = static_cast<std::byte*>(data);
  }
  std::byte* begin = data_ + used_;
  used_ += size;
  return std::span<std::byte>(begin, size);
}

}  // namespace trivium
