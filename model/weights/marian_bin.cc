// A file of Marian's has all headers first, then all names, all shapes and all
// data. So the reader collects the headers as Items, adds names and shapes in
// the same order, and creates tensors only while it walks the data. Each part
// is consumed from the remaining bytes, so no length can point outside the
// file.
//
// What is stored for intgemm8 differs from what Marian's config says: the
// matrix is stored transposed, [out, in], but its shape says [in, out];
// embeddings are the exception. The scale of all rows is one number after the
// data.
#include "model/weights/marian_bin.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/weights/copy_arena.h"

namespace trivium {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kVersion = 1;
// More items than any model has.
constexpr uint64_t kMostItems = 1 << 16;
constexpr uint64_t kMostDimensions = 8;

enum class Storage { kPlain, kQuantized, kRefused };

// Types by Marian's numbers (its src/common/types.h). Bergamot's fork of
// Marian, which makes Firefox's models, has other numbers for intgemm's types.
struct ItemType {
  uint64_t number;
  std::string_view name;
  Storage storage = Storage::kRefused;
  DType dtype = DType::kI8;
};
constexpr ItemType kItemTypes[] = {
    {0x404, "float32", Storage::kPlain, DType::kF32},
    {0x402, "float16", Storage::kPlain, DType::kF16},
    {0x101, "int8", Storage::kPlain, DType::kI8},
    {0x10001, "intgemm8", Storage::kQuantized, DType::kI8},
    {0x4101, "intgemm8", Storage::kQuantized, DType::kI8},
    {0x10002, "intgemm16"},
    {0x4102, "intgemm16"},
    {0x18001, "intgemm8ssse3"},
    {0x11001, "intgemm8avx2"},
    {0x12001, "intgemm8avx512"},
    {0x13001, "intgemm8avx512vnni"},
    {0x14002, "intgemm16sse2"},
    {0x11002, "intgemm16avx2"},
    {0x12002, "intgemm16avx512"},
    {0x802, "packed16"},
    {0x1801, "packed8avx2"},
    {0x2801, "packed8avx512"},
};

struct Item {
  uint64_t name_length = 0;  // including the NUL at the end
  uint64_t type = 0;
  uint64_t dimensions = 0;
  uint64_t length = 0;  // bytes of the data
  std::string name;
  std::vector<int64_t> shape;
};

absl::Status BrokenItem(const std::string& what) {
  return absl::InvalidArgumentError(what + "; fetch the file again");
}

// Consumes the parts of a file one after the other.
class Parts {
 public:
  explicit Parts(std::span<const std::byte> bytes) : left_(bytes) {}

  absl::StatusOr<std::span<const std::byte>> Consume(uint64_t size,
                                                     std::string_view what) {
    if (size > left_.size()) {
      return BrokenItem(fmt::format("ends within {}", what));
    }
    const auto part = left_.first(size);
    left_ = left_.subspan(size);
    return part;
  }
  template <class T>
  absl::Status ReadNumber(std::string_view what, T* number) {
    TRIVIUM_ASSIGN_OR_RETURN(const auto part, Consume(sizeof(T), what));
    std::memcpy(number, part.data(), sizeof(T));
    return absl::OkStatus();
  }

 private:
  std::span<const std::byte> left_;
};

class MarianBinReader {
 public:
  explicit MarianBinReader(std::span<const std::byte> bytes)
      : parts_(bytes), arena_(std::make_shared<CopyArena>(bytes.size())) {}

  absl::StatusOr<TensorFile> Read();

 private:
  absl::StatusOr<std::vector<Item>> ReadItems();
  absl::Status ReadName(Item* item);
  absl::Status ReadShape(Item* item);
  absl::StatusOr<TensorView> MakeTensor(const Item& item,
                                        std::span<const std::byte> data);
  absl::StatusOr<TensorView> MakeQuantized(const Item& item, int64_t elements,
                                           std::span<const std::byte> data);

  Parts parts_;
  // Holds one scale per row. It fits into the capacity of the file's size if
  // rows have four or more numbers.
  const std::shared_ptr<CopyArena> arena_;
  TensorFile file_;
};

absl::Status MarianBinReader::ReadName(Item* item) {
  TRIVIUM_ASSIGN_OR_RETURN(
      const auto bytes, parts_.Consume(item->name_length, "its items' names"));
  const std::string_view name(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  if (name.empty() || name.find('\0') != name.size() - 1) {
    return BrokenItem(
        fmt::format("has {}, which is not an item's name", Quoted(name)));
  }
  item->name = name.substr(0, name.size() - 1);
  return absl::OkStatus();
}

absl::Status MarianBinReader::ReadShape(Item* item) {
  if (item->dimensions > kMostDimensions) {
    return BrokenItem(fmt::format("item {} claims {} dimensions",
                                  Quoted(item->name), item->dimensions));
  }
  for (uint64_t i = 0; i < item->dimensions; ++i) {
    int32_t size = 0;
    TRIVIUM_RETURN_IF_ERROR(parts_.ReadNumber("its items' shapes", &size));
    item->shape.push_back(size);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Item>> MarianBinReader::ReadItems() {
  constexpr std::string_view kHeaders = "its items' headers";
  uint64_t version = 0, count = 0, padding = 0;
  if (!parts_.ReadNumber("", &version).ok() || version != kVersion) {
    return absl::InvalidArgumentError(
        "does not begin like a Marian binary model of version 1; use a .bin "
        "that marian-conv has made, or the model's .npz");
  }
  TRIVIUM_RETURN_IF_ERROR(parts_.ReadNumber(kHeaders, &count));
  if (count > kMostItems) {
    return BrokenItem(fmt::format("claims {} items", count));
  }
  std::vector<Item> items(count);
  for (Item& item : items) {
    for (uint64_t* const number :
         {&item.name_length, &item.type, &item.dimensions, &item.length}) {
      TRIVIUM_RETURN_IF_ERROR(parts_.ReadNumber(kHeaders, number));
    }
  }
  for (Item& item : items) TRIVIUM_RETURN_IF_ERROR(ReadName(&item));
  for (Item& item : items) TRIVIUM_RETURN_IF_ERROR(ReadShape(&item));
  TRIVIUM_RETURN_IF_ERROR(parts_.ReadNumber("its padding", &padding));
  TRIVIUM_RETURN_IF_ERROR(parts_.Consume(padding, "its padding").status());
  return items;
}

absl::StatusOr<TensorView> MarianBinReader::MakeQuantized(
    const Item& item, int64_t elements, std::span<const std::byte> data) {
  float multiplier = 0;
  if (data.size() - elements < sizeof(multiplier)) {
    return BrokenItem("has no quantization multiplier after its data");
  }
  std::memcpy(&multiplier, data.data() + elements, sizeof(multiplier));
  const float scale = 1 / multiplier;
  if (!(multiplier > 0) || !std::isfinite(multiplier) ||
      !std::isfinite(scale)) {
    return BrokenItem(fmt::format(
        "has the quantization multiplier {}, which is not valid", multiplier));
  }
  TensorView tensor = {DType::kI8, item.shape, data.first(elements)};
  const bool turned = item.name.find("Wemb") == item.name.npos;
  if (turned && tensor.shape.size() == 2) {
    std::swap(tensor.shape[0], tensor.shape[1]);
  }
  const int64_t rows = tensor.shape.size() == 2 ? tensor.shape[0] : 1;
  const auto scales = arena_->Allocate(rows * sizeof(scale));
  if (!scales) {
    return BrokenItem(
        "has more rows than memory, or the size of the file, allows");
  }
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(scales->data() + i * sizeof(scale), &scale, sizeof(scale));
  }
  const auto row_scales =
      std::make_shared<TensorView>(TensorView{DType::kF32, {rows, 1}, *scales});
  tensor.row_scales = row_scales.get();
  file_.memory.push_back(row_scales);
  return tensor;
}

absl::StatusOr<TensorView> MarianBinReader::MakeTensor(
    const Item& item, std::span<const std::byte> data) {
  const auto type =
      std::find_if(std::begin(kItemTypes), std::end(kItemTypes),
                   [&](const ItemType& t) { return t.number == item.type; });
  if (type == std::end(kItemTypes) || type->storage == Storage::kRefused) {
    return absl::InvalidArgumentError(fmt::format(
        "is of type {}, but only float32, float16 and intgemm8 are supported; "
        "convert the model's .npz with marian-conv --gemm-type intgemm8, "
        "or use that .npz",
        type == std::end(kItemTypes) ? fmt::format("{:#x}", item.type)
                                     : std::string(type->name)));
  }
  const bool quantized = type->storage == Storage::kQuantized;
  const std::optional<int64_t> elements = ElementCount(item.shape);
  const std::optional<int64_t> size =
      elements ? ByteCount(*elements, type->dtype) : std::nullopt;
  if (!size || static_cast<uint64_t>(*size) > data.size() ||
      (quantized && (item.shape.empty() || item.shape.size() > 2))) {
    return BrokenItem(fmt::format("has {} bytes, which do not match [{}] {}",
                                  data.size(), fmt::join(item.shape, ", "),
                                  type->name));
  }
  if (quantized) return MakeQuantized(item, *elements, data);
  return TensorView{type->dtype, item.shape, data.first(*size)};
}

absl::StatusOr<TensorFile> MarianBinReader::Read() {
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Item> items, ReadItems());
  for (const Item& item : items) {
    const std::string name = Quoted(item.name);
    TRIVIUM_ASSIGN_OR_RETURN(const auto data,
                             parts_.Consume(item.length, "item " + name));
    absl::StatusOr<TensorView> tensor = MakeTensor(item, data);
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(fmt::format(
          "item {} {}", name, std::string(tensor.status().message())));
    }
    if (!file_.tensors.emplace(item.name, *std::move(tensor)).second) {
      return BrokenItem(fmt::format("item {} appears twice", name));
    }
  }
  file_.memory.push_back(arena_);
  return std::move(file_);
}

}  // namespace

absl::StatusOr<TensorFile> ReadMarianBin(std::span<const std::byte> bytes) {
  return MarianBinReader(bytes).Read();
}

}  // namespace trivium
