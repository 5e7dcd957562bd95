// Converts a pickle to tensors. Every value of the root dict that is a tensor
// has a storage, an offset, sizes and strides. The storage's bytes come from
// the caller's lookup, which differs between the zip and the older format.
//
// A view must stay within its storage and must not have more elements than it
// (a stride of 0 could claim terabytes). A contiguous view becomes a TensorView
// of the storage; others are copied to the arena, whose capacity is the file's
// size.
#include "model/weights/torch_state.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/status.h"
#include "model/weights/pickle_globals.h"

namespace trivium {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxTensorDimensions = 16;

absl::Status StateProblem(std::string what) {
  return absl::InvalidArgumentError(std::move(what));
}

// Parses a tuple or list of integers >= 0.
std::optional<std::vector<int64_t>> ParseSizes(const Pickle& pickle,
                                               const PickleValue& value) {
  if ((value.kind != Kind::kTuple && value.kind != Kind::kList) ||
      value.items.size() > kMaxTensorDimensions) {
    return std::nullopt;
  }
  std::vector<int64_t> sizes;
  for (const uint32_t item : value.items) {
    const PickleValue& size = pickle.at(item);
    if (size.kind != Kind::kInteger || size.integer < 0) return std::nullopt;
    sizes.push_back(size.integer);
  }
  return sizes;
}

// A view of a storage: element (i, j...) is at offset + i * stride[0] + ...
struct StridedView {
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;

  bool Contiguous() const {
    int64_t expected = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      if (shape[i] != 1 && strides[i] != expected) return false;
      expected *= shape[i];
    }
    return true;
  }

  // Returns one past the last element that it reads; nullopt on overflow.
  std::optional<int64_t> End() const {
    int64_t end = offset;
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t span;
      if (shape[i] == 0) return offset;
      if (__builtin_mul_overflow(shape[i] - 1, strides[i], &span) ||
          __builtin_add_overflow(end, span, &end)) {
        return std::nullopt;
      }
    }
    if (__builtin_add_overflow(end, 1, &end)) return std::nullopt;
    return end;
  }
};

// Copies the view's elements in row-major order.
void CopyRowMajor(const StridedView& view, std::span<const std::byte> storage,
                  size_t element_size, std::span<std::byte> out) {
  std::vector<int64_t> index(view.shape.size(), 0);
  int64_t from = view.offset;
  for (size_t to = 0; to < out.size(); to += element_size) {
    std::memcpy(out.data() + to, storage.data() + from * element_size,
                element_size);
    for (size_t i = index.size(); i-- > 0;) {
      from += view.strides[i];
      if (++index[i] < view.shape[i]) break;
      from -= index[i] * view.strides[i];
      index[i] = 0;
    }
  }
}

absl::StatusOr<StridedView> ParseView(const Pickle& pickle,
                                      const PickleValue& tensor,
                                      const TorchStorage& storage) {
  const PickleValue& offset = pickle.at(tensor.items[1]);
  auto shape = ParseSizes(pickle, pickle.at(tensor.items[2]));
  auto strides = ParseSizes(pickle, pickle.at(tensor.items[3]));
  if (offset.kind != Kind::kInteger || offset.integer < 0 || !shape ||
      !strides || shape->size() != strides->size()) {
    return StateProblem("its offset, sizes or strides make no sense");
  }
  StridedView view{offset.integer, *std::move(shape), *std::move(strides)};
  // The stride of a dimension of one element is never used and may be anything.
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 1) view.strides[i] = 0;
  }

  const std::optional<int64_t> count = ElementCount(view.shape);
  const std::optional<int64_t> end = view.End();
  if (!count || !end || *end > storage.elements) {
    return StateProblem(fmt::format(
        "sizes [{}] with strides [{}] at element {} reach beyond the {} "
        "elements of its storage",
        fmt::join(view.shape, ", "), fmt::join(view.strides, ", "), view.offset,
        storage.elements));
  }
  // Only a stride of 0 repeats elements, which no published weights do.
  if (*count > storage.elements) {
    return StateProblem(
        "it repeats the elements of its storage; save a contiguous copy");
  }
  return view;
}

absl::StatusOr<TensorView> ReadTensor(const Pickle& pickle,
                                      const PickleValue& tensor,
                                      const StorageLookup& lookup,
                                      CopyArena* arena) {
  const std::optional<TorchStorage> storage =
      ParseTorchStorage(pickle, pickle.at(tensor.items[0]));
  if (!storage) return StateProblem("its storage has no valid description");
  if (!storage->dtype) {
    return StateProblem(fmt::format(
        "a {} is not supported; save the tensor as float32", storage->type));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const StridedView view,
                           ParseView(pickle, tensor, *storage));
  const std::optional<int64_t> root_bytes =
      ByteCount(storage->root_elements, *storage->dtype);
  if (!root_bytes) return StateProblem("its storage is larger than any memory");
  TRIVIUM_ASSIGN_OR_RETURN(std::span<const std::byte> bytes,
                           lookup(storage->key, *root_bytes));
  const size_t element_size = DTypeSize(*storage->dtype);
  bytes = bytes.subspan(storage->offset * element_size,
                        storage->elements * element_size);
  TensorView result{*storage->dtype, view.shape, {}};
  const size_t size = *ElementCount(view.shape) * element_size;
  if (size == 0) return result;
  if (view.Contiguous()) {
    result.data = bytes.subspan(view.offset * element_size, size);
    return result;
  }
  const std::optional<std::span<std::byte>> copy = arena->Allocate(size);
  if (!copy)
    return StateProblem(
        "there is not enough memory for a contiguous copy of it");
  CopyRowMajor(view, bytes, element_size, *copy);
  result.data = *copy;
  return result;
}

}  // namespace

std::optional<TorchStorage> ParseTorchStorage(const Pickle& pickle,
                                              const PickleValue& storage) {
  // The tuple is ("storage", type, key, device, elements[, view]); the
  // unpickler has checked the kinds of its elements.
  TorchStorage result;
  result.type = pickle.at(storage.items[1]).text;
  result.dtype = StorageDType(result.type);
  result.key = pickle.at(storage.items[2]).text;
  result.root_elements = pickle.at(storage.items[4]).integer;
  if (result.root_elements < 0) return std::nullopt;
  result.elements = result.root_elements;
  if (storage.items.size() < 6) return result;
  const PickleValue& view = pickle.at(storage.items[5]);
  if (view.kind == Kind::kNone) return result;
  // `view` is (its own key, offset, elements).
  if (view.kind != Kind::kTuple || view.items.size() != 3) return std::nullopt;
  const PickleValue& offset = pickle.at(view.items[1]);
  const PickleValue& elements = pickle.at(view.items[2]);
  if (offset.kind != Kind::kInteger || elements.kind != Kind::kInteger ||
      offset.integer < 0 || elements.integer < 0 ||
      offset.integer > result.root_elements ||
      elements.integer > result.root_elements - offset.integer) {
    return std::nullopt;
  }
  result.offset = offset.integer;
  result.elements = elements.integer;
  return result;
}

absl::StatusOr<TensorFile> ReadTorchState(const Pickle& pickle,

                                          const StorageLookup& lookup,
                                          std::shared_ptr<CopyArena> arena) {
  const PickleValue& root = pickle.at(pickle.root);
  if (root.kind != Kind::kDict) {
    return StateProblem(
        "does not contain a dictionary of tensors; save the model's "
        "state_dict() "
        "in it");
  }
  TensorFile result;
  result.memory.push_back(arena);
  for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
    const PickleValue& name = pickle.at(root.items[i]);
    const PickleValue& value = pickle.at(root.items[i + 1]);
    if (name.kind != Kind::kString || value.kind != Kind::kTensor) continue;
    absl::StatusOr<TensorView> tensor =
        ReadTensor(pickle, value, lookup, arena.get());
    if (!tensor.ok()) {
      return StateProblem(fmt::format("tensor {}: {}", Quoted(name.text),
                                      std::string(tensor.status().message())));
    }
    if (!result.tensors.emplace(name.text, *std::move(tensor)).second) {
      return StateProblem(
          fmt::format("tensor {} appears twice", Quoted(name.text)));
    }
  }
  if (result.tensors.empty()) {
    return StateProblem("has no tensors; save the model's state_dict() in it");
  }
  return result;
}

}  // namespace trivium
