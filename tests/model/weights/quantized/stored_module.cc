#include "tests/model/weights/quantized/stored_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/weights/half.h"
#include "model/weights/quantized/quantized_weights.h"
#include "tests/model/weights/safetensors_file.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {

std::string Halves(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += LittleEndian(F32ToF16(value), 2);
  return bytes;
}

std::string Words(const std::vector<uint32_t>& values) {
  std::string bytes;
  for (const uint32_t value : values) bytes += LittleEndian(value, 4);
  return bytes;
}

std::string Longs(const std::vector<int64_t>& values) {
  std::string bytes;
  for (const int64_t value : values) {
    bytes += LittleEndian(static_cast<uint64_t>(value), 8);
  }
  return bytes;
}

std::string Chars(const std::vector<int>& values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

std::vector<int> RandomCodes(size_t count, int most, std::mt19937* random) {
  std::vector<int> codes(count);
  for (int& code : codes) {
    code = static_cast<int>((*random)() % static_cast<uint32_t>(most + 1));
  }
  return codes;
}

std::vector<float> RandomScales(size_t count, std::mt19937* random) {
  std::vector<float> scales(count);
  for (float& scale : scales) {
    scale = (static_cast<float>((*random)() % 255) - 127.0f) / 1024;
  }
  return scales;
}

std::vector<uint32_t> PackedBits(const std::vector<int>& codes, int bits) {
  std::vector<uint32_t> words((codes.size() * bits + 31) / 32);
  for (size_t i = 0; i < codes.size() * bits; ++i) {
    const uint32_t bit = codes[i / bits] >> (i % bits) & 1;
    words[i / 32] |= bit << (i % 32);
  }
  return words;
}

std::unique_ptr<Weights> StoredModule::Read(Problems* problems) const {
  const TemporaryFolder folder;
  SafetensorsFile file;
  for (const auto& [name, tensor] : tensors_) {
    file.Add(name, tensor.dtype, tensor.shape, tensor.bytes);
  }
  folder.Write("model.safetensors", file.Finish());
  auto weights = Weights::Open(folder.path());
  EXPECT_TRUE(weights.ok()) << weights.status();
  return ApplyQuantizationConfig({{"quantization_config", config_}},
                                 *std::move(weights), problems);
}

std::vector<float> StoredModule::Values(int64_t rows, int64_t columns) const {
  Problems problems;
  const auto weights = Read(&problems);
  EXPECT_THAT(problems, testing::IsEmpty());
  const TensorView* const weight = weights->Find("x.weight");
  if (weight == nullptr) {
    ADD_FAILURE() << "there is no x.weight";
    return {};
  }
  EXPECT_EQ(weight->shape, (std::vector<int64_t>{rows, columns}));
  EXPECT_TRUE(IsReal(*weight));
  std::vector<float> values(rows * columns);
  CopyToF32(*weight, 0, values);
  // Any part is what it is in the whole.
  for (size_t size : {size_t{1}, size_t{3}, values.size() / 2 + 1}) {
    for (size_t begin = 0; begin < values.size(); begin += size) {
      std::vector<float> part(std::min(size, values.size() - begin));
      CopyToF32(*weight, static_cast<int64_t>(begin), part);
      EXPECT_EQ(part,
                (std::vector<float>(values.begin() + begin,
                                    values.begin() + begin + part.size())))
          << "from " << begin;
    }
  }
  EXPECT_EQ(FirstNotFinite(*weight), std::nullopt);
  return values;
}

void StoredModule::ExpectDamageIsReported(
    const std::set<std::string>& optional) const {
  Problems none;
  const std::vector<int64_t> shape = Read(&none)->Find("x.weight")->shape;
  // A weight of another shape is for the family to refuse.
  const auto expect = [&](const StoredModule& damaged,
                          const std::string& what) {
    Problems problems;
    const auto weights = damaged.Read(&problems);
    for (const std::string& problem : problems) {
      EXPECT_THAT(problem, testing::HasSubstr("'x.")) << what;
    }
    const TensorView* const weight = weights->Find("x.weight");
    const bool made = weight != nullptr && (weight->packed != nullptr ||
                                            weight->row_scales != nullptr);
    EXPECT_TRUE(!problems.empty() || !made || weight->shape != shape) << what;
  };
  for (const auto& [name, tensor] : tensors_) {
    if (!name.starts_with("x.")) continue;
    StoredModule damaged = *this;
    if (optional.count(name) == 0) {
      damaged.Remove(name);
      expect(damaged, name + " is missing");
    }
    const int64_t count = TensorView{DType::kU8, tensor.shape, {}}.elements();
    damaged.Set(name, "BOOL", tensor.shape, std::string(count, '\1'));
    expect(damaged, name + " is of another type");
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      std::vector<int64_t> other = tensor.shape;
      other[i] *= 2;
      damaged.Set(name, tensor.dtype, other, tensor.bytes + tensor.bytes);
      expect(damaged, name + " is twice as large");
      other[i] = 0;
      damaged.Set(name, tensor.dtype, other, "");
      expect(damaged, name + " is empty");
    }
  }
}

}  // namespace trivium
