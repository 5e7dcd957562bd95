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

// Finds a family's tensors by name and checks their types and shapes. A missing
// or unfitting tensor becomes a problem. Names are accepted with and without
// `prefix` in front ("model." in Marian folders).
class TensorReader {
 public:
  using Shape = std::vector<int64_t>;

  // `config` names the source of the shapes in messages.
  TensorReader(const Weights& weights, std::string prefix, Problems* problems,
               std::string config = "config.json")
      : weights_(weights),
        names_(weights.Names()),
        prefix_(std::move(prefix)),
        config_(std::move(config)),
        problems_(problems) {}

  bool Has(std::string_view name) const { return Find(name).second != nullptr; }
  // True if any tensor's name begins with `beginning`.
  bool HasAnyWith(std::string_view beginning) const;

  // Returns a tensor's shape; an empty one if there is no such tensor, or it
  // takes any shape.
  Shape ShapeOf(std::string_view name) const;

  // Returns null and adds a problem if there is no such tensor or it does not
  // fit.
  const TensorView* Required(std::string_view name, const Shape& shape);
  // Returns the first of several names that exists.
  const TensorView* RequiredOneOf(const std::vector<std::string>& names,
                                  const Shape& shape);

  // Does the same for bytes that are not decoded to numbers yet.
  const TensorView* RequiredBytes(std::string_view name, const Shape& shape);

  // `name`.weight [out, in] and, unless the model has none, `name`.bias [out].
  LinearTensors Linear(const std::string& name, int out, int in,
                       bool bias = true);
  // `name`.weight and `name`.bias [size], or .gamma and .beta.
  NormTensors Norm(const std::string& name, int size, bool bias = true);

  Problems* problems() const { return problems_; }

 private:
  const TensorView* RequiredOf(const std::vector<std::string>& names,
                               const Shape& shape, bool bytes);
  // Returns the full name and the tensor; null if there is none.
  std::pair<std::string, const TensorView*> Find(std::string_view name) const;

  const Weights& weights_;
  const std::vector<std::string_view> names_;  // sorted
  const std::string prefix_;
  const std::string config_;
  Problems* problems_;
};

// Returns the first of these prefixes with which the name of a tensor begins;
// the first of all if none does.
std::string PrefixOf(const Weights* weights,
                     const std::vector<std::string>& prefixes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_TENSOR_READER_H_
