#include "model/tokenizer/merges_file.h"

#include <algorithm>
#include <string_view>

#include "absl/status/status.h"
#include "base/file.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {
namespace {

// Bound of the merges: each makes a piece, and some are written twice.
constexpr size_t kMaxMerges = 2 * Vocabulary::MostIds();

}  // namespace

absl::StatusOr<BpeModel::Merges> LoadMerges(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  BpeModel::Merges merges;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    at = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    const size_t space = line.find(' ');
    if (space == 0 || space == std::string_view::npos ||
        space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos) {
      return absl::InvalidArgumentError(fmt::format(
          "{}:{} is not two pieces with a space between; fetch it again", path,
          number));
    }
    if (merges.size() >= kMaxMerges) {
      return absl::InvalidArgumentError(fmt::format(
          "{} has more than {} merges; check that it belongs to this model",
          path, kMaxMerges));
    }
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

}  // namespace trivium
