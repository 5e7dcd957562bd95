#include "model/transformer/known_blocks.h"

#include <algorithm>
#include <utility>

namespace trivium {
namespace {

template <typename T>
void Append(const T* values, size_t count, std::string* to) {
  to->append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

// With its length, so that no two lists of lists read alike.
void AppendList(std::span<const int32_t> values, std::string* to) {
  const uint64_t size = values.size();
  Append(&size, 1, to);
  Append(values.data(), values.size(), to);
}

}  // namespace

std::string KnownBlocks::Past(const EncoderInput& input,
                              std::string_view salt) {
  std::string past;
  AppendList(input.ids, &past);
  AppendList(input.type_ids, &past);
  past += salt;
  return past;
}

const std::string& KnownBlocks::KeyOf(Id before, std::string_view past,
                                      std::span<const int32_t> tokens) {
  key_.clear();
  Append(&before, 1, &key_);
  AppendList(tokens, &key_);
  if (before == kNone) key_ += past;
  return key_;
}

const KnownBlocks::Stretch* KnownBlocks::Find(Id before, std::string_view past,
                                              std::span<const int32_t> tokens) {
  const auto found = stretches_.find(KeyOf(before, past, tokens));
  return found == stretches_.end() ? nullptr : &found->second;
}

KnownBlocks::Id KnownBlocks::Add(Id before, std::string_view past,
                                 std::span<const int32_t> tokens,
                                 std::span<const int> blocks) {
  auto found = stretches_.find(KeyOf(before, past, tokens));
  if (found == stretches_.end()) {
    const auto there = [](int block) { return block != kNoBlock; };
    if (std::none_of(blocks.begin(), blocks.end(), there)) return kNone;
    found = stretches_.try_emplace(key_).first;
    found->second = {++last_id_, std::vector<int>(groups_, kNoBlock)};
  }
  Stretch& stretch = found->second;
  for (size_t group = 0; group < groups_; ++group) {
    const int block = blocks[group];
    if (block == kNoBlock || stretch.blocks[group] != kNoBlock) continue;
    // It may be known as what follows an equal stretch that was forgotten.
    Forget(block);
    stretch.blocks[group] = block;
    known_[block] = {&*found, static_cast<int>(group)};
  }
  return stretch.id;
}

void KnownBlocks::Forget(int block) {
  const auto [stretch, group] = std::exchange(known_[block], {});
  if (stretch == nullptr) return;
  std::vector<int>& blocks = stretch->second.blocks;
  blocks[group] = kNoBlock;
  const auto gone = [](int other) { return other == kNoBlock; };
  if (std::all_of(blocks.begin(), blocks.end(), gone)) {
    stretches_.erase(stretches_.find(stretch->first));
  }
}

}  // namespace trivium
