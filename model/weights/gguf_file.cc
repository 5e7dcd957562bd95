// Order of reading: the counts, the metadata, the descriptions of the tensors,
// then the tensors' data. Data begins at the next multiple of general.alignment
// after the header, which is known only after the metadata.
//
// Nothing in a file is trusted: each length is checked against the remaining
// bytes, GgufValues bounds the memory of all values, and tensors must be
// aligned, must not overlap, must lie within the data, and must have whole
// blocks. Tensors are not copied.
#include "model/weights/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/weights/gguf_blocks.h"
#include "model/weights/gguf_values.h"

namespace trivium {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little);

constexpr size_t kDefaultAlignment = 32;
constexpr size_t kMaxAlignment = 1 << 16;
constexpr uint32_t kMaxDimensions = 4;

absl::Status Broken(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

class GgufReader {
 public:
  explicit GgufReader(std::span<const std::byte> bytes)
      : bytes_(bytes), values_(bytes) {}

  absl::StatusOr<GgufFile> Read();

 private:
  struct Info {
    std::string name;
    TensorView tensor;
    uint64_t offset = 0;
    uint64_t size = 0;  // bytes
  };

  absl::Status ReadCounts(uint64_t* tensors, uint64_t* values);
  absl::StatusOr<Info> ReadInfo();
  absl::Status PlaceTensors(std::vector<Info> infos);

  const std::span<const std::byte> bytes_;
  GgufValues values_;
  GgufFile file_;
};

absl::Status GgufReader::ReadCounts(uint64_t* tensors, uint64_t* values) {
  uint32_t magic = 0, version = 0;
  TRIVIUM_RETURN_IF_ERROR(values_.Parse(&magic));
  if (std::memcmp(&magic, "GGUF", sizeof(magic)) != 0) {
    return Broken("does not begin with \"GGUF\"; fetch a file in that format");
  }
  TRIVIUM_RETURN_IF_ERROR(values_.Parse(&version));
  if (version != 0 && (version & 0xffff) == 0) {
    return absl::UnimplementedError(
        "is a big-endian GGUF file; convert it with gguf-py's "
        "gguf_convert_endian.py");
  }
  if (version != 2 && version != 3) {
    return absl::UnimplementedError(
        fmt::format("is GGUF version {}, but only 2 and 3 are supported; "
                    "convert the model again",
                    version));
  }
  TRIVIUM_RETURN_IF_ERROR(values_.Parse(tensors));
  return values_.Parse(values);
}

absl::StatusOr<GgufReader::Info> GgufReader::ReadInfo() {
  Info info;
  TRIVIUM_ASSIGN_OR_RETURN(info.name, values_.ParseName());
  const auto broken = [&info](const std::string& what) {
    return Broken(fmt::format("tensor {}: {}", Quoted(info.name), what));
  };
  uint32_t dimensions = 0, number = 0;
  TRIVIUM_RETURN_IF_ERROR(values_.Parse(&dimensions));
  if (dimensions > kMaxDimensions) {
    return broken(
        fmt::format("it has {} dimensions, but at most {} are supported",
                    dimensions, kMaxDimensions));
  }
  std::vector<int64_t>& shape = info.tensor.shape;
  for (uint32_t i = 0; i < dimensions; ++i) {
    uint64_t size = 0;
    TRIVIUM_RETURN_IF_ERROR(values_.Parse(&size));
    if (size > static_cast<uint64_t>(INT64_MAX)) {
      return broken("one of its sizes is not valid; fetch the file again");
    }
    shape.insert(shape.begin(), static_cast<int64_t>(size));
  }
  TRIVIUM_RETURN_IF_ERROR(values_.Parse(&number));
  TRIVIUM_RETURN_IF_ERROR(values_.Parse(&info.offset));
  const std::optional<DType> dtype = FindGgmlType(number);
  if (!dtype) {
    const std::string_view name = GgmlTypeName(number);
    return absl::UnimplementedError(fmt::format(
        "tensor {}: type {} is not supported; use the model in a usual type, "
        "such as BF16, Q8_0 or Q4_K_M",
        Quoted(info.name),
        name.empty() ? fmt::format("{}", number) : std::string(name)));
  }
  info.tensor.dtype = *dtype;
  const int block = BlockElements(*dtype);
  if (block > 1 && (shape.size() < 2 || shape.back() % block != 0)) {
    return broken(
        fmt::format("its shape [{}] does not have rows of whole blocks of {}, "
                    "which {} needs",
                    fmt::join(shape, ", "), block, DTypeName(*dtype)));
  }
  const std::optional<int64_t> elements = ElementCount(shape);
  const std::optional<int64_t> size =
      elements ? ByteCount(*elements, *dtype) : std::nullopt;
  if (!size) {
    return broken(
        fmt::format("its shape [{}] is too large; fetch the file "
                    "again",
                    fmt::join(shape, ", ")));
  }
  info.size = static_cast<uint64_t>(*size);
  return info;
}

absl::Status GgufReader::PlaceTensors(std::vector<Info> infos) {
  size_t alignment = kDefaultAlignment;
  if (const auto found = file_.metadata.find("general.alignment");
      found != file_.metadata.end()) {
    if (!found->is_number_unsigned() ||
        !std::has_single_bit(found->get<uint64_t>()) ||
        found->get<uint64_t>() > kMaxAlignment) {
      return Broken(
          fmt::format("general.alignment is not a power of two of at most {}; "
                      "fetch the file "
                      "again",
                      kMaxAlignment));
    }
    alignment = found->get<size_t>();
  }
  const size_t begin =
      (values_.position() + alignment - 1) / alignment * alignment;
  const std::span<const std::byte> data =
      bytes_.subspan(std::min(begin, bytes_.size()));
  std::sort(infos.begin(), infos.end(), [](const Info& a, const Info& b) {
    return std::pair(a.offset, a.size) < std::pair(b.offset, b.size);
  });
  uint64_t taken = 0;
  for (Info& info : infos) {
    if (info.offset % alignment != 0) {
      return Broken(fmt::format(
          "tensor {} is at byte {} of the data, which is not a multiple of {}; "
          "fetch the file again",
          Quoted(info.name), info.offset, alignment));
    }
    if (info.offset > data.size() || info.size > data.size() - info.offset) {
      return Broken(fmt::format(
          "tensor {} has {} bytes from byte {} of {} bytes of data; the file "
          "is truncated, fetch it again",
          Quoted(info.name), info.size, info.offset, data.size()));
    }
    if (info.offset < taken) {
      return Broken(
          fmt::format("tensor {} overlaps another; fetch the file again",
                      Quoted(info.name)));
    }
    taken = info.offset + info.size;
    info.tensor.data = data.subspan(info.offset, info.size);
    if (!file_.tensors.emplace(info.name, std::move(info.tensor)).second) {
      return Broken(fmt::format("tensor {} appears twice; fetch the file again",
                                Quoted(info.name)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<GgufFile> GgufReader::Read() {
  uint64_t tensors = 0, values = 0;
  TRIVIUM_RETURN_IF_ERROR(ReadCounts(&tensors, &values));
  file_.metadata = json::object();
  for (uint64_t i = 0; i < values; ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(const std::string name, values_.ParseName());
    absl::StatusOr<json> value = values_.ParseValue();
    if (!value.ok()) {
      return absl::Status(value.status().code(),
                          fmt::format("value {}: {}", Quoted(name),
                                      std::string(value.status().message())));
    }
    if (!file_.metadata.emplace(name, *std::move(value)).second) {
      return Broken(fmt::format("value {} appears twice; fetch the file again",
                                Quoted(name)));
    }
  }
  std::vector<Info> infos;
  for (uint64_t i = 0; i < tensors; ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(Info info, ReadInfo());
    TRIVIUM_RETURN_IF_ERROR(values_.Spend(sizeof(info) + info.name.size()));
    infos.push_back(std::move(info));
  }
  TRIVIUM_RETURN_IF_ERROR(PlaceTensors(std::move(infos)));
  return std::move(file_);
}

}  // namespace

absl::StatusOr<GgufFile> ReadGguf(std::span<const std::byte> bytes) {
  return GgufReader(bytes).Read();
}

}  // namespace trivium
