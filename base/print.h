#ifndef TRIVIUM_BASE_PRINT_H_
#define TRIVIUM_BASE_PRINT_H_

#include <cstdio>
#include <string>
#include <utility>

#include "fmt/format.h"

namespace trivium {

// Writes to a terminal or a pipe. What cannot be written is lost: fmt::print
// throws instead, which would end a program whose reader went away, such as
// `head`, without a word.
template <typename... Arguments>
void PrintTo(std::FILE* file, fmt::format_string<Arguments...> format,
             Arguments&&... arguments) {
  const std::string text =
      fmt::format(format, std::forward<Arguments>(arguments)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), file));
}

}  // namespace trivium

#endif  // TRIVIUM_BASE_PRINT_H_
