#include "model/kernels/buffer.h"

#include <sys/mman.h>

#include <new>

#include "base/mutex.h"

namespace trivium {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
// Buffers of at least this size are in huge pages.
constexpr size_t kHugeFrom = size_t{32} << 10;
// Smaller ones of these share a slab.
constexpr size_t kSharedBelow = kHugePage;
constexpr size_t kSlab = 8 * kHugePage;
// The most bytes of a large buffer's last huge page that it does not need.
constexpr size_t kMostLeftOver = kHugePage / 8;

size_t RoundUp(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

class RawBuffer::Mapping {
 public:
  // `bytes` is a multiple of kPage.
  explicit Mapping(size_t bytes) : bytes_(bytes) {
    // Huge pages need an aligned start, which mmap does not guarantee.
    const size_t slack = bytes >= kHugePage ? kHugePage : 0;
    start_ = static_cast<char*>(
        mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (start_ == MAP_FAILED) throw std::bad_alloc();
    if (slack == 0) return;
    const size_t misaligned = reinterpret_cast<size_t>(start_) % kHugePage;
    const size_t before = misaligned == 0 ? 0 : kHugePage - misaligned;
    if (before > 0) munmap(start_, before);
    if (slack > before) munmap(start_ + before + bytes, slack - before);
    start_ += before;
    madvise(start_, bytes, MADV_HUGEPAGE);
  }
  ~Mapping() { munmap(start_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  char* start() const { return start_; }

 private:
  char* start_;
  size_t bytes_;
};

// A large buffer's last part is in small pages if much of a huge page would be
// left over: a model has hundreds of matrices of a few huge pages.
RawBuffer::RawBuffer(size_t bytes) {
  if (bytes == 0) return;
  if (bytes >= kHugeFrom && bytes < kSharedBelow) {
    bytes_ = RoundUp(bytes, kPage);
    AllocateFromSlab();
    return;
  }
  const bool fills =
      bytes >= kHugePage && RoundUp(bytes, kHugePage) - bytes <= kMostLeftOver;
  bytes_ = RoundUp(bytes, fills ? kHugePage : kPage);
  const auto mapping = std::make_shared<Mapping>(bytes_);
  data_ = mapping->start();
  owner_ = mapping;
}

// Slabs are filled from front to back and never reused, so that new buffers are
// zero. A slab is freed with the last of its buffers.
void RawBuffer::AllocateFromSlab() {
  static Mutex mutex;
  static std::weak_ptr<Mapping> current;
  static size_t used;
  MutexLock lock(&mutex);
  std::shared_ptr<Mapping> slab = current.lock();
  if (slab == nullptr || used + bytes_ > kSlab) {
    slab = std::make_shared<Mapping>(kSlab);
    current = slab;
    used = 0;
  }
  data_ = slab->start() + used;
  owner_ = std::move(slab);
  used += bytes_;
}

}  // namespace trivium
