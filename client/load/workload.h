#ifndef TRIVIUM_CLIENT_LOAD_WORKLOAD_H_
#define TRIVIUM_CLIENT_LOAD_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/load/call_kind.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// In [0, 1): a function of these alone, so that what a load asks does not
// depend on when it asks. `purpose` keeps draws of one number apart.
double Draw(uint64_t seed, uint64_t number, uint64_t purpose);

// Of "1-80" or "4,16,64" or both: each of these lengths, once.
absl::StatusOr<std::vector<int>> ParseLengths(const std::string& text);

// A call as it will be made.
struct PlannedCall {
  CallKind kind;
  std::vector<v1::Input> inputs;
};

// What is called, over and over: calls drawn from a mix, with inputs taken in
// turn from lines or, where lengths are given, of so many words (or ids) of
// them. Call `number` is the same in every run of one seed.
//
//   Workload workload({.mix = ..., .inputs = lines});
//   PlannedCall first = workload.Plan(0);
class Workload {
 public:
  struct Options {
    std::vector<MixPart> mix = {{CallKind::kTranslate, 1}};
    std::string model;
    int inputs_per_call = 1;  // Generate takes one, GetModel none
    std::string query;        // of Rerank, and the question of Answer
    v1::DecodingOptions decoding;
    // Sent with every call.
    std::vector<std::pair<std::string, std::string>> metadata;
    // Not empty; all texts or all ids. Of Score they are lines (ToScored).
    std::vector<v1::Input> inputs;
    // Of texts, in words, or in ids, drawn evenly; none: lines as they are.
    std::vector<int> lengths;
    uint64_t seed = 1;
  };

  explicit Workload(Options options);

  const Options& options() const { return options_; }
  PlannedCall Plan(int64_t number) const;

 private:
  CallKind KindOf(int64_t number) const;
  v1::Input InputOf(int64_t number) const;

  const Options options_;
  int total_weight_ = 0;
  // All that the inputs have, where lengths are given: one of the two.
  std::vector<std::string> words_;
  std::vector<uint32_t> ids_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_WORKLOAD_H_
