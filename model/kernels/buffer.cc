#include "model/kernels/buffer.h"

#include <sys/mman.h>

#include <new>

namespace trivium {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

RawBuffer::RawBuffer(size_t bytes) {
  if (bytes == 0) return;
  // Rounding to whole huge pages would waste memory on small buffers.
  const size_t page = bytes >= kHugePage / 2 ? kHugePage : 4096;
  bytes_ = (bytes + page - 1) / page * page;
  // Huge pages need an aligned start, which mmap does not promise.
  const size_t slack = page == kHugePage ? kHugePage : 0;
  char* start = static_cast<char*>(
      mmap(nullptr, bytes_ + slack, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (start == MAP_FAILED) throw std::bad_alloc();
  if (slack > 0) {
    const size_t misaligned = reinterpret_cast<size_t>(start) % kHugePage;
    const size_t before = misaligned == 0 ? 0 : kHugePage - misaligned;
    if (before > 0) munmap(start, before);
    if (slack > before) munmap(start + before + bytes_, slack - before);
    start += before;
    madvise(start, bytes_, MADV_HUGEPAGE);
  }
  data_ = start;
}

RawBuffer::~RawBuffer() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace trivium
