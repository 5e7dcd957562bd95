#ifndef TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ATTENTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ATTENTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "model/kernels/buffer.h"
#include "model/kernels/relative_attention.h"
#include "model/transformer/description.h"

namespace trivium {

// The packed weights of a stack's relative attention. Whatever does not depend
// on the text is computed at load, in f32, by distance.
class RelativeAttention {
 public:
  // Returns INVALID_ARGUMENT if the positions need too much memory or if heads
  // share keys and values.
  static absl::StatusOr<RelativeAttention> Create(
      const StackDescription& stack);

  // True if scores depend on contents and distances together. If not, there is
  // only a bias, which attention over tiles adds (kernels/attention.h).
  bool disentangled() const { return !keys_.empty() || !queries_.empty(); }
  RelativeTables tables(int layer, int head) const;
  // Returns a layer's bias of head 0 at distance 0, or of key 0, or null; heads
  // are bias_stride() floats apart.
  const float* bias(int layer) const {
    if (biases_.empty()) return nullptr;
    return biases_[biases_.size() == 1 ? 0 : layer].data() + positions_ - 1;
  }
  size_t bias_stride() const { return columns_; }
  // True if the bias depends on the key's position instead of the distance.
  bool bias_of_keys() const { return bias_of_keys_; }
  // Returns a head's bias of its own block's key; that of block b at b - own.
  const float* block_bias(int head) const {
    return block_bias_.data() + head * (2 * positions_ - 1) + positions_ - 1;
  }
  // True if the bias is -slope x distance (ALiBi), or softmax makes of it what
  // it makes of that, but for rounding.
  bool sloped() const { return sloped_; }
  int64_t bytes() const;

 private:
  // Returns a head's rows of a layer's table [query width, columns_], or null
  // if there are no tables.
  const float* Table(const std::vector<Buffer<float>>& tables, int layer,
                     int head) const {
    return tables.empty() ? nullptr
                          : tables[layer].data() + head * head_size_ * columns_;
  }

  bool sloped_ = false;
  bool bias_of_keys_ = false;
  int positions_ = 0;
  size_t head_size_ = 0;
  size_t columns_ = 0;
  std::vector<Buffer<float>> keys_, queries_;  // [layers] or empty
  // [1 or layers], each [heads, columns_]; or empty.
  std::vector<std::vector<float>> biases_;
  std::vector<float> block_bias_;  // [heads, 2 positions - 1], or empty
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ATTENTION_H_
