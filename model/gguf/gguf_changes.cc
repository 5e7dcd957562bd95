// Rows that stand in another order are read in it, so that memory never holds a
// copy; elements that move within a row, or change, are copied, and become f32
// if they are in blocks.
#include "model/gguf/gguf_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <string_view>

namespace trivium {
namespace {

constexpr int64_t kMostExperts = 4096;

std::string Misfit(const TensorView& tensor, const std::string& what) {
  return fmt::format("[{}] {}", fmt::join(tensor.shape, ", "), what);
}

// The rows of a matrix in another order: row i is row order[i] of `matrix`.
class OrderedRows : public PackedRows {
 public:
  OrderedRows(TensorView matrix, std::vector<int64_t> order)
      : PackedRows(matrix.shape[1], {.form = GroupFormOf(matrix)}),
        matrix_(std::move(matrix)),
        order_(std::move(order)) {}

  DType dtype() const { return matrix_.dtype; }

  void ReadGroups(int64_t first, std::span<GroupedRow> rows) const override {
    for (GroupedRow& row : rows) {
      trivium::ReadGroups(matrix_, order_[first++], std::span(&row, 1));
    }
  }

 private:
  void UnpackRows(int64_t first, int64_t count, float* out) const override {
    const auto size = static_cast<size_t>(columns());
    for (; count > 0; --count, out += size) {
      CopyToF32(matrix_, order_[first++] * columns(), std::span(out, size));
    }
  }

  const TensorView matrix_;
  const std::vector<int64_t> order_;
};

// Returns the type in which the file has a tensor.
DType FileType(const TensorView& tensor) {
  const auto* const rows = dynamic_cast<const OrderedRows*>(tensor.packed);
  return rows == nullptr ? tensor.dtype : rows->dtype();
}

}  // namespace

std::string GgufWeights::Quantization() const {
  std::map<std::string_view, size_t> bytes;
  for (const auto& [name, tensor] : tensors_) {
    const DType type = FileType(tensor);
    if (BlockElements(type) > 1) bytes[DTypeName(type)] += tensor.data.size();
  }
  std::vector<std::string_view> types;
  for (const auto& [type, size] : bytes) types.push_back(type);
  std::stable_sort(types.begin(), types.end(),
                   [&](auto a, auto b) { return bytes[a] > bytes[b]; });
  if (types.size() < 2) return std::string(types.empty() ? "" : types[0]);
  const std::string_view last = types.back();
  types.pop_back();
  return fmt::format("{} and {}", fmt::join(types, ", "), last);
}

std::string GgufChanges::Undo(const std::string& name, const TensorView& tensor,
                              const GgufTensorName& change) {
  const bool changed = change.change != GgufChange::kNone || change.part >= 0 ||
                       change.tiled != GgufTensorName::Tiled::kNo;
  if (changed &&
      (!IsReal(tensor) || tensor.data.empty() || tensor.shape.empty())) {
    return fmt::format("is {} [{}], which is not a weight",
                       DTypeName(tensor.dtype), fmt::join(tensor.shape, ", "));
  }
  if (change.change == GgufChange::kExperts) {
    if (tensor.shape.size() < 2 || tensor.shape.front() > kMostExperts) {
      return Misfit(tensor,
                    fmt::format("is not one of 1 to {} experts", kMostExperts));
    }
    AddExperts(name, tensor);
    return "";
  }
  copies_rows_ = change.part >= 0;
  TensorView view = tensor;
  std::string problem = Untile(change.tiled, &view);
  if (problem.empty()) problem = Change(change.change, &view);
  if (!problem.empty()) return problem;
  if (change.part < 0) {
    weights_->Add(name, std::move(view));
    return "";
  }
  Parts& parts = parts_[name];
  parts.flat |= change.change == GgufChange::kHeadRows ||
                change.change == GgufChange::kHeadColumns;
  parts.views.insert_or_assign(change.part, std::move(view));
  return "";
}

std::string GgufChanges::Change(GgufChange change, TensorView* tensor) {
  const size_t dimensions = tensor->shape.size();
  switch (change) {
    case GgufChange::kInterleavedQuery:
      return Uninterleave("num_attention_heads", tensor);
    case GgufChange::kInterleavedKey:
      return Uninterleave("num_key_value_heads", tensor);
    case GgufChange::kPlusOne:
      for (float& value : MakeF32(tensor)) value -= 1.0f;
      return "";
    case GgufChange::kTransposed:
      if (dimensions == 2) Transpose(tensor);
      return "";
    case GgufChange::kVector:
      tensor->shape = {tensor->elements()};
      return "";
    case GgufChange::kRow:
      tensor->shape = {1, tensor->elements()};
      return "";
    case GgufChange::kConvolution:
      if (dimensions == 2) {
        tensor->shape = {tensor->shape[0], 1, tensor->shape[1]};
      }
      return "";
    case GgufChange::kDecay:
      return UndoDecay(/*vector=*/true, tensor);
    case GgufChange::kDecayMatrix:
      return UndoDecay(/*vector=*/false, tensor);
    case GgufChange::kGroupedRows:
      return Group(tensor);
    case GgufChange::kHeadColumns:
      if (dimensions != 3) return Misfit(*tensor, "has no heads");
      Transpose(tensor);
      return "";
    case GgufChange::kHeadRows:
      return dimensions == 3 ? "" : Misfit(*tensor, "has no heads");
    case GgufChange::kRobertaPositions:
      PutPositionsBefore(tensor);
      return "";
    case GgufChange::kExperts:
    case GgufChange::kNone:
      break;
  }
  return "";
}

// A head's rows are a_0 a_1 ... b_0 b_1 ..., its two halves; the file has them
// as a_0 b_0 a_1 b_1 ...
std::string GgufChanges::Uninterleave(const char* heads_key,
                                      TensorView* tensor) {
  int64_t heads = Size(heads_key);
  if (heads == 0) heads = Size("num_attention_heads");
  const int64_t rows = tensor->shape.front();
  if (heads < 1 || rows % (2 * heads) != 0) {
    return fmt::format(
        "has {} rows, which cannot be two halves for each of {} heads", rows,
        heads);
  }
  const int64_t half = rows / heads / 2;
  std::vector<int64_t> order;
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t side = 0; side < 2; ++side) {
      for (int64_t i = 0; i < half; ++i) {
        order.push_back(head * 2 * half + 2 * i + side);
      }
    }
  }
  TakeRows(std::move(order), tensor);
  return "";
}

std::string GgufChanges::Group(TensorView* tensor) {
  const int64_t heads = std::max(Size("num_attention_heads"), Size("n_head"));
  const int64_t given = Size("num_kv_heads");
  const int64_t kv_heads = given == 0 ? heads : given;
  const int64_t rows = tensor->shape.front();
  if (heads < 1 || heads > rows || kv_heads > heads || heads % kv_heads != 0 ||
      rows % (heads + 2 * kv_heads) != 0) {
    return fmt::format(
        "has {} rows, which cannot be queries, keys and values of {} heads, "
        "and {} of keys",
        rows, heads, kv_heads);
  }
  const int64_t size = rows / (heads + 2 * kv_heads);
  const int64_t shared = heads / kv_heads;
  std::vector<int64_t> order;
  // The file numbers the heads of queries, then of keys, then of values.
  const auto take = [&](int64_t head) {
    for (int64_t i = 0; i < size; ++i) order.push_back(head * size + i);
  };
  for (int64_t group = 0; group < kv_heads; ++group) {
    for (int64_t i = 0; i < shared; ++i) take(group * shared + i);
    take(heads + group);
    take(heads + kv_heads + group);
  }
  TakeRows(std::move(order), tensor);
  return "";
}

std::string GgufChanges::Split(const TensorView& tensor,
                               std::vector<TensorView>* parts) {
  const int64_t heads = Size("num_attention_heads");
  const int64_t given = Size("num_key_value_heads");
  const int64_t kv_heads = given == 0 ? heads : given;
  const int64_t rows = tensor.shape.empty() ? 0 : tensor.shape.front();
  if (!IsReal(tensor) || tensor.data.empty() || rows < 1 || heads < 1 ||
      heads > rows || kv_heads > heads || rows % (heads + 2 * kv_heads) != 0) {
    return fmt::format(
        "has {} rows, which cannot be queries, keys and values of {} heads, "
        "and {} of keys",
        rows, heads, kv_heads);
  }
  TensorView all = tensor;
  if (all.shape.size() == 1) MakePlain(&all);
  const int64_t size = rows / (heads + 2 * kv_heads);
  const size_t row = all.data.size() / static_cast<size_t>(rows);
  size_t at = 0;
  for (const int64_t count : {heads, kv_heads, kv_heads}) {
    TensorView& part = parts->emplace_back(all);
    part.shape.front() = count * size;
    const size_t bytes = static_cast<size_t>(part.shape.front()) * row;
    part.data = all.data.subspan(at, bytes);
    at += bytes;
  }
  return "";
}

// With K heads of keys, the folder has the values of the first V / K heads,
// which belong to the first head of keys, together. The file has the first of
// each head of keys, then the second of each.
std::string GgufChanges::Untile(GgufTensorName::Tiled tiled,
                                TensorView* tensor) {
  if (tiled == GgufTensorName::Tiled::kNo) return "";
  const int64_t keys = Size("linear_num_key_heads");
  const int64_t values = Size("linear_num_value_heads");
  const int64_t width = Size("linear_value_head_dim");
  const bool rows = tiled == GgufTensorName::Tiled::kRows;
  const int64_t all = rows ? tensor->shape.front() : tensor->shape.back();
  const int64_t unit = all == values ? 1 : width;
  if (keys < 1 || values < 1 || values % keys != 0 || unit < 1 ||
      values > all || unit > all / values ||
      (!rows && tensor->shape.size() != 2)) {
    return Misfit(*tensor, fmt::format("does not fit {} heads of keys and {} "
                                       "of values with {} dimensions",
                                       keys, values, width));
  }
  const int64_t first = all - values * unit;
  const int64_t shared = values / keys;
  std::vector<int64_t> order(all);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t head = 0; head < values; ++head) {
    const int64_t stored = head % shared * keys + head / shared;
    for (int64_t i = 0; i < unit; ++i) {
      order[first + head * unit + i] = first + stored * unit + i;
    }
  }
  if (shared == 1) return "";
  if (rows) {
    TakeRows(std::move(order), tensor);
    return "";
  }
  TakeColumns(order, tensor);
  return "";
}

std::string GgufChanges::UndoDecay(bool vector, TensorView* tensor) {
  for (float& value : MakeF32(tensor)) {
    if (!(value < 0)) return "has a rate of decay that is not below 0";
    value = std::log(-value);
  }
  if (vector) tensor->shape = {tensor->elements()};
  return "";
}

// The last two dimensions.
void GgufChanges::Transpose(TensorView* tensor) {
  MakePlain(tensor);
  const size_t last = tensor->shape.size() - 1;
  const int64_t m = tensor->shape[last - 1], n = tensor->shape[last];
  const int64_t groups = m * n == 0 ? 0 : tensor->elements() / (m * n);
  const size_t size = static_cast<size_t>(DTypeSize(tensor->dtype));
  const std::span<std::byte> to = weights_->NewMemory(tensor->data.size());
  size_t at = 0;
  for (int64_t group = 0; group < groups; ++group) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < m; ++j, at += size) {
        std::memcpy(&to[at], &tensor->data[((group * m + j) * n + i) * size],
                    size);
      }
    }
  }
  std::swap(tensor->shape[last - 1], tensor->shape[last]);
  tensor->data = to;
}

void GgufChanges::PutPositionsBefore(TensorView* tensor) {
  if (config_.value("model_type", nlohmann::json()) != "roberta") return;
  const int64_t rows = tensor->shape.front();
  constexpr int64_t kMost = 1000;  // as the maker of config.json
  const int64_t more = std::min(Size("pad_token_id"), kMost) + 1;
  const size_t row = tensor->data.size() / static_cast<size_t>(rows);
  const size_t before = static_cast<size_t>(more) * row;
  // Memory is zeroed.
  const std::span<std::byte> to =
      weights_->NewMemory(before + tensor->data.size());
  std::memcpy(&to[before], tensor->data.data(), tensor->data.size());
  tensor->shape.front() += more;
  tensor->data = to;
}

void GgufChanges::AddExperts(const std::string& name,
                             const TensorView& tensor) {
  const int64_t experts = tensor.shape.front();
  const size_t size = tensor.data.size() / static_cast<size_t>(experts);
  const std::vector<int64_t> shape(tensor.shape.begin() + 1,
                                   tensor.shape.end());
  for (int64_t i = 0; i < experts; ++i) {
    weights_->Add(fmt::format(fmt::runtime(name), i),
                  {tensor.dtype, shape,
                   tensor.data.subspan(static_cast<size_t>(i) * size, size)});
  }
}

std::string GgufChanges::Join() {
  for (const auto& [name, parts] : parts_) {
    std::string problem = JoinParts(name, parts);
    if (!problem.empty()) return problem;
  }
  return "";
}

// Joins rows, which are the last dimension but one, or the only one.
std::string GgufChanges::JoinParts(const std::string& name,
                                   const Parts& parts) {
  std::vector<TensorView> views;
  for (const auto& [part, view] : parts.views) views.push_back(view);
  TensorView joined = views.front();
  const size_t rank = joined.shape.size();
  const size_t rows = rank < 2 ? 0 : rank - 2;
  bool same = true;
  for (size_t i = 1; i < views.size(); ++i) {
    std::vector<int64_t> shape = views[i].shape;
    if (shape.size() != rank)
      return fmt::format("{} has parts that differ", name);
    joined.shape[rows] += shape[rows];
    shape[rows] = views.front().shape[rows];
    if (shape != views.front().shape) {
      return fmt::format("{} has parts that differ", name);
    }
    same = same && views[i].dtype == joined.dtype;
  }
  if (!same) {
    for (TensorView& view : views) MakeF32(&view);
    joined.dtype = DType::kF32;
  }
  size_t groups = 1, size = 0;
  for (size_t i = 0; i < rows; ++i) {
    groups *= static_cast<size_t>(joined.shape[i]);
  }
  for (const TensorView& view : views) size += view.data.size();
  const std::span<std::byte> to = weights_->NewMemory(size);
  size_t at = 0;
  for (size_t group = 0; group < groups; ++group) {
    for (const TensorView& view : views) {
      const size_t bytes = view.data.size() / groups;
      std::memcpy(&to[at], &view.data[group * bytes], bytes);
      at += bytes;
    }
  }
  joined.data = to;
  if (parts.flat) {
    joined.shape = {joined.shape[0] * joined.shape[1], joined.shape[2]};
  }
  weights_->Add(name, std::move(joined));
  return "";
}

int64_t GgufChanges::Size(const char* key) const {
  const auto value = config_.find(key);
  if (value == config_.end() || !value->is_number_integer()) return 0;
  return std::clamp(value->get<int64_t>(), int64_t{0}, int64_t{INT32_MAX});
}

void GgufChanges::TakeRows(std::vector<int64_t> order, TensorView* tensor) {
  const std::vector<int64_t>& shape = tensor->shape;
  if (!copies_rows_ && shape.size() == 2 && shape[1] > 0 &&
      tensor->packed == nullptr) {
    // `data` stays: it is what may be dropped from memory.
    TensorView ordered = *tensor;
    ordered.packed = weights_->Keep(
        std::make_unique<OrderedRows>(*tensor, std::move(order)));
    // A type that holds the values of blocks.
    if (BlockElements(tensor->dtype) > 1) ordered.dtype = DType::kF32;
    *tensor = std::move(ordered);
    return;
  }
  // A vector's rows are its elements.
  if (shape.size() == 1) MakePlain(tensor);
  const size_t row =
      tensor->data.size() / static_cast<size_t>(tensor->shape.front());
  const std::span<std::byte> to = weights_->NewMemory(tensor->data.size());
  for (size_t i = 0; i < order.size(); ++i) {
    std::memcpy(&to[i * row], &tensor->data[order[i] * row], row);
  }
  tensor->data = to;
}

void GgufChanges::TakeColumns(const std::vector<int64_t>& order,
                              TensorView* tensor) {
  MakePlain(tensor);
  const size_t size = static_cast<size_t>(DTypeSize(tensor->dtype));
  const size_t row = order.size() * size;
  const std::span<std::byte> to = weights_->NewMemory(tensor->data.size());
  for (size_t begin = 0; begin < to.size(); begin += row) {
    for (size_t i = 0; i < order.size(); ++i) {
      std::memcpy(&to[begin + i * size], &tensor->data[begin + order[i] * size],
                  size);
    }
  }
  tensor->data = to;
}

std::span<float> GgufChanges::MakeF32(TensorView* tensor) {
  const size_t count = static_cast<size_t>(tensor->elements());
  const std::span<std::byte> bytes = weights_->NewMemory(count * sizeof(float));
  // The memory of a vector is aligned for every type.
  const std::span<float> values(reinterpret_cast<float*>(bytes.data()), count);
  CopyToF32(*tensor, 0, values);
  *tensor = {DType::kF32, tensor->shape, bytes};
  return values;
}

void GgufChanges::MakePlain(TensorView* tensor) {
  if (BlockElements(tensor->dtype) != 1 || tensor->packed != nullptr) {
    MakeF32(tensor);
  }
}

}  // namespace trivium
