// A .npz is a zip archive of .npy files. Entries are copied to an arena of the
// archive's size by ZipArchive, which verifies checksums, and tensors are views
// of these copies. A .npy file begins with a header that is a Python
// dictionary; the little parser below accepts only what NumPy itself writes,
// and no expression is evaluated.
#include "model/weights/npz_file.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/weights/zip_archive.h"

namespace trivium {
namespace {

constexpr std::string_view kEnding = ".npy";
constexpr std::string_view kNpyMagic = "\x93NUMPY";
// NumPy's own limit.
constexpr size_t kMaxNpyDimensions = 64;

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"<f4", DType::kF32}, {"<f2", DType::kF16}, {"<i8", DType::kI64},
    {"<i4", DType::kI32}, {"|i1", DType::kI8},  {"<i1", DType::kI8},
    {"|u1", DType::kU8},  {"<u1", DType::kU8},  {"|b1", DType::kBool}};

absl::Status BrokenArray(const std::string& what) {
  return absl::InvalidArgumentError(what + "; fetch the file again");
}

// Parses a header, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4),
// }", part by part.
class Header {
 public:
  explicit Header(std::string_view text) : left_(text) {}

  // True if the next part after white space is `part`, which is then consumed.
  bool Consume(std::string_view part) {
    left_.remove_prefix(
        std::min(left_.find_first_not_of(" \n\t"), left_.size()));
    if (!left_.starts_with(part)) return false;
    left_.remove_prefix(part.size());
    return true;
  }
  // A string in single or double quotes, without escapes.
  std::optional<std::string_view> ParseString() {
    for (const char quote : {'\'', '"'}) {
      if (!Consume(std::string_view(&quote, 1))) continue;
      const size_t end = left_.find(quote);
      if (end == left_.npos) return std::nullopt;
      const std::string_view string = left_.substr(0, end);
      left_.remove_prefix(end + 1);
      return string;
    }
    return std::nullopt;
  }
  std::optional<int64_t> ParseNumber() {
    Consume("");
    int64_t number = 0;
    const char* const end = left_.data() + left_.size();
    const auto [rest, error] = std::from_chars(left_.data(), end, number);
    if (error != std::errc() || number < 0) return std::nullopt;
    left_.remove_prefix(rest - left_.data());
    Consume("L");  // as Python 2 writes
    return number;
  }
  // "()", "(3,)", "(3, 4)".
  std::optional<std::vector<int64_t>> ParseShape() {
    std::vector<int64_t> shape;
    if (!Consume("(")) return std::nullopt;
    while (!Consume(")")) {
      const std::optional<int64_t> size = ParseNumber();
      if (!size || shape.size() == kMaxNpyDimensions) return std::nullopt;
      shape.push_back(*size);
      if (!Consume(",") && !left_.starts_with(")")) return std::nullopt;
    }
    return shape;
  }

 private:
  std::string_view left_;
};

struct Description {
  std::optional<std::string_view> type;
  bool fortran_order = false;
  std::optional<std::vector<int64_t>> shape;
};

// Returns the fields of a header; missing ones are unset. Returns nullopt if it
// is not a header.
std::optional<Description> ParseHeader(std::string_view text) {
  Header header(text);
  Description description;
  if (!header.Consume("{")) return std::nullopt;
  while (!header.Consume("}")) {
    const std::optional<std::string_view> key = header.ParseString();
    if (!key || !header.Consume(":")) return std::nullopt;
    if (*key == "descr") {
      description.type = header.ParseString();
      if (!description.type) return std::nullopt;
    } else if (*key == "fortran_order") {
      description.fortran_order = header.Consume("True");
      if (!description.fortran_order && !header.Consume("False")) {
        return std::nullopt;
      }
    } else if (*key == "shape") {
      description.shape = header.ParseShape();
      if (!description.shape) return std::nullopt;
    } else {
      return std::nullopt;
    }
    header.Consume(",");
  }
  return description;
}

absl::StatusOr<TensorView> ReadNpy(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  if (!text.starts_with(kNpyMagic) || text.size() < kNpyMagic.size() + 2) {
    return BrokenArray("does not begin like a NumPy array");
  }
  const int version = text[kNpyMagic.size()];
  if (version < 1 || version > 3) {
    return BrokenArray(fmt::format(
        "has the unsupported version {} of NumPy's format", version));
  }
  const size_t length_at = kNpyMagic.size() + 2;
  const size_t header_at = length_at + (version == 1 ? 2 : 4);
  size_t length = 0;
  for (size_t i = std::min(header_at, text.size()); i-- > length_at;) {
    length = length << 8 | static_cast<unsigned char>(text[i]);
  }
  if (header_at > text.size() || length > text.size() - header_at) {
    return BrokenArray("ends within its header");
  }
  const std::optional<Description> description =
      ParseHeader(text.substr(header_at, length));
  if (!description || !description->type || !description->shape) {
    return BrokenArray("has a header that is not NumPy's");
  }
  TensorView tensor;
  tensor.shape = *description->shape;
  bool known = false;
  for (const auto& [name, type] : kTypes) {
    if (name != *description->type) continue;
    tensor.dtype = type;
    known = true;
  }
  if (!known) {
    return absl::InvalidArgumentError(
        fmt::format("is of type {}, which is not supported; save it as float32",
                    Quoted(*description->type)));
  }
  if (description->fortran_order && tensor.shape.size() > 1) {
    return absl::InvalidArgumentError(
        "is in Fortran order; save it in C order");
  }
  const std::optional<int64_t> elements = ElementCount(tensor.shape);
  const std::optional<int64_t> size =
      elements ? ByteCount(*elements, tensor.dtype) : std::nullopt;
  const size_t data_at = header_at + length;
  if (!size || static_cast<uint64_t>(*size) != bytes.size() - data_at) {
    return BrokenArray(fmt::format(
        "has {} bytes, which do not match [{}] {}", bytes.size() - data_at,
        fmt::join(tensor.shape, ", "), DTypeName(tensor.dtype)));
  }
  tensor.data = bytes.subspan(data_at);
  return tensor;
}

}  // namespace

absl::StatusOr<TensorFile> ReadNpz(std::span<const std::byte> bytes) {
  const auto arena = std::make_shared<CopyArena>(bytes.size());
  TRIVIUM_ASSIGN_OR_RETURN(const ZipArchive archive,
                           ZipArchive::Open(bytes, arena));
  TensorFile file;
  for (const std::string& entry : archive.Names()) {
    std::string_view name = entry;
    if (!name.ends_with(kEnding)) {
      return BrokenArray(fmt::format("archive entry {} is not an array {}",
                                     Quoted(entry), kEnding));
    }
    name.remove_suffix(kEnding.size());
    TRIVIUM_ASSIGN_OR_RETURN(const auto array, archive.Read(entry));
    absl::StatusOr<TensorView> tensor = ReadNpy(array);
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(fmt::format(
          "array {} {}", Quoted(name), std::string(tensor.status().message())));
    }
    if (!file.tensors.emplace(name, *std::move(tensor)).second) {
      return BrokenArray(fmt::format("array {} appears twice", Quoted(name)));
    }
  }
  file.memory.push_back(arena);
  return file;
}

}  // namespace trivium
