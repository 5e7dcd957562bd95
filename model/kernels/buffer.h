#ifndef TRIVIUM_MODEL_KERNELS_BUFFER_H_
#define TRIVIUM_MODEL_KERNELS_BUFFER_H_

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace trivium {

// Zeroed memory directly from the system, aligned to pages. It is in huge pages
// if the system grants them (madvise); small buffers share one. Physical memory
// is allocated on first touch. Throws std::bad_alloc if the system refuses
// address space. It can also be a view of memory that another object keeps.
class RawBuffer {
 public:
  RawBuffer() = default;
  explicit RawBuffer(size_t bytes);
  // A view of memory that `owner` keeps, such as a mapped file. It may be
  // read-only, so nothing may write to it.
  RawBuffer(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : data_(const_cast<std::byte*>(bytes.data())),
        bytes_(bytes.size()),
        owner_(std::move(owner)) {}
  RawBuffer(RawBuffer&& other) noexcept { *this = std::move(other); }
  RawBuffer& operator=(RawBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(owner_, other.owner_);
    return *this;
  }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  class Mapping;

  void AllocateFromSlab();

  void* data_ = nullptr;
  size_t bytes_ = 0;
  std::shared_ptr<const void> owner_;  // a Mapping, or whatever keeps the view
};

// An array of plain values in a RawBuffer. Reserve() only grows, so that a
// steady state allocates nothing; growing loses the contents.
template <typename T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t count) { Reserve(count); }
  // Takes the values in `raw`; such a buffer must not grow.
  explicit Buffer(RawBuffer raw) : raw_(std::move(raw)) {}

  // Ensures room for `count` values and returns the array.
  T* Reserve(size_t count) {
    if (count * sizeof(T) > raw_.bytes()) {
      const size_t slack = raw_.bytes() > 0 ? count / 4 : 0;
      raw_ = RawBuffer();  // free the old one before allocating
      raw_ = RawBuffer((count + slack) * sizeof(T));
    }
    return data();
  }
  T* data() const { return static_cast<T*>(raw_.data()); }
  size_t bytes() const { return raw_.bytes(); }

 private:
  RawBuffer raw_;
};

// Allocates vectors that kernels read, aligned to cache lines, so that no load
// of a full register crosses two lines.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kLine));
  }
  void deallocate(T* p, size_t) { ::operator delete(p, kLine); }
  bool operator==(const AlignedAllocator&) const { return true; }
};
template <typename T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_BUFFER_H_
