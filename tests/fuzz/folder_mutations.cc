#include "tests/fuzz/folder_mutations.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/json.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

using Json = nlohmann::json;

size_t Below(size_t bound, Random* random) {
  return bound == 0 ? 0 : (*random)() % bound;
}

void Replace(const std::string& path, std::string_view contents) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << contents;
}

// Every value of a document.
void Collect(Json* json, std::vector<Json*>* all) {
  all->push_back(json);
  if (!json->is_structured()) return;
  for (Json& value : *json) Collect(&value, all);
}

// Stand-ins that become text which nlohmann's own writer could not make
// without recursion or gigabytes of values.
constexpr char kDeep[] = "@deep@";
constexpr char kWide[] = "@wide@";

std::string SpoilValue(Json* root, Random* random) {
  std::vector<Json*> all;
  Collect(root, &all);
  Json* value = all[Below(all.size(), random)];
  const std::vector<Json> others = {Json(),
                                    true,
                                    -1,
                                    0,
                                    0.5,
                                    1e300,
                                    16777215,
                                    int64_t{1} << 40,
                                    ~uint64_t{0},
                                    "",
                                    "text",
                                    "(a+)+$",
                                    std::string(1 << 20, 'a'),
                                    std::string("\0/..\n", 5),
                                    Json::array(),
                                    Json::object(),
                                    Json::array({1, 2, 3}),
                                    kDeep,
                                    kWide,
                                    *all[Below(all.size(), random)]};
  const size_t kind = Below(others.size() + 2, random);
  if (kind < others.size()) {
    const Json replacement = others[kind];
    *value = replacement;
    return fmt::format("value {}", kind);
  }
  if (value->is_array() && !value->empty() && kind == others.size()) {
    const Json item = (*value)[0];
    for (int i = 0; i < 20'000; ++i) value->push_back(item);
    return "long list";
  }
  if (value->is_object() && !value->empty()) {
    value->erase(value->begin().key());
    return "field removed";
  }
  *value = Json::array({*value});
  return "value wrapped";
}

std::string Written(const Json& json, Random* random) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto put = [&text](const std::string& name, const std::string& value) {
    const std::string quoted = "\"" + name + "\"";
    const size_t at = text.find(quoted);
    if (at != text.npos) text.replace(at, quoted.size(), value);
  };
  const size_t depth = Below(2, random) == 0 ? 60 : 100'000;
  put(kDeep, std::string(depth, '[') + std::string(depth, ']'));
  std::string wide = "[{}";
  for (size_t i = Below(2'000'000, random); i > 0; --i) wide += ",{}";
  put(kWide, wide + "]");
  return text;
}

std::string ReplaceByAnotherKind(const std::string& path, Random* random) {
  std::filesystem::remove(path);
  switch (Below(5, random)) {
    case 0:
      mkfifo(path.c_str(), 0600);
      return "a pipe";
    case 1:
      std::filesystem::create_symlink("/dev/zero", path);
      return "/dev/zero";
    case 2:
      std::filesystem::create_directory(path);
      return "a folder";
    case 3:
      std::filesystem::create_symlink(path, path);
      return "a link to itself";
    default:
      Replace(path, "");
      return "empty";
  }
}

}  // namespace

std::string SpoilBytes(std::string* bytes, Random* random) {
  switch (Below(5, random)) {
    case 0:
      bytes->resize(Below(bytes->size(), random));
      return "cut short";
    case 1:
      bytes->insert(Below(bytes->size(), random), 1 + Below(100, random),
                    static_cast<char>((*random)()));
      return "bytes inserted";
    case 2:
      bytes->erase(Below(bytes->size(), random), 1 + Below(100, random));
      return "bytes removed";
    case 3:
      *bytes += bytes->substr(Below(bytes->size(), random));
      return "end repeated";
    default:
      for (size_t i = Below(8, random) + 1; i > 0 && !bytes->empty(); --i) {
        (*bytes)[Below(bytes->size(), random)] = static_cast<char>((*random)());
      }
      return "bytes changed";
  }
}

std::string SpoilFile(const std::string& path, Random* random) {
  if (Below(12, random) == 0) return ReplaceByAnotherKind(path, random);
  std::string bytes = ReadWholeFile(path);
  // A safetensors file is its header's length, the header, the data.
  const bool safetensors = path.ends_with(".safetensors");
  const size_t begin = safetensors ? std::min<size_t>(8, bytes.size()) : 0;
  size_t size = bytes.size() - begin;
  if (begin == 8) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    size = std::min<size_t>(size, length);
  }
  if (Below(4, random) != 0 && (safetensors || path.ends_with(".json"))) {
    // Not where an earlier change made it too deep.
    absl::StatusOr<Json> json =
        ParseJson(std::string_view(bytes).substr(begin, size), kTokenizerJson);
    if (json.ok()) {
      const std::string what = SpoilValue(&*json, random);
      const std::string text = Written(*json, random);
      Replace(path, safetensors ? Safetensors(text, bytes.substr(begin + size))
                                : text);
      return what;
    }
  }
  const std::string what = SpoilBytes(&bytes, random);
  Replace(path, bytes);
  return what;
}

}  // namespace trivium
