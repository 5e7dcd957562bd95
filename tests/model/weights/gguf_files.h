#ifndef TRIVIUM_TESTS_MODEL_WEIGHTS_GGUF_FILES_H_
#define TRIVIUM_TESTS_MODEL_WEIGHTS_GGUF_FILES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/model/weights/weight_files.h"

namespace trivium {

// Builds the parts of GGUF files byte by byte, valid and broken.
struct GgufWriter {
  // Value types.
  static constexpr uint32_t kUint32 = 4, kFloat32 = 6, kBool = 7, kText = 8,
                            kList = 9;

  uint32_t version = 3;
  std::string values;
  uint64_t value_count = 0;
  std::string infos;
  uint64_t tensor_count = 0;
  std::string data;

  static std::string Text(std::string_view text) {
    return LittleEndian(text.size(), 8) + std::string(text);
  }
  GgufWriter& Value(std::string_view name, uint32_t type,
                    std::string_view bytes) {
    values += Text(name) + LittleEndian(type, 4) + std::string(bytes);
    ++value_count;
    return *this;
  }
  GgufWriter& Value(std::string_view name, std::string_view text) {
    return Value(name, kText, Text(text));
  }
  GgufWriter& Value(std::string_view name, uint32_t number) {
    return Value(name, kUint32, LittleEndian(number, 4));
  }
  GgufWriter& Real(std::string_view name, float number) {
    return Value(name, kFloat32, Floats({number}));
  }
  GgufWriter& Texts(std::string_view name,
                    const std::vector<std::string>& texts) {
    std::string list = LittleEndian(kText, 4) + LittleEndian(texts.size(), 8);
    for (const std::string& text : texts) list += Text(text);
    return Value(name, kList, list);
  }
  GgufWriter& Numbers(std::string_view name,
                      const std::vector<uint32_t>& numbers) {
    std::string list =
        LittleEndian(kUint32, 4) + LittleEndian(numbers.size(), 8);
    for (const uint32_t number : numbers) list += LittleEndian(number, 4);
    return Value(name, kList, list);
  }

  GgufWriter& Bools(std::string_view name, const std::vector<bool>& values) {
    std::string list = LittleEndian(kBool, 4) + LittleEndian(values.size(), 8);
    for (const bool value : values) list += LittleEndian(value, 1);
    return Value(name, kList, list);
  }

  // `shape` is in the model's order, outermost dimension first.
  GgufWriter& Info(std::string_view name, const std::vector<uint64_t>& shape,
                   uint32_t type, uint64_t offset) {
    infos += Text(name) + LittleEndian(shape.size(), 4);
    for (auto size = shape.rbegin(); size != shape.rend(); ++size) {
      infos += LittleEndian(*size, 8);
    }
    infos += LittleEndian(type, 4) + LittleEndian(offset, 8);
    ++tensor_count;
    return *this;
  }
  // Adds an f32 tensor after the existing ones.
  GgufWriter& Tensor(std::string_view name, const std::vector<uint64_t>& shape,
                     const std::vector<float>& numbers) {
    data.resize((data.size() + 31) / 32 * 32);
    Info(name, shape, 0, data.size());
    data += Floats(numbers);
    return *this;
  }

  std::string Bytes() const {
    std::string file = "GGUF" + LittleEndian(version, 4) +
                       LittleEndian(tensor_count, 8) +
                       LittleEndian(value_count, 8) + values + infos;
    if (!data.empty()) file.resize((file.size() + 31) / 32 * 32);
    return file + data;
  }
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_WEIGHTS_GGUF_FILES_H_
