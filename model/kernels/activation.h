#ifndef TRIVIUM_MODEL_KERNELS_ACTIVATION_H_
#define TRIVIUM_MODEL_KERNELS_ACTIVATION_H_

namespace trivium {

enum class Activation {
  kNone,
  kRelu,      // max(x, 0)
  kGelu,      // x/2 (1 + erf(x / sqrt 2))
  kGeluTanh,  // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  kSwish,     // x / (1 + exp(-x))
  kTanh,
  kSigmoid,      // 1 / (1 + exp(-x))
  kSquaredRelu,  // max(x, 0)^2
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ACTIVATION_H_
