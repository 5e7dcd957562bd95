#include "tests/no_memory/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace trivium {
namespace {

// Where the program is loaded: the first object is the program itself.
uintptr_t LoadAddress() {
  uintptr_t address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<uintptr_t*>(out) = info->dlpi_addr;
        return 1;
      },
      &address);
  return address;
}

}  // namespace

Symbols::Symbols() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  file_.assign(std::istreambuf_iterator<char>(in), {});
  const char* const data = file_.data();
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(data);
  const auto* const sections =
      reinterpret_cast<const Elf64_Shdr*>(data + header->e_shoff);
  const uintptr_t base = LoadAddress();
  for (int i = 0; i < header->e_shnum; ++i) {
    const Elf64_Shdr& table = sections[i];
    if (table.sh_type != SHT_SYMTAB) continue;
    const char* const names = data + sections[table.sh_link].sh_offset;
    const auto* symbol =
        reinterpret_cast<const Elf64_Sym*>(data + table.sh_offset);
    for (size_t k = 0; k < table.sh_size / sizeof(*symbol); ++k, ++symbol) {
      if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_value == 0) {
        continue;
      }
      functions_.push_back({base + symbol->st_value,
                            base + symbol->st_value + symbol->st_size,
                            names + symbol->st_name});
    }
  }
  std::sort(functions_.begin(), functions_.end(),
            [](const Function& a, const Function& b) {
              return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
            });
}

const char* Symbols::Find(const void* address) const {
  // A call may be the function's last instruction.
  const uintptr_t at = reinterpret_cast<uintptr_t>(address) - 1;
  auto next = std::upper_bound(
      functions_.begin(), functions_.end(), at,
      [](uintptr_t one, const Function& other) { return one < other.begin; });
  if (next == functions_.begin()) return nullptr;
  const Function& function = *std::prev(next);
  return at < function.end ? function.name : nullptr;
}

std::string Demangle(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = text == nullptr ? name : text;
  std::free(text);
  return result;
}

}  // namespace trivium
