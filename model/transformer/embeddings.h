#ifndef TRIVIUM_MODEL_TRANSFORMER_EMBEDDINGS_H_
#define TRIVIUM_MODEL_TRANSFORMER_EMBEDDINGS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/kernels/buffer.h"
#include "model/kernels/matmul.h"
#include "model/transformer/description.h"
#include "model/transformer/linear.h"

namespace trivium {

// Token embeddings [vocabulary, width], in f32, or in bf16 if the model's
// weights are stored in less than f32. A 4-bit model keeps GGUF's blocks as
// they are, and reads a table that is also the output projection's weight from
// there. A table that is read in place stays in the weights' file; the system
// keeps in memory what is read of it. An encoder and a decoder may share one.
class TokenTable {
 public:
  TokenTable(const TensorView& tokens, WeightType weights);
  // Returns the same table, as `pieces` has it. INVALID_ARGUMENT if they have
  // another size.
  static absl::StatusOr<std::shared_ptr<const TokenTable>> Read(
      const TensorView& tokens, WeightType weights, const PartPieces& pieces);
  // Reads the rows in place; their memory must outlive this.
  explicit TokenTable(const TensorView& tokens);
  // Reads rows of the output projection's blocks of kOutputBlock tokens, which
  // are packed in groups before the first Lookup.
  TokenTable(const std::vector<Linear>& output, int width)
      : width_(width), output_(&output) {}

  // Sets x [width] = scale * row `token`.
  void Lookup(int32_t token, float scale, float* x) const;
  int64_t bytes() const { return static_cast<int64_t>(values().size()); }

  // The number of this part (Packing).
  void set_part(int part) { part_ = part; }
  // Adds what Read needs, if this part has a number.
  void AddPieces(std::vector<PackedPiece>* pieces) const;

 private:
  // The format of a table in memory of its own.
  enum class Content { kF32, kBf16, kBlocks };
  static Content ContentOf(const TensorView& tokens, WeightType weights);
  static size_t BytesOf(const TensorView& tokens, Content content);

  TokenTable(const TensorView& tokens, Content content, RawBuffer values);

  // All values; none if they are elsewhere.
  std::span<const std::byte> values() const;

  int part_ = -1;
  int width_;
  // One of these has the table:
  const std::vector<Linear>* output_ = nullptr;
  std::optional<TensorView> rows_;  // in place, or a copy of GGUF's blocks
  const float* f32_ = nullptr;
  const uint16_t* bf16_ = nullptr;
  // The memory of the last three, unless rows are in place.
  RawBuffer values_;
  size_t values_bytes_ = 0;
};

// x = scale * token embedding + position encoding (+ segment embedding).
class Embeddings {
 public:
  Embeddings() = default;
  Embeddings(const StackDescription& stack,
             std::shared_ptr<const TokenTable> tokens);

  // The width of x: d_model, or less if a projection follows.
  int width() const { return width_; }

  // True if positions are added after the projection, to d_model values.
  bool wide_positions() const { return positions_width_ != width_; }

  PositionEncoding encoding() const { return encoding_; }
  int positions_width() const { return positions_width_; }
  int types_width() const { return types_width_; }
  bool has_types() const { return !types_.empty(); }

  // Sets x [width] = scale * the embedding of a token in [0, vocabulary).
  void Lookup(int32_t token, float* x) const;
  // Adds the encoding of a position in [0, max_positions), if there is one.
  void AddPosition(int position, float* x) const;
  // Adds the embedding of a segment in [0, type_vocabulary); does nothing if
  // the model has no segments.
  void AddType(int32_t type, float* x) const;
  // Returns the position to pass to AddPosition for a token at `place` in its
  // sequence: `place`, except for padding tokens (position_padding_id).
  int Position(int32_t token, int place) const;
  // Computes the positions of all tokens of a whole sequence: 0, 1, 2..., where
  // padding tokens do not count.
  void Positions(std::span<const int32_t> tokens,
                 std::vector<int>* positions) const;

  // Bytes of the position and segment tables; the token table may be shared.
  int64_t bytes() const;
  const std::shared_ptr<const TokenTable>& tokens() const { return tokens_; }

 private:
  int width_ = 0;
  float scale_ = 1;
  PositionEncoding encoding_ = PositionEncoding::kNone;
  int position_offset_ = 0;
  std::optional<int32_t> position_padding_id_;
  std::shared_ptr<const TokenTable> tokens_;
  int positions_width_ = 0;
  // [rows, positions_width_], or empty. Learned positions are all here. Of
  // sinusoidal ones the first are here; others are computed on request, for a
  // config may claim any number of positions.
  std::vector<float> positions_;
  int types_width_ = 0;
  std::vector<float> types_;  // [type_vocabulary, types_width_], or empty
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_EMBEDDINGS_H_
