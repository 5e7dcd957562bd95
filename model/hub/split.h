#ifndef TRIVIUM_MODEL_HUB_SPLIT_H_
#define TRIVIUM_MODEL_HUB_SPLIT_H_

#include <string_view>
#include <vector>

namespace trivium {

// Returns the parts of `text` between separators, empty ones included.
inline std::vector<std::string_view> Split(std::string_view text,
                                           char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_SPLIT_H_
