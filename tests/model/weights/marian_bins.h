#ifndef TRIVIUM_TESTS_MODEL_WEIGHTS_MARIAN_BINS_H_
#define TRIVIUM_TESTS_MODEL_WEIGHTS_MARIAN_BINS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/model/weights/weight_files.h"

namespace trivium {

// Marian's numbers of types, and Bergamot's number of intgemm8.
inline constexpr uint64_t kBinFloat32 = 0x404, kBinInt8 = 0x101,
                          kBinIntgemm8 = 0x10001, kForkIntgemm8 = 0x4101;

struct BinItem {
  std::string name;
  uint64_t type;
  std::vector<int32_t> shape;
  std::string data;
};

// Returns the numbers followed by the multiplier.
inline std::string Intgemm8(const std::vector<int8_t>& numbers,
                            float multiplier) {
  return std::string(numbers.begin(), numbers.end()) + Floats({multiplier});
}

// Builds a model in Marian's binary format, with Marian's padding of data.
inline std::string MarianBin(std::vector<BinItem> items) {
  std::string headers = LittleEndian(1, 8) + LittleEndian(items.size(), 8);
  std::string names, shapes, data;
  for (BinItem& item : items) {
    item.data.resize((item.data.size() + 255) / 256 * 256);
    for (const uint64_t number : {item.name.size() + 1, item.type,
                                  item.shape.size(), item.data.size()}) {
      headers += LittleEndian(number, 8);
    }
    names += item.name + '\0';
    for (const int32_t size : item.shape) {
      shapes += LittleEndian(static_cast<uint32_t>(size), 4);
    }
    data += item.data;
  }
  std::string file = headers + names + shapes;
  const size_t padding = 256 - (file.size() + 8) % 256;
  return file + LittleEndian(padding, 8) + std::string(padding, '\0') + data;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_WEIGHTS_MARIAN_BINS_H_
