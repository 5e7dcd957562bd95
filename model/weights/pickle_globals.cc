#include "model/weights/pickle_globals.h"

#include <array>

namespace trivium {
namespace {

constexpr std::array<std::string_view, 4> kCallables = {
    kOrderedDict, kRebuildTensor, kRebuildTensorV2, kRebuildParameter};

// The modules that different versions of torch use for storage classes.
constexpr std::array<std::string_view, 3> kStorageModules = {
    "torch.", "torch.cuda.", "torch.storage."};

struct StorageClass {
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr std::array<StorageClass, 10> kStorageClasses = {{
    {"FloatStorage", DType::kF32},
    {"HalfStorage", DType::kF16},
    {"BFloat16Storage", DType::kBf16},
    {"LongStorage", DType::kI64},
    {"IntStorage", DType::kI32},
    {"ByteStorage", DType::kU8},
    {"BoolStorage", DType::kBool},
    {"DoubleStorage", std::nullopt},
    {"ShortStorage", std::nullopt},
    {"CharStorage", std::nullopt},
}};

const StorageClass* FindStorageClass(std::string_view global) {
  for (const std::string_view module : kStorageModules) {
    if (global.substr(0, module.size()) != module) continue;
    for (const StorageClass& storage : kStorageClasses) {
      if (global.substr(module.size()) == storage.name) return &storage;
    }
  }
  return nullptr;
}

}  // namespace

bool IsAllowedGlobal(std::string_view global) {
  for (const std::string_view name : kCallables) {
    if (global == name) return true;
  }
  return FindStorageClass(global) != nullptr;
}

std::optional<DType> StorageDType(std::string_view global) {
  const StorageClass* storage = FindStorageClass(global);
  return storage == nullptr ? std::nullopt : storage->dtype;
}

}  // namespace trivium
