#ifndef TRIVIUM_MODEL_FAMILIES_MIXERS_H_
#define TRIVIUM_MODEL_FAMILIES_MIXERS_H_

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.h"
#include "model/families/derived_tensors.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// The parts that families share to read layers that keep a state per sequence
// (MixerDescription).

// Returns for each layer whether it has attention: layer_types or, if
// config.json has none, `usual`. `mixer` and `attention` are the names of the
// types; the first of each is that of Transformers 5.
std::vector<bool> ReadAttendingLayers(
    ConfigReader* config, const std::vector<std::string_view>& mixer,
    const std::vector<std::string_view>& attention, std::vector<bool> usual);

// Mamba 2's sizes, under keys that begin with mamba_.
struct Mamba2Config {
  int values = 0;  // heads x value_size
  int heads = 0;
  int groups = 0;  // key heads
  int key_size = 0;
  int value_size = 0;
  int width = 0;  // of the convolution
  bool projection_bias = false;
  bool output_bias = false;
  bool convolution_bias = true;
  float least_rate = 0;
  float most_rate = 0;
  Activation activation = Activation::kSwish;  // of the convolution
};
// The keys of families that have others for these sizes.
struct Mamba2Keys {
  std::string heads, head;  // head: the values of one
  std::string groups, state;
};
// Reads these, conv_kernel, use_conv_bias and use_bias over the defaults in
// `usual`. The rates' bounds and the activation stay.
Mamba2Config ReadOwnMamba2Config(ConfigReader* config, const Mamba2Keys& keys,
                                 const Mamba2Config& usual);
// Reads time_step_limit, the bounds of rates.
void ReadMamba2RateBounds(ConfigReader* config, Mamba2Config* sizes);
// Returns mamba_expand times d_model, the width inside.
int ReadMamba2Width(ConfigReader* config, int d_model);
// `values` is the width inside. The norms of its key heads' parts, if it has
// norms, must fit.
Mamba2Config ReadMamba2Config(ConfigReader* config, int values, int usual_heads,
                              int usual_state);

// Factors of the outputs of the input product: gate, x, B, C and rates; and of
// its input and of the sublayer's output.
struct Mamba2Factors {
  std::array<float, 5> projection = {1, 1, 1, 1, 1};
  float input = 1, output = 1;
};
// Reads the tensors of `name`, which ends with a dot, without the norm.
MixerDescription ReadMamba2(TensorReader* tensors, const std::string& name,
                            const Mamba2Config& sizes,
                            const Mamba2Factors& factors, int d_model,
                            TensorMemory* memory);

// Reads the norm of `name`, over the values of each key head.
void ReadMamba2Norm(TensorReader* tensors, const std::string& name,
                    const Mamba2Config& sizes, bool after_gate,
                    MixerDescription* mixer);

// Returns the tensors with weight and bias times a factor each.
LinearTensors ScaledLinear(const LinearTensors& tensors, float weight,
                           float bias, TensorMemory* memory);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MIXERS_H_
