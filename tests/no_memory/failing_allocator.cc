#include "tests/no_memory/failing_allocator.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/no_memory/symbols.h"

namespace trivium {
namespace {

constexpr int kFrames = 48;
constexpr size_t kPlaces = 1 << 16;  // of the set of sites

std::atomic<bool> armed = false;
std::atomic<bool> any_failed = false;
thread_local bool client = false;
thread_local bool looking = false;
std::array<std::atomic<uint64_t>, kPlaces> failed{};  // hashes; 0: free
void* site[kFrames];
int site_frames = 0;

const Symbols& Names() {
  static const auto* const symbols = new Symbols();
  return *symbols;
}

bool StartsWith(const char* name, const char* with) {
  return std::strncmp(name, with, std::strlen(with)) == 0;
}

// The mangled name behind what says that it is nested, local or const.
const char* Nested(const char* name) {
  if (!StartsWith(name, "_Z")) return name;
  name += 2;
  while (*name == 'Z' || *name == 'N' || *name == 'K' || *name == 'L') ++name;
  return name;
}

enum class Whose { kOurs, kCallers, kOthers };

Whose WhoseIs(const void* address) {
  const char* const function = Names().Find(address);
  if (function == nullptr) {
    Dl_info info;
    return dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
                   std::strstr(info.dli_fname, "libstdc++") != nullptr
               ? Whose::kCallers
               : Whose::kOthers;
  }
  const char* const name = Nested(function);
  if (StartsWith(name, "7trivium")) {
    // Generated from .proto files.
    return StartsWith(name, "7trivium2v1") ? Whose::kOthers : Whose::kOurs;
  }
  for (const char* part : {"St", "S", "9__gnu_cxx", "3fmt", "nw"}) {
    if (StartsWith(name, part)) return Whose::kCallers;
  }
  return Whose::kOthers;
}

bool IsOperatorNew(const void* address) {
  const char* const function = Names().Find(address);
  return function != nullptr && StartsWith(function, "_Znw");
}

// Sees whether the caller of operator new is a new site of ours, and remembers
// it.
bool IsNewSite() {
  void* stack[kFrames];
  const int depth = backtrace(stack, kFrames);
  uint64_t hash = 14695981039346656037u;
  int ours = 0;
  int first = -1;
  int caller = 1;
  while (caller < depth && !IsOperatorNew(stack[caller])) ++caller;
  for (int i = caller + 1; i < depth && ours < FailingAllocator::kSiteFrames;
       ++i) {
    const Whose whose = WhoseIs(stack[i]);
    if (whose == Whose::kCallers) continue;
    if (ours == 0) {
      if (whose == Whose::kOthers) return false;
      first = i;
    }
    ++ours;
    hash = (hash ^ reinterpret_cast<uintptr_t>(stack[i])) * 1099511628211u;
  }
  if (ours == 0) return false;
  if (hash == 0) hash = 1;
  for (size_t place = hash % kPlaces;; place = (place + 1) % kPlaces) {
    uint64_t found = 0;
    if (failed[place].compare_exchange_strong(found, hash)) break;
    if (found == hash) return false;
  }
  if (!armed.exchange(false)) return false;
  site_frames = std::min(depth - first, 12);
  std::memcpy(site, stack + first, sizeof(void*) * site_frames);
  return true;
}

// True if this allocation is to fail.
bool Fails() {
  if (client || looking || !armed.load(std::memory_order_relaxed)) return false;
  looking = true;
  const bool fails = IsNewSite();
  looking = false;
  return fails;
}

void* Allocate(size_t size) {
  if (Fails()) {
    any_failed = true;
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void FailingAllocator::Forget() {
  for (auto& one : failed) one = 0;
}

void FailingAllocator::Arm() {
  void* stack[1];
  backtrace(stack, 1);  // loads what it needs
  Names();
  any_failed = false;
  armed = true;
}

bool FailingAllocator::Disarm() {
  armed = false;
  return any_failed;
}

std::string FailingAllocator::Site() {
  std::string text;
  for (int i = 0; i < site_frames; ++i) {
    const char* const name = Names().Find(site[i]);
    text +=
        "  " + (name == nullptr ? "?" : Demangle(name).substr(0, 160)) + "\n";
  }
  return text;
}

ClientThread::ClientThread() { client = true; }
ClientThread::~ClientThread() { client = false; }

}  // namespace trivium

// Everything else of the standard library comes to these.
void* operator new(size_t size) { return trivium::Allocate(size); }
void* operator new(size_t size, std::align_val_t alignment) {
  if (trivium::Fails()) {
    trivium::any_failed = true;
    throw std::bad_alloc();
  }
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
