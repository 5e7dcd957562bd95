#ifndef TRIVIUM_BASE_NEAREST_H_
#define TRIVIUM_BASE_NEAREST_H_

#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// The one of `names`, which are at least one, that is most like a misspelt
// `name`: of fewest insertions, deletions and changes of letters (Levenshtein).
std::string Nearest(std::string_view name,
                    const std::vector<std::string>& names);

}  // namespace trivium

#endif  // TRIVIUM_BASE_NEAREST_H_
