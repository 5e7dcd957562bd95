// The first file of a folder that exists decides, in the order below; a folder
// is never a mixture of formats. All files are mapped and stay open, because
// tensors are views of them; copies that a format needs are owned by
// TensorFile::memory. A reader's error names the tensor, and the file's name is
// added here.
#include "model/weights/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "model/weights/mapped_file.h"
#include "model/weights/marian_bin.h"
#include "model/weights/npz_file.h"
#include "model/weights/safetensors.h"
#include "model/weights/tensor_file.h"
#include "model/weights/torch_legacy.h"
#include "model/weights/torch_zip.h"

namespace trivium {
namespace {

// The files that a folder may have, in the order in which Transformers looks.
constexpr std::string_view kSafetensors = "model.safetensors";
constexpr std::string_view kSafetensorsIndex = "model.safetensors.index.json";
constexpr std::string_view kTorch = "pytorch_model.bin";
constexpr std::string_view kTorchIndex = "pytorch_model.bin.index.json";

bool StartsWith(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin(),
                    [](char c, std::byte byte) {
                      return static_cast<std::byte>(c) == byte;
                    });
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

// Reads a file of one format.
using Reader = absl::StatusOr<TensorFile> (*)(std::span<const std::byte>);

// Parses a weights file with `reader` or, if that is null, in the format that
// the file's name and first bytes indicate.
absl::StatusOr<TensorFile> Parse(std::span<const std::byte> bytes,
                                 std::string_view name, Reader reader) {
  if (StartsWith(bytes, "version https://git-lfs")) {
    return absl::InvalidArgumentError(
        "is a Git LFS pointer instead of the weights; run `git lfs pull` in "
        "the folder");
  }
  if (reader != nullptr) return reader(bytes);
  if (EndsWith(name, ".safetensors")) return ReadSafetensors(bytes);
  if (StartsWith(bytes, "PK")) return ReadTorchZip(bytes);
  if (StartsWith(bytes, "\x80")) return ReadTorchLegacy(bytes);
  return absl::InvalidArgumentError(
      "is neither of the two formats that torch writes; fetch it again");
}

class MappedWeights : public MapWeights {
 public:
  absl::Status Load(const std::string& path, Reader reader = nullptr) {
    TRIVIUM_ASSIGN_OR_RETURN(TensorFile file, Map(path, reader));
    tensors_ = std::move(file.tensors);
    return absl::OkStatus();
  }

  // Loads the tensors of several files, as the index says.
  absl::Status LoadShards(const std::string& folder, const std::string& index);

  std::string Fingerprint() const override { return FingerprintOf(tensors_); }

  std::string Origin() const override {
    std::string origin;
    for (const auto& file : files_) origin += OriginOf(*file);
    return origin;
  }

  void ReadAhead() const override {
    for (const auto& file : files_) file->ReadAhead();
  }

  absl::Status CheckUnchanged() const override {
    for (const auto& file : files_) {
      TRIVIUM_RETURN_IF_ERROR(file->CheckUnchanged());
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<TensorFile> Map(const std::string& path,
                                 Reader reader = nullptr) {
    TRIVIUM_ASSIGN_OR_RETURN(auto file, MappedFile::Open(path));
    absl::StatusOr<TensorFile> tensors = Parse(file->bytes(), path, reader);
    TRIVIUM_RETURN_IF_ERROR(file->CheckUnchanged());
    if (!tensors.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: {}", path, std::string(tensors.status().message())));
    }
    files_.push_back(std::move(file));
    for (auto& memory : tensors->memory) memory_.push_back(std::move(memory));
    return tensors;
  }

  std::vector<std::unique_ptr<MappedFile>> files_;
  std::vector<std::shared_ptr<const void>> memory_;
};

absl::Status MappedWeights::LoadShards(const std::string& folder,
                                       const std::string& index) {
  const std::string path = folder + "/" + index;
  const auto problem = [&](const std::string& what) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", path, what));
  };
  TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonFile(path));
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object() || map->empty()) {
    return problem("has no weight_map; fetch the file again");
  }
  std::map<std::string, TensorMap> shards;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) {
      return problem(fmt::format("tensor {} has no file name", Quoted(tensor)));
    }
    const std::string& name = shard.get_ref<const std::string&>();
    // Only a plain name: an index must not name files outside its folder.
    if (name.empty() || name.find('/') != name.npos ||
        name.find('\0') != name.npos || name == "." || name == "..") {
      return problem(fmt::format(
          "tensor {} is in {}, which is not a file name of this folder",
          Quoted(tensor), Quoted(name)));
    }
    auto loaded = shards.find(name);
    if (loaded == shards.end()) {
      absl::StatusOr<TensorFile> file = Map(folder + "/" + name);
      if (!file.ok()) {
        // A missing shard makes a broken folder, not a folder without weights.
        return absl::InvalidArgumentError(
            fmt::format("{} (named by {}); fetch the file again",
                        std::string(file.status().message()), index));
      }
      loaded = shards.emplace(name, std::move(file->tensors)).first;
    }
    auto found = loaded->second.find(tensor);
    if (found == loaded->second.end()) {
      return problem(fmt::format(
          "tensor {} is not in {}, where it should be; fetch both files again",
          Quoted(tensor), Quoted(name)));
    }
    tensors_.insert(loaded->second.extract(found));
  }
  return absl::OkStatus();
}

// Says which weights of other programs a folder has; empty if there are none.
std::string DescribeOtherWeights(const std::string& folder) {
  namespace fs = std::filesystem;
  std::string found;
  for (const char* const place : {"", "onnx"}) {
    std::error_code error;
    for (fs::directory_iterator entry(fs::path(folder) / place, error), end;
         !error && entry != end; entry.increment(error)) {
      const fs::path path = entry->path();
      const std::string ending = path.extension().string();
      if (ending == ".gguf") {
        return fmt::format(
            "; its {} is a model by itself: give that file's "
            "path",
            path.filename().string());
      }
      for (const char* const other :
           {".onnx", ".h5", ".msgpack", ".ot", ".pth", ".tflite"}) {
        if (ending != other) continue;
        const std::string name =
            (fs::path(place) / path.filename()).generic_string();
        // The first by name, whatever the order of the folder is.
        if (found.empty() || name < found) found = name;
      }
    }
  }
  if (found.empty()) return "";
  return fmt::format("; its {} is in a format that is not read here", found);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Weights>> Weights::Open(
    const std::string& folder) {
  auto weights = std::make_unique<MappedWeights>();
  for (const std::string_view name :
       {kSafetensors, kSafetensorsIndex, kTorch, kTorchIndex}) {
    const bool index = EndsWith(name, ".json");
    const absl::Status status =
        index ? weights->LoadShards(folder, std::string(name))
              : weights->Load(fmt::format("{}/{}", folder, name));
    if (status.ok()) return weights;
    if (!absl::IsNotFound(status)) return status;
  }
  return absl::NotFoundError(
      fmt::format("{}: has no weights; put one of {}, {}, {} or {} there{}",
                  folder, kSafetensors, kSafetensorsIndex, kTorch, kTorchIndex,
                  DescribeOtherWeights(folder)));
}

absl::StatusOr<std::unique_ptr<Weights>> Weights::OpenMarian(
    const std::string& path) {
  auto weights = std::make_unique<MappedWeights>();
  TRIVIUM_RETURN_IF_ERROR(
      weights->Load(path, EndsWith(path, ".npz") ? ReadNpz : ReadMarianBin));
  return weights;
}

absl::StatusOr<std::unique_ptr<Weights>> Weights::OpenTorch(
    const std::string& path) {
  auto weights = std::make_unique<MappedWeights>();
  TRIVIUM_RETURN_IF_ERROR(weights->Load(path));
  return weights;
}

}  // namespace trivium
