#ifndef TRIVIUM_MODEL_TOKENIZER_BPE_MODEL_H_
#define TRIVIUM_MODEL_TOKENIZER_BPE_MODEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/tokenizer/token_model.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {

// Byte-pair encoding (Sennrich et al., 2016). It begins with a word's
// characters and joins the neighbours whose merge comes first in the list,
// leftmost first, until no merge applies. A word takes time n log n.
class BpeModel : public TokenModel {
 public:
  struct Options {
    std::string unknown = "";  // empty: unknown characters are left out
    std::string continuing_prefix = "";  // of all but the first character
    std::string end_suffix = "";         // after a word's last character
    bool fuse_unknown = false;   // joins neighbouring unknown characters
    bool byte_fallback = false;  // unknown characters become "<0xE2>" pieces
    bool ignore_merges = false;  // a word that is a piece stays whole
  };
  using Merges = std::vector<std::pair<std::string, std::string>>;

  // INVALID_ARGUMENT names the merge whose pieces are not in the vocabulary.
  static absl::StatusOr<std::unique_ptr<BpeModel>> Create(
      Vocabulary vocabulary, const Merges& merges, const Options& options);

  void Tokenize(std::string_view word,
                std::vector<Piece>* pieces) const override;
  int size() const override { return vocabulary_.size(); }
  int count() const override { return vocabulary_.count(); }
  int32_t IdOf(std::string_view piece) const override {
    return vocabulary_.IdOf(piece);
  }
  int32_t unknown_id() const override { return unknown_id_; }
  bool marks_pieces_inside_words() const override {
    return !options_.continuing_prefix.empty();
  }
  const std::string& PieceOf(int32_t id) const override {
    return vocabulary_.PieceOf(id);
  }

 private:
  struct Merge {
    uint32_t rank;
    int32_t id;  // the joined piece
  };
  // A hash table from pairs of ids to merges, with open addressing.
  class MergeTable {
   public:
    explicit MergeTable(size_t count);
    void Insert(int32_t left, int32_t right, Merge merge);
    const Merge* Find(int32_t left, int32_t right) const;

   private:
    struct Entry {
      uint64_t key;
      Merge merge;
    };
    size_t SlotOf(uint64_t key) const;
    std::vector<Entry> entries_;  // size is a power of two; at most half full
  };
  struct Symbol {
    int32_t id;
    uint32_t size;  // bytes; 0: joined into another symbol
    int32_t previous;
    int32_t next;  // -1: none
  };

  BpeModel(Vocabulary vocabulary, const Options& options, size_t merges);

  void AppendSymbols(std::string_view word, std::vector<Symbol>* symbols) const;
  int32_t IdOfCharacter(std::string_view character, bool first,
                        bool last) const;
  void MergeShort(std::vector<Symbol>* symbols) const;
  void MergeLong(std::vector<Symbol>* symbols) const;

  const Vocabulary vocabulary_;
  const Options options_;
  MergeTable merges_;
  int32_t unknown_id_ = -1;
  // Ids of the characters below U+0800, without prefix and suffix.
  std::array<int32_t, 0x800> character_ids_;
  std::array<int32_t, 256> byte_ids_;  // ids of "<0x00>" ...
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_BPE_MODEL_H_
