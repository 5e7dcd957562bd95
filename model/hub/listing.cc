#include "model/hub/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_split.h"
#include "base/json.h"
#include "base/status.h"
#include "base/utf8.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr size_t kSha1Digits = 40;
constexpr size_t kSha256Digits = 64;
constexpr size_t kLongestPath = 1024;
// 16 TiB. A list has too few files for the sum of their sizes to overflow.
constexpr int64_t kLargestFile = int64_t{1} << 44;
constexpr size_t kLongestName = 240;  // leaves room for ".incomplete"

absl::Status Broken(const std::string& what) {
  return absl::InvalidArgumentError(
      fmt::format("the hub's list of files {}; check HF_ENDPOINT", what));
}

// Returns a member that is a string; "" if there is none.
std::string Text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : "";
}

std::optional<int64_t> Size(const json& object) {
  const auto found = object.find("size");
  if (found == object.end() || !found->is_number_integer()) return {};
  // Above the largest int64_t it is negative here.
  const auto size = found->get<int64_t>();
  return size >= 0 && size <= kLargestFile ? std::optional(size) : std::nullopt;
}

absl::StatusOr<HubFile> ReadEntry(const json& entry) {
  if (!entry.is_object()) return Broken("has an entry that is no file");
  HubFile file;
  file.path = Text(entry, "rfilename");
  if (!IsSafePath(file.path)) {
    return Broken(
        fmt::format("names a file {}, which cannot be made in a folder",
                    json(file.path)
                        .dump(-1, ' ', true, json::error_handler_t::replace)
                        .substr(0, 200)));
  }
  const auto lfs = entry.find("lfs");
  file.lfs = lfs != entry.end() && lfs->is_object();
  const json& described = file.lfs ? *lfs : entry;
  const std::optional<int64_t> size = Size(described);
  file.blob = Text(described, file.lfs ? "sha256" : "blobId");
  if (!size || !IsHash(file.blob, file.lfs ? kSha256Digits : kSha1Digits)) {
    return Broken(fmt::format("has no size and hash of {}", file.path));
  }
  file.size = *size;
  return file;
}

}  // namespace

const HubFile* FindFile(const std::vector<HubFile>& files,
                        std::string_view path) {
  const auto found =
      std::find_if(files.begin(), files.end(),
                   [path](const HubFile& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

bool IsHash(std::string_view text, size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool IsSafePath(std::string_view path) {
  if (path.empty() || path.size() > kLongestPath) return false;
  for (size_t i = 0; i < path.size();) {
    const CodePoint c = FirstCodePoint(path.substr(i));
    if (!c.well_formed || c.value < 0x20 ||
        (c.value >= 0x7F && c.value <= 0x9F) || c.value == '\\') {
      return false;
    }
    i += c.size;
  }
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(path.data(), path.size()), '/');
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    return !part.empty() && part != "." && part != ".." &&
           part.size() <= kLongestName;
  });
}

absl::StatusOr<HubListing> ParseListing(std::string_view text) {
  const absl::StatusOr<json> parsed = ParseJson(text, kConfigJson);
  if (!parsed.ok()) return Broken(std::string(parsed.status().message()));
  if (!parsed->is_object()) return Broken("is no JSON object");
  HubListing listing;
  listing.commit = Text(*parsed, "sha");
  if (!IsHash(listing.commit, kCommitDigits)) {
    return Broken("names no commit");
  }
  const auto files = parsed->find("siblings");
  if (files == parsed->end() || !files->is_array()) {
    return Broken("has no files");
  }
  for (const json& entry : *files) {
    TRIVIUM_ASSIGN_OR_RETURN(listing.files.emplace_back(), ReadEntry(entry));
  }
  if (const auto gguf = parsed->find("gguf");
      gguf != parsed->end() && gguf->is_object()) {
    listing.gguf_architecture = Text(*gguf, "architecture");
  }
  return listing;
}

}  // namespace trivium
