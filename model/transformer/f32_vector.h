#ifndef TRIVIUM_MODEL_TRANSFORMER_F32_VECTOR_H_
#define TRIVIUM_MODEL_TRANSFORMER_F32_VECTOR_H_

#include <cstdint>

#include "model/kernels/buffer.h"
#include "model/weights/weights.h"

namespace trivium {

// A few weights that are f32 in every format, such as a bias; empty if the
// model has none.
struct F32Vector {
  AlignedVector<float> values;

  // Returns the numbers of a tensor; none if it is null.
  static F32Vector Of(const TensorView* tensor) {
    F32Vector vector;
    if (tensor == nullptr) return vector;
    vector.values.resize(tensor->elements());
    CopyToF32(*tensor, 0, vector.values);
    return vector;
  }

  // Returns null if there are none.
  const float* data() const { return values.empty() ? nullptr : values.data(); }
  int64_t bytes() const {
    return static_cast<int64_t>(values.size() * sizeof(float));
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_F32_VECTOR_H_
