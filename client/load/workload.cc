#include "client/load/workload.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "fmt/format.h"

namespace trivium {
namespace {

enum Purpose : uint64_t { kKind, kLength, kPlace };

// SplitMix64's finalizer (Steele, Lea and Flood, OOPSLA 2014).
uint64_t Mixed(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// Maps a draw to [0, size).
size_t Below(size_t size, double draw) {
  return std::min(size - 1, static_cast<size_t>(draw * size));
}

}  // namespace

double Draw(uint64_t seed, uint64_t number, uint64_t purpose) {
  const uint64_t bits = Mixed(Mixed(Mixed(seed) ^ purpose) ^ number);
  return std::ldexp(static_cast<double>(bits >> 11), -53);
}

absl::StatusOr<std::vector<int>> ParseLengths(const std::string& text) {
  constexpr int kMost = 100'000;
  std::vector<int> lengths;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const size_t dash = std::min(part.find('-'), part.size());
    int first = 0, last = 0;
    const bool numbers =
        absl::SimpleAtoi(part.substr(0, dash), &first) &&
        absl::SimpleAtoi(dash < part.size() ? part.substr(dash + 1) : part,
                         &last);
    if (!numbers || first < 1 || last < first || last > kMost) {
      return absl::InvalidArgumentError(
          fmt::format("'{}' is not a length from 1 to {}, as 16, or a range "
                      "of them, as 1-80",
                      std::string(part), kMost));
    }
    for (int length = first; length <= last; ++length) {
      lengths.push_back(length);
    }
  }
  return lengths;
}

Workload::Workload(Options options) : options_(std::move(options)) {
  for (const MixPart& part : options_.mix) total_weight_ += part.weight;
  if (options_.lengths.empty()) return;
  for (const v1::Input& input : options_.inputs) {
    for (const absl::string_view word : absl::StrSplit(
             input.text(), absl::ByAnyChar(" \t\r\n\v\f"), absl::SkipEmpty())) {
      words_.emplace_back(word);
    }
    ids_.insert(ids_.end(), input.ids().ids().begin(), input.ids().ids().end());
  }
}

PlannedCall Workload::Plan(int64_t number) const {
  PlannedCall call{KindOf(number), {}};
  const int inputs = call.kind == CallKind::kModel ? 0
                     : call.kind == CallKind::kGenerate
                         ? 1
                         : options_.inputs_per_call;
  for (int i = 0; i < inputs; ++i) {
    call.inputs.push_back(InputOf(number * options_.inputs_per_call + i));
  }
  return call;
}

CallKind Workload::KindOf(int64_t number) const {
  size_t place = Below(total_weight_, Draw(options_.seed, number, kKind));
  for (const MixPart& part : options_.mix) {
    if (place < static_cast<size_t>(part.weight)) return part.kind;
    place -= part.weight;
  }
  return options_.mix.back().kind;
}

v1::Input Workload::InputOf(int64_t number) const {
  if (options_.lengths.empty()) {
    return options_.inputs[number % options_.inputs.size()];
  }
  const size_t length = options_.lengths[Below(
      options_.lengths.size(), Draw(options_.seed, number, kLength))];
  const double place = Draw(options_.seed, number, kPlace);
  v1::Input input;
  if (words_.empty()) {
    const size_t first = Below(ids_.size(), place);
    for (size_t i = 0; i < length; ++i) {
      input.mutable_ids()->add_ids(ids_[(first + i) % ids_.size()]);
    }
    return input;
  }
  const size_t first = Below(words_.size(), place);
  std::string* const text = input.mutable_text();
  for (size_t i = 0; i < length; ++i) {
    if (i > 0) *text += ' ';
    *text += words_[(first + i) % words_.size()];
  }
  return input;
}

}  // namespace trivium
