#include "tests/allocations/allocation_counter.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "fmt/format.h"

namespace trivium {
namespace {

constexpr int kSites = 40;
constexpr int kFrames = 12;

thread_local bool counting = false;
int allocations = 0;
void* sites[kSites][kFrames];
int frames[kSites];

bool IsIn(const void* address, const char* library) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, library) != nullptr;
}

void Note() {
  counting = false;  // what backtrace may need is not counted
  void* stack[kFrames];
  const int depth = backtrace(stack, kFrames);
  // 0 is this function, 1 operator new.
  int caller = 2;
  while (caller < depth && IsIn(stack[caller], "libstdc++")) ++caller;
  if (caller < depth && !IsIn(stack[caller], "libdnnl")) {
    if (allocations < kSites) {
      frames[allocations] = depth - caller;
      std::memcpy(sites[allocations], stack + caller,
                  sizeof(void*) * (depth - caller));
    }
    ++allocations;
  }
  counting = true;
}

}  // namespace

void AllocationCounter::Start() {
  void* stack[1];
  backtrace(stack, 1);  // loads what it needs
  allocations = 0;
  counting = true;
}

void AllocationCounter::Stop() { counting = false; }

int AllocationCounter::count() { return allocations; }

std::string AllocationCounter::Sites() {
  std::string text;
  for (int i = 0; i < allocations && i < kSites; ++i) {
    Dl_info info;
    for (int k = 0; k < frames[i]; ++k) {
      const auto address = reinterpret_cast<uintptr_t>(sites[i][k]);
      if (dladdr(sites[i][k], &info) == 0) continue;
      text += fmt::format(
          " {:#x}", address - reinterpret_cast<uintptr_t>(info.dli_fbase) - 1);
    }
    text += '\n';
  }
  return text;
}

}  // namespace trivium

// Everything else of the standard library comes to these.
void* operator new(size_t size) {
  if (trivium::counting) trivium::Note();
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t size, std::align_val_t alignment) {
  if (trivium::counting) trivium::Note();
  const size_t align = static_cast<size_t>(alignment);
  void* memory = std::aligned_alloc(align, (size + align - 1) / align * align);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
