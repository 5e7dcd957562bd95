#ifndef TRIVIUM_MODEL_WEIGHTS_QUANTIZED_QUANTIZED_FORMAT_H_
#define TRIVIUM_MODEL_WEIGHTS_QUANTIZED_QUANTIZED_FORMAT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/config_reader.h"
#include "model/weights/packed_rows.h"
#include "model/weights/quantized/module_tensors.h"
#include "model/weights/weights.h"

namespace trivium {

// The tensor "NAME.weight" that a format makes of a module's stored tensors.
// `rows` is null if `view` has no packed values.
struct MadeTensor {
  TensorView view;  // [out, in]
  std::unique_ptr<const PackedRows> rows;
};

// A format of quantized weights: how the tensors of a module are named, and
// what numbers they stand for. A value has the bits that the format's own
// library gives it. Modules that the folder stores plainly are left as they
// are.
class QuantizedFormat {
 public:
  virtual ~QuantizedFormat() = default;

  // Describes it for people: "4-bit AWQ, groups of 128".
  virtual std::string Describe() const = 0;
  // Returns the module "NAME" if the tensor is the one by which the format's
  // modules are known ("NAME.qweight"), else nullopt.
  virtual std::optional<std::string_view> ModuleOf(
      std::string_view name, const TensorView& tensor) const = 0;
  // Makes the module's weight; nullopt after a problem. Sizes of the result are
  // at least 1.
  virtual std::optional<MadeTensor> Make(ModuleTensors* module) const = 0;
};

// Returns `name` without `suffix`, or nullopt if it does not end with it.
inline std::optional<std::string_view> WithoutSuffix(std::string_view name,
                                                     std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  return name.substr(0, name.size() - suffix.size());
}

// Returns a made tensor of packed rows; `type` holds all of its values.
inline MadeTensor PackedTensor(DType type, int64_t rows, int64_t columns,
                               std::unique_ptr<const PackedRows> values) {
  MadeTensor made{{type, {rows, columns}, {}}, std::move(values)};
  made.view.packed = made.rows.get();
  return made;
}

// Readers of config.json's quantization_config, one a quant_method. Return null
// after adding a problem: a setting that this server does not read.
using QuantizedFormatReader =
    std::unique_ptr<const QuantizedFormat> (*)(ConfigReader* config);
std::unique_ptr<const QuantizedFormat> ReadAutoRoundConfig(
    ConfigReader* config);
std::unique_ptr<const QuantizedFormat> ReadAwqConfig(ConfigReader* config);
std::unique_ptr<const QuantizedFormat> ReadGptqConfig(ConfigReader* config);
std::unique_ptr<const QuantizedFormat> ReadCompressedTensorsConfig(
    ConfigReader* config);
std::unique_ptr<const QuantizedFormat> ReadFp8Config(ConfigReader* config);
std::unique_ptr<const QuantizedFormat> ReadBitsAndBytesConfig(
    ConfigReader* config);
std::unique_ptr<const QuantizedFormat> ReadHqqConfig(ConfigReader* config);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_QUANTIZED_QUANTIZED_FORMAT_H_
