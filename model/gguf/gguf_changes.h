#ifndef TRIVIUM_MODEL_GGUF_GGUF_CHANGES_H_
#define TRIVIUM_MODEL_GGUF_GGUF_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/gguf/architecture.h"
#include "model/weights/mapped_file.h"
#include "model/weights/packed_rows.h"
#include "model/weights/tensor_file.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

class GgufWeights : public MapWeights {
 public:
  explicit GgufWeights(std::unique_ptr<MappedFile> file)
      : file_(std::move(file)) {}

  void Add(std::string name, TensorView tensor) {
    tensors_.insert_or_assign(std::move(name), std::move(tensor));
  }
  // Keeps the rows of a packed tensor.
  const PackedRows* Keep(std::unique_ptr<const PackedRows> rows) {
    return rows_.emplace_back(std::move(rows)).get();
  }
  // Allocates memory for a tensor that is not a view of the file.
  std::span<std::byte> NewMemory(size_t size) {
    return memory_.emplace_back(size);
  }

  std::string Fingerprint() const override { return FingerprintOf(tensors_); }
  std::string Origin() const override { return OriginOf(*file_); }
  void ReadAhead() const override { file_->ReadAhead(); }
  // The types of blocks, such as "Q4_K and Q6_K", the one of most bytes first.
  std::string Quantization() const override;
  absl::Status CheckUnchanged() const override {
    return file_->CheckUnchanged();
  }

 private:
  const std::unique_ptr<MappedFile> file_;
  // Bytes stay in place when a vector is moved.
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::unique_ptr<const PackedRows>> rows_;
};

// Undoes the converter's changes to the tensors of one file.
//
//   GgufChanges changes(config, weights.get());
//   changes.Undo("model.layers.0.self_attn.q_proj.weight", tensor, name);
//   changes.Join();
class GgufChanges {
 public:
  // `config` is the config.json made from the file. Both must outlive this
  // object.
  GgufChanges(const nlohmann::json& config, GgufWeights* weights)
      : config_(config), weights_(weights) {}

  // Adds a tensor with its change undone; `name` is the folder's. Returns what
  // is wrong with it, or an empty string.
  std::string Undo(const std::string& name, const TensorView& tensor,
                   const GgufTensorName& change);
  // Cuts the rows of queries, keys and values apart. Returns what is wrong with
  // them, or an empty string.
  std::string Split(const TensorView& tensor, std::vector<TensorView>* parts);
  // Adds the tensors whose parts were given. Returns what is wrong with one,
  // or an empty string.
  std::string Join();

 private:
  struct Parts {
    std::map<int, TensorView> views;
    bool flat = false;  // the first two dimensions become one
  };

  // Each sets `tensor`; see GgufChange.
  std::string Change(GgufChange change, TensorView* tensor);
  std::string Untile(GgufTensorName::Tiled tiled, TensorView* tensor);
  std::string Uninterleave(const char* heads_key, TensorView* tensor);
  std::string Group(TensorView* tensor);
  std::string UndoDecay(bool vector, TensorView* tensor);
  void Transpose(TensorView* tensor);
  void PutPositionsBefore(TensorView* tensor);
  void AddExperts(const std::string& name, const TensorView& tensor);
  std::string JoinParts(const std::string& name, const Parts& parts);

  // A size of config.json; 0 if it is missing or no size.
  int64_t Size(const char* key) const;
  // Each puts rows, or the columns of a matrix, into another order: `order` has
  // the index of the one that comes first, and so on. Rows of a matrix are put
  // into it as they are read, and columns are copied.
  void TakeRows(std::vector<int64_t> order, TensorView* tensor);
  void TakeColumns(const std::vector<int64_t>& order, TensorView* tensor);
  // Returns the new values, which the caller may change.
  std::span<float> MakeF32(TensorView* tensor);
  // Copies values that are not in blocks, nor in another order.
  void MakePlain(TensorView* tensor);

  const nlohmann::json& config_;
  GgufWeights* const weights_;
  // True while the tensor is a part of another, which is joined by bytes.
  bool copies_rows_ = false;
  std::map<std::string, Parts> parts_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_GGUF_CHANGES_H_
