#include "model/transformer/shortlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

constexpr size_t kFillTo = 8;
constexpr char kRemake[] = "make the shortlist again for this model";

absl::Status CheckTokens(std::span<const int32_t> tokens, int vocabulary,
                         const std::string& what) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocabulary) {
      return absl::InvalidArgumentError(fmt::format(
          "token id {} of {} is outside the target vocabulary of {}; {}",
          tokens[i], what, vocabulary, kRemake));
    }
    if (i > 0 && tokens[i] <= tokens[i - 1]) {
      return absl::InvalidArgumentError(
          fmt::format("{} has token id {} after {}, but ids must ascend; {}",
                      what, tokens[i], tokens[i - 1], kRemake));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOffsets(const Shortlist::Table& table,
                          int source_vocabulary) {
  const std::vector<int32_t>& offsets = table.offsets;
  if (offsets.size() != static_cast<size_t>(source_vocabulary) + 1) {
    return absl::InvalidArgumentError(fmt::format(
        "offsets has {} values, but a source vocabulary of {} needs {}; {}",
        offsets.size(), source_vocabulary, source_vocabulary + 1, kRemake));
  }
  if (offsets.front() != 0 || !std::is_sorted(offsets.begin(), offsets.end()) ||
      static_cast<size_t>(offsets.back()) != table.targets.size()) {
    return absl::InvalidArgumentError(
        fmt::format("offsets do not ascend from 0 to the {} targets; {}",
                    table.targets.size(), kRemake));
  }
  return absl::OkStatus();
}

void SetBits(std::span<const int32_t> tokens, std::vector<uint64_t>* bits) {
  for (const int32_t token : tokens) {
    (*bits)[token / 64] |= uint64_t{1} << (token % 64);
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Shortlist>> Shortlist::Create(
    const Table& table, std::span<const int32_t> also, int source_vocabulary,
    int target_vocabulary, int most) {
  TRIVIUM_RETURN_IF_ERROR(CheckOffsets(table, source_vocabulary));
  TRIVIUM_RETURN_IF_ERROR(
      CheckTokens(table.always, target_vocabulary, "always"));
  for (int source = 0; source < source_vocabulary; ++source) {
    const int32_t begin = table.offsets[source];
    TRIVIUM_RETURN_IF_ERROR(CheckTokens(
        std::span(table.targets)
            .subspan(begin, table.offsets[source + 1] - begin),
        target_vocabulary, fmt::format("the targets of token {}", source)));
  }
  auto shortlist = std::make_shared<Shortlist>();
  shortlist->offsets_ = table.offsets;
  shortlist->targets_ = table.targets;
  shortlist->always_.resize((target_vocabulary + 63) / 64);
  SetBits(table.always, &shortlist->always_);
  SetBits(also, &shortlist->always_);
  shortlist->fill_from_ = table.fill_from;
  shortlist->vocabulary_ = target_vocabulary;
  shortlist->most_ = static_cast<size_t>(most);
  return std::shared_ptr<const Shortlist>(std::move(shortlist));
}

std::vector<int32_t> Shortlist::TokensOf(
    std::span<const int32_t> source) const {
  std::vector<uint64_t> bits = always_;
  for (const int32_t token : source) {
    const int32_t begin = offsets_[token];
    SetBits(std::span(targets_).subspan(begin, offsets_[token + 1] - begin),
            &bits);
  }
  size_t count = 0;
  for (const uint64_t word : bits) count += std::popcount(word);
  std::vector<int32_t> tokens;
  if (count > most_) return tokens;
  for (int32_t token = fill_from_.value_or(vocabulary_);
       count % kFillTo != 0 && token < vocabulary_; ++token) {
    const uint64_t bit = uint64_t{1} << (token % 64);
    count += (bits[token / 64] & bit) == 0;
    bits[token / 64] |= bit;
  }
  tokens.reserve(count);
  for (size_t i = 0; i < bits.size(); ++i) {
    for (uint64_t word = bits[i]; word != 0; word &= word - 1) {
      tokens.push_back(static_cast<int32_t>(i * 64) + std::countr_zero(word));
    }
  }
  return tokens;
}

}  // namespace trivium
