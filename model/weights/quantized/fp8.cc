// FP8 weights as DeepSeek-V3, Transformers' finegrained_fp8 and FBGEMM store
// them: "NAME.weight" f8_e4m3 [out, in] with its scales as
// "NAME.weight_scale_inv" or "NAME.weight_scale", one for each block of
// weight_block_size (the last ones may be smaller), for each row, or for all.
//
//   W = number scale, in f32
//
// which is what Transformers' Fp8Dequantize computes for a model in f32.
#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "model/weights/quantized/numbers.h"
#include "model/weights/quantized/quantized_format.h"
#include "model/weights/quantized/scaled_rows.h"

namespace trivium {
namespace {

class Fp8Format : public QuantizedFormat {
 public:
  // `block` is empty, or rows and columns.
  explicit Fp8Format(std::vector<int> block) : block_(std::move(block)) {}

  std::string Describe() const override {
    return block_.empty()
               ? "FP8, a scale a tensor or row"
               : fmt::format("FP8, blocks of {} x {}", block_[0], block_[1]);
  }

  std::optional<std::string_view> ModuleOf(
      std::string_view name, const TensorView& tensor) const override {
    if (tensor.dtype != DType::kF8E4m3) return std::nullopt;
    return WithoutSuffix(name, ".weight");
  }

  std::optional<MadeTensor> Make(ModuleTensors* module) const override {
    const TensorView* const numbers =
        module->Required(".weight", {DType::kF8E4m3}, {kAnySize, kAnySize});
    if (numbers == nullptr) return std::nullopt;
    const int64_t out = numbers->shape[0], in = numbers->shape[1];
    const char* const suffix = module->Find(".weight_scale_inv") != nullptr
                                   ? ".weight_scale_inv"
                                   : ".weight_scale";
    const TensorView* const found = module->Find(suffix);
    ScaleGrid grid;
    std::vector<int64_t> shape;
    if (found != nullptr && found->elements() == 1) {
      shape = found->shape;
      grid.block_rows = out;
      grid.block_columns = in;
    } else if (block_.empty()) {
      shape = {out, 1};
      if (found != nullptr && found->shape.size() == 1) shape = {out};
      grid.block_columns = in;
    } else {
      grid.block_rows = block_[0];
      grid.block_columns = block_[1];
      grid.grid_columns = (in - 1) / block_[1] + 1;
      shape = {(out - 1) / block_[0] + 1, grid.grid_columns};
    }
    grid.scales = module->Required(
        suffix,
        {DType::kF32, DType::kBf16, DType::kF16, DType::kF8E8m0, DType::kU8},
        shape);
    if (grid.scales == nullptr) return std::nullopt;
    return PackedTensor(
        DType::kF32, out, in,
        std::make_unique<ScaledRows>(*numbers, grid, DType::kF32));
  }

 private:
  const std::vector<int> block_;
};

}  // namespace

std::unique_ptr<const QuantizedFormat> ReadFp8Config(ConfigReader* config) {
  const size_t problems = config->problems()->size();
  const ConfigReader::Layer format = config->Find("fmt");
  if (format.json != nullptr && *format.json != "e4m3") {
    config->Report("fmt", format, "this server reads e4m3");
  }
  constexpr char kBlock[] = "weight_block_size";
  std::vector<int> block = config->Integers(kBlock, 1, 1 << 20);
  if (block.size() == 1 || block.size() > 2) {
    config->Report(kBlock, config->Find(kBlock),
                   "give rows and columns of a block");
  }
  if (config->problems()->size() > problems) return nullptr;
  return std::make_unique<Fp8Format>(std::move(block));
}

}  // namespace trivium
