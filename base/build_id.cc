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

// A program or library.
struct Object {
  std::string id;
  std::string file = "/proc/self/exe";
};

// Fills in `object` if this function is in the one that `info` describes.
int FindThisObject(dl_phdr_info* info, size_t, void* object) {
  const auto here = reinterpret_cast<uintptr_t>(&FindThisObject);
  bool mine = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    mine = mine || (segment.p_type == PT_LOAD && here >= begin &&
                    here - begin < segment.p_memsz);
  }
  if (!mine) return 0;
  auto& found = *static_cast<Object*>(object);
  // A program has no name here.
  if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
    found.file = info->dlpi_name;
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    std::string id =
        FindId(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr),
               segment.p_memsz);
    if (!id.empty()) found.id = std::move(id);
  }
  return 1;
}

}  // namespace

std::string BuildId() {
  Object object;
  dl_iterate_phdr(FindThisObject, &object);
  struct stat status;
  if (object.id.empty() && stat(object.file.c_str(), &status) == 0) {
    return fmt::format("{} {}.{}", status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
  }
  return object.id;
}

}  // namespace trivium
