#ifndef TRIVIUM_BASE_NEAREST_H_
#define TRIVIUM_BASE_NEAREST_H_

#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// Returns the element of `names` (not empty) that is closest to a misspelt
// `name`: with the fewest insertions, deletions and substitutions of letters
// (Levenshtein).
std::string Nearest(std::string_view name,
                    const std::vector<std::string>& names);

// True if one may be the other misspelt: a third of the letters differ at most.
bool IsNear(std::string_view name, std::string_view other);

// Returns the error for a flag that does not exist, such as "--verison".
// `names` are the long names of all flags, without dashes. It names the flag
// that is meant: other programs' names for it, such as --from, and beginnings
// of names count, too.
std::string UnknownFlag(std::string_view flag,
                        const std::vector<std::string>& names);

}  // namespace trivium

#endif  // TRIVIUM_BASE_NEAREST_H_
