#ifndef TRIVIUM_MODEL_TRANSFORMER_SHORTLIST_H_
#define TRIVIUM_MODEL_TRANSFORMER_SHORTLIST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// A lexical shortlist: the target tokens that translations of each source token
// consist of. The tokens allowed for a source are the union over its tokens
// plus those always allowed, so they depend on that source alone. Immutable.
class Shortlist {
 public:
  struct Table {
    // [source vocabulary + 1], ascending from 0. The targets of source token s
    // are targets[offsets[s], offsets[s + 1]).
    std::vector<int32_t> offsets;
    std::vector<int32_t> targets;  // ascending for each source token
    std::vector<int32_t> always;   // ascending
    // If set, a source's allowed tokens are filled up to a multiple of eight
    // with the first missing tokens from this one on, as Marian does.
    std::optional<int32_t> fill_from = {};
  };

  // `also` lists target tokens, in any order, that are always allowed in
  // addition to the table's: without its end token no translation would end.
  // Sources that need more than `most` tokens are not restricted, because their
  // product with the whole vocabulary is faster. Returns INVALID_ARGUMENT if
  // the table does not fit the vocabularies.
  static absl::StatusOr<std::shared_ptr<const Shortlist>> Create(
      const Table& table, std::span<const int32_t> also, int source_vocabulary,
      int target_vocabulary, int most);
  // Returns a `most` at which a restricted product is about as fast as the full
  // one with 32 running hypotheses, and faster with fewer.
  static int DefaultMost(int target_vocabulary) {
    return target_vocabulary / 8;
  }

  // Returns the tokens that a translation of `source` may contain, ascending;
  // empty means all. Each source id must be in [0, source vocabulary).
  std::vector<int32_t> TokensOf(std::span<const int32_t> source) const;

 private:
  std::vector<int32_t> offsets_;
  std::vector<int32_t> targets_;
  std::vector<uint64_t> always_;  // one bit per token
  std::optional<int32_t> fill_from_;
  int32_t vocabulary_ = 0;  // of the target
  size_t most_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_SHORTLIST_H_
