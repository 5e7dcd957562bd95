#ifndef TRIVIUM_MODEL_DENSE_MODULE_H_
#define TRIVIUM_MODEL_DENSE_MODULE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "model/weights/weights.h"

namespace trivium {

// The files of a Dense module of sentence-transformers:
//
//   y = activation(weight x + bias) + residual x
struct DenseModule {
  std::unique_ptr<Weights> weights;      // owns the tensors
  const TensorView* weight = nullptr;    // [out, in]
  const TensorView* bias = nullptr;      // [out] or null
  const TensorView* residual = nullptr;  // [out, in] or null
  bool adds_input = false;               // the residual is x itself
  double (*activation)(double) = nullptr;
  // Reads the vectors of tokens instead of that of the text.
  bool of_tokens = false;

  int in() const { return static_cast<int>(weight->shape[1]); }
  int out() const { return static_cast<int>(weight->shape[0]); }

  // Reads the module in `folder`, which gets vectors of `in` values. Errors
  // name the file and what is possible.
  static absl::StatusOr<DenseModule> Read(const std::string& folder, int in);
};

// True if config.json of the module in `folder` says that it reads the vectors
// of tokens. Modules without that file read the vector of the text.
absl::StatusOr<bool> ReadsTokens(const std::string& folder);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_DENSE_MODULE_H_
