#ifndef TRIVIUM_TESTS_MODEL_WEIGHTS_WEIGHT_FILES_H_
#define TRIVIUM_TESTS_MODEL_WEIGHTS_WEIGHT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trivium {

// Builds weights files byte by byte, valid and broken.

inline std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string LittleEndian(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xff);
  }
  return bytes;
}

inline std::string Floats(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(float));
}

inline std::string Safetensors(std::string_view header, std::string_view data) {
  return LittleEndian(header.size(), 8) + std::string(header) +
         std::string(data);
}

// Builds a pickle of protocol 2, as torch.save writes it.
class PickleWriter {
 public:
  PickleWriter() : bytes_("\x80\x02") {}

  PickleWriter& Raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  PickleWriter& Text(std::string_view text) {
    return Raw("X").Raw(LittleEndian(text.size(), 4)).Raw(text);
  }
  PickleWriter& Int(int64_t value) {
    return Raw("\x8a\x08").Raw(LittleEndian(static_cast<uint64_t>(value), 8));
  }
  PickleWriter& Ints(const std::vector<int64_t>& values) {
    Raw("(");
    for (const int64_t value : values) Int(value);
    return Raw("t");
  }
  PickleWriter& Global(std::string_view module, std::string_view name) {
    return Raw("c").Raw(module).Raw("\n").Raw(name).Raw("\n");
  }

  // Adds a tensor that is a view of elements of the storage `key`.
  struct Tensor {
    std::string type = "FloatStorage";
    std::string key = "0";
    int64_t storage_elements = 0;
    int64_t offset = 0;
    std::vector<int64_t> shape = {};
    std::vector<int64_t> strides = {};
  };
  PickleWriter& Rebuild(const Tensor& tensor) {
    Global("torch._utils", "_rebuild_tensor_v2").Raw("((");
    Text("storage").Global("torch", tensor.type).Text(tensor.key).Text("cpu");
    Int(tensor.storage_elements).Raw("tQ").Int(tensor.offset);
    Ints(tensor.shape).Ints(tensor.strides).Raw("\x89");
    return Global("collections", "OrderedDict").Raw(")RtR");
  }

  std::string Stop() { return bytes_ + "."; }

 private:
  std::string bytes_;
};

// Returns the pickle of a state dict.
inline std::string StateDict(
    const std::vector<std::pair<std::string, PickleWriter::Tensor>>& tensors) {
  PickleWriter writer;
  writer.Raw("}(");
  for (const auto& [name, tensor] : tensors) writer.Text(name).Rebuild(tensor);
  return writer.Raw("u").Stop();
}

// Returns a file in torch's format before 1.6; `storages` are (key, elements,
// data).
struct LegacyStorage {
  std::string key;
  int64_t elements;
  std::string data;
};
inline std::string TorchLegacy(const std::string& state,
                               const std::vector<LegacyStorage>& storages,
                               bool little_endian = true) {
  std::string file =
      PickleWriter()
          .Raw("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")
          .Stop();
  file += PickleWriter().Int(1001).Stop();
  file += PickleWriter()
              .Raw("}(")
              .Text("little_endian")
              .Raw(little_endian ? "\x88" : "\x89")
              .Raw("u")
              .Stop();
  file += state;
  PickleWriter keys;
  keys.Raw("](");
  for (const LegacyStorage& storage : storages) keys.Text(storage.key);
  file += keys.Raw("e").Stop();
  for (const LegacyStorage& storage : storages) {
    file += LittleEndian(static_cast<uint64_t>(storage.elements), 8);
    file += storage.data;
  }
  return file;
}

inline std::string ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A folder that the destructor deletes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "trivium_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  void Write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
  }
  void Remove(const std::string& name) const {
    std::filesystem::remove(path_ + "/" + name);
  }

 private:
  std::string path_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_WEIGHTS_WEIGHT_FILES_H_
