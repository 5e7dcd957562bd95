#include "base/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace trivium {
namespace {

// Reads the ID in a segment of notes: each is a header, a name and a content,
// both padded to four bytes.
std::string FindId(const char* notes, size_t size) {
  const auto padded = [](size_t bytes) { return (bytes + 3) / 4 * 4; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof(header));
    const size_t name = padded(header.n_namesz);
    const size_t content = padded(header.n_descsz);
    const size_t all = sizeof(header) + name + content;
    if (all > size) break;
    const char* const at = notes + sizeof(header);
    if (header.n_type == NT_GNU_BUILD_ID &&
        std::string_view(at, header.n_namesz) ==
            std::string_view("GNU", sizeof("GNU"))) {
      std::string id;
      for (size_t i = 0; i < header.n_descsz; ++i) {
        id += fmt::format("{:02x}", static_cast<uint8_t>(at[name + i]));
      }
      return id;
    }
    notes += all;
    size -= all;
  }
  return "";
}

// Finds the program or library that this function is in.
int OfThisObject(dl_phdr_info* info, size_t, void* id) {
  const auto here = reinterpret_cast<uintptr_t>(&OfThisObject);
  bool mine = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    mine = mine || (segment.p_type == PT_LOAD && here >= begin &&
                    here - begin < segment.p_memsz);
  }
  if (!mine) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    std::string found =
        FindId(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr),
               segment.p_memsz);
    if (!found.empty()) *static_cast<std::string*>(id) = std::move(found);
  }
  return 1;
}

}  // namespace

std::string BuildId() {
  std::string id;
  dl_iterate_phdr(OfThisObject, &id);
  struct stat status;
  if (id.empty() && stat("/proc/self/exe", &status) == 0) {
    id = fmt::format("{} {}.{}", status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
  }
  return id;
}

}  // namespace trivium
