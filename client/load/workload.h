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

// Returns a random number in [0, 1) that depends on the arguments only, so that
// the calls of a load do not depend on when they are made. `purpose`
// distinguishes several draws for one call.
double Draw(uint64_t seed, uint64_t number, uint64_t purpose);

// Parses "1-80", "4,16,64" or a mixture. Returns each of the lengths once.
absl::StatusOr<std::vector<int>> ParseLengths(const std::string& text);

// A call to make.
struct PlannedCall {
  CallKind kind;
  std::vector<v1::Input> inputs;
};

// An endless sequence of calls, drawn from a mix of kinds. Their inputs are
// lines, in turn, or, if lengths are given, that many of the lines' words (or
// ids). Call `number` is the same in every run with the same seed.
//
//   Workload workload({.mix = ..., .inputs = lines});
//   PlannedCall first = workload.Plan(0);
class Workload {
 public:
  struct Options {
    std::vector<MixPart> mix = {{CallKind::kTranslate, 1}};
    std::string model;
    int inputs_per_call = 1;  // always 1 for Generate, 0 for GetModel
    // Rerank's query, Similarity's first text and Answer's question.
    std::string query;
    v1::DecodingOptions decoding;
    // Keys and values to send with every call.
    std::vector<std::pair<std::string, std::string>> metadata;
    // Not empty; all are texts or all are ids. For Score they are lines that
    // ToScored parses.
    std::vector<v1::Input> inputs;
    // Lengths of inputs, in words or ids, drawn with equal probability. Empty:
    // inputs are whole lines.
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
  // All words or all ids of the inputs, if lengths are given. One of the two is
  // empty.
  std::vector<std::string> words_;
  std::vector<uint32_t> ids_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_WORKLOAD_H_
