#include "base/nearest.h"

#include <algorithm>
#include <numeric>

namespace trivium {
namespace {

size_t Distance(std::string_view a, std::string_view b) {
  // [b.size() + 1]: distances from a's current prefix to each prefix of b.
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string Nearest(std::string_view name,
                    const std::vector<std::string>& names) {
  return *std::min_element(names.begin(), names.end(),
                           [name](const auto& a, const auto& b) {
                             return Distance(name, a) < Distance(name, b);
                           });
}

std::string UnknownFlag(std::string_view flag,
                        const std::vector<std::string>& names) {
  // "--name=value" is one argument.
  flag = flag.substr(0, flag.find('='));
  const size_t begin = flag.find_first_not_of('-');
  const std::string_view name = begin == flag.npos ? "" : flag.substr(begin);
  return "unknown flag " + std::string(flag) + "; did you mean --" +
         Nearest(name, names) + "?";
}

}  // namespace trivium
