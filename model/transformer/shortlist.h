#ifndef TRIVIUM_MODEL_TRANSFORMER_SHORTLIST_H_
#define TRIVIUM_MODEL_TRANSFORMER_SHORTLIST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// A lexical shortlist: for each source token the target tokens that its
// translations are made of. What a source may be translated to is the union
// over its tokens and what is always allowed, so a function of that source
// alone. Immutable.
class Shortlist {
 public:
  struct Table {
    // [source vocabulary + 1], ascending from 0: the targets of source token s
    // are targets[offsets[s], offsets[s + 1]).
    std::vector<int32_t> offsets;
    std::vector<int32_t> targets;  // ascending for each source token
    std::vector<int32_t> always;   // ascending
    // Where it is set, what a source may be translated to is filled up to a
    // multiple of eight tokens: with the first ones that are missing from this
    // one on. Marian does so.
    std::optional<int32_t> fill_from = {};
  };

  // `also`, target tokens in any order, are always allowed beside the table's:
  // without its end token no translation would end. Sources that would need
  // more than `most` tokens are not restricted: their product with the whole
  // vocabulary is faster. INVALID_ARGUMENT where the table is not what the
  // vocabularies need.
  static absl::StatusOr<std::shared_ptr<const Shortlist>> Create(
      const Table& table, std::span<const int32_t> also, int source_vocabulary,
      int target_vocabulary, int most);
  // `most` that is about as fast with 32 running, and faster with fewer.
  static int MostOf(int target_vocabulary) { return target_vocabulary / 8; }

  // The tokens that a translation of `source` may have, ascending; empty: all.
  // Each id is in [0, source vocabulary).
  std::vector<int32_t> TokensOf(std::span<const int32_t> source) const;

 private:
  std::vector<int32_t> offsets_;
  std::vector<int32_t> targets_;
  std::vector<uint64_t> always_;  // a bit a token
  std::optional<int32_t> fill_from_;
  int32_t vocabulary_ = 0;  // of the target
  size_t most_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_SHORTLIST_H_
