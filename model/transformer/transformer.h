#ifndef TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_H_
#define TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernels/kv_tile.h"
#include "model/transformer/description.h"
#include "model/transformer/formats.h"
#include "model/transformer/heads.h"
#include "model/transformer/linear.h"
#include "model/transformer/second_reading.h"
#include "model/transformer/shortlist_projection.h"
#include "model/transformer/stack.h"
#include "model/weights/packed_file.h"

namespace trivium {

// The weights of one Transformer, packed for the products, shared by the
// engines of all workers (TransformerEngine). Immutable.
class Transformer {
 public:
  // Packs the description's tensors; their Weights may be closed afterwards.
  // The family has checked the tensors' shapes against the description. Large
  // parts are mapped from `packed` instead, if it is not null: a file of the
  // pieces() of an equal transformer. INVALID_ARGUMENT if it is none.
  static absl::StatusOr<std::shared_ptr<const Transformer>> Create(
      const TransformerDescription& description, const Formats& formats,
      std::shared_ptr<const PackedFile> packed = nullptr);

  // Returns the formats that a model gets for `formats`: whether its products
  // read rotated rows, and whether its weights stay in the four bits that they
  // have.
  static Formats FormatsOf(const TransformerDescription& description,
                           const Formats& formats);
  // True if the token table is read from the output projection's weights, in
  // formats that FormatsOf returned.
  static bool SharesTokens(const TransformerDescription& description,
                           const Formats& formats);

  // The packed weights of large parts, for a PackedFile.
  std::vector<PackedPiece> pieces() const;
  // Returns INTERNAL if the file that parts are mapped from was changed:
  // what was computed with them must not be used.
  absl::Status CheckUnchanged() const;

  // Bytes of the packed weights.
  int64_t weight_bytes() const;
  int64_t parameters() const { return parameters_; }
  // True if the start-up self-test found the products of every row bucket
  // equal, bit by bit, to the one-row product. Always false for bf16.
  bool batch_invariant() const;

  const Formats& formats() const { return formats_; }
  // The shapes of the decoder layers' keys and values, and the states that the
  // layers keep, [layers] each.
  std::vector<KvShape> decoder_kv_shapes() const;
  std::vector<StateShape> decoder_states() const;
  const std::optional<Stack>& encoder() const { return encoder_; }
  const std::optional<Stack>& decoder() const { return decoder_; }
  // Computes keys, then values, of every decoder layer for an encoder state:
  // [layers x 2 d_model, d_model]. Empty without cross-attention.
  const std::optional<Linear>& cross_key_value() const {
    return cross_key_value_;
  }
  // [vocabulary, d_model] in blocks of kOutputBlock.
  const std::vector<Linear>& output_blocks() const { return output_blocks_; }
  // Narrows a final state before output_blocks(); null if nothing does.
  const Linear* output_narrowing() const {
    return output_narrowing_ ? &*output_narrowing_ : nullptr;
  }
  // See TransformerDescription.
  float logit_factor() const { return logit_factor_; }
  float logit_soft_cap() const { return logit_soft_cap_; }
  // For sources with a shortlist; null without one.
  const ShortlistProjection* shortlist() const {
    return shortlist_ ? &*shortlist_ : nullptr;
  }
  // Only for encoder-only models; null if there is none.
  const Pooler* pooler() const { return pooler_ ? &*pooler_ : nullptr; }
  const Head* head() const { return head_ ? &*head_ : nullptr; }
  const SecondStack* second_stack() const {
    return second_stack_ ? &*second_stack_ : nullptr;
  }

 private:
  absl::Status Pack(const TransformerDescription& description,
                    Packing* packing);
  // Packs the output projection, and the encoder's cross_key_value for the
  // decoder.
  absl::Status PackOutput(const TransformerDescription& description,
                          Packing* packing);
  // Calls f for each part, see parts.h.
  template <typename F>
  void ForEachPart(const F& f) const {
    VisitParts(f, encoder_, decoder_, cross_key_value_, output_narrowing_,
               output_blocks_, shortlist_, pooler_, head_, second_stack_);
  }

  std::shared_ptr<const PackedFile> packed_;  // or null
  Formats formats_;
  std::optional<Stack> encoder_;
  std::optional<Stack> decoder_;
  std::optional<Linear> cross_key_value_;
  std::optional<Linear> output_narrowing_;
  float logit_factor_ = 1;
  float logit_soft_cap_ = 0;
  std::vector<Linear> output_blocks_;
  std::optional<ShortlistProjection> shortlist_;
  std::optional<Pooler> pooler_;
  std::optional<Head> head_;
  std::optional<SecondStack> second_stack_;
  int64_t parameters_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_H_
