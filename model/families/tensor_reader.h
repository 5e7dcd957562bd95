#ifndef TRIVIUM_MODEL_FAMILIES_TENSOR_READER_H_
#define TRIVIUM_MODEL_FAMILIES_TENSOR_READER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config_reader.h"
#include "model/transformer/description.h"
#include "model/weights/weights.h"

namespace trivium {

// Finds a family's tensors by name and checks type and shape of each; what is
// missing or does not fit becomes a problem. A name counts with and without
// `prefix` in front ("model." in Marian folders).
class TensorReader {
 public:
  using Shape = std::vector<int64_t>;

  // `config`: what says the shapes, for messages.
  TensorReader(const Weights& weights, std::string prefix, Problems* problems,
               std::string config = "config.json")
      : weights_(weights),
        names_(weights.Names()),
        prefix_(std::move(prefix)),
        config_(std::move(config)),
        problems_(problems) {}

  bool Has(std::string_view name) const { return Find(name).second != nullptr; }
  // Whether any tensor's name begins so.
  bool HasAnyWith(std::string_view beginning) const;

  // Null, and a problem, when there is no such tensor or it does not fit.
  const TensorView* Required(std::string_view name, const Shape& shape);
  // The first of several names that exists.
  const TensorView* RequiredOneOf(const std::vector<std::string>& names,
                                  const Shape& shape);

  // The same of bytes, which are no numbers yet.
  const TensorView* RequiredBytes(std::string_view name, const Shape& shape);

  // `name`.weight [out, in] and `name`.bias [out].
  LinearTensors Linear(const std::string& name, int out, int in);
  // `name`.weight and `name`.bias [size], or .gamma and .beta.
  NormTensors Norm(const std::string& name, int size);

  Problems* problems() const { return problems_; }

 private:
  const TensorView* RequiredOf(const std::vector<std::string>& names,
                               const Shape& shape, bool bytes);
  // The full name and the tensor; null when there is none.
  std::pair<std::string, const TensorView*> Find(std::string_view name) const;

  const Weights& weights_;
  const std::vector<std::string_view> names_;  // sorted
  const std::string prefix_;
  const std::string config_;
  Problems* problems_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_TENSOR_READER_H_
