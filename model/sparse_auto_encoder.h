#ifndef TRIVIUM_MODEL_SPARSE_AUTO_ENCODER_H_
#define TRIVIUM_MODEL_SPARSE_AUTO_ENCODER_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/engine.h"

namespace trivium {

// Makes a sparse embedding of a dense one (contrastive sparse representation,
// Wen et al. 2025):
//
//   weight of feature f = max(0, w_f (x - b) + c_f)   for the k largest
//
// With `normalize`, x is first shifted to mean 0 and scaled to deviation 1.
// Its ids are features, not tokens.
class SparseAutoEncoder {
 public:
  // Reads the module in `folder`, for embeddings of `in` numbers. Errors name
  // the file, what is wrong and what is expected.
  static absl::StatusOr<SparseAutoEncoder> Read(const std::string& folder,
                                                int in);

  // Returns the weights above 0 of the `most` largest, ascending by id. Of
  // equal ones those of lower ids count. Default: the module's own number.
  std::vector<SparseWeight> Of(std::span<const float> x,
                               std::optional<int> most) const;

  int most_active() const { return most_active_; }

 private:
  int in_ = 0;
  int most_active_ = 0;
  bool normalizes_ = false;
  std::vector<float> weight_;       // [features, in]
  std::vector<float> bias_;         // [in] taken from x
  std::vector<float> latent_bias_;  // [features]
};

// Removes all weights but the `count` largest. Of equal ones those of lower ids
// stay. The order stays ascending by id.
void KeepLargest(int count, std::vector<SparseWeight>* weights);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SPARSE_AUTO_ENCODER_H_
