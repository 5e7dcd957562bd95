#include "model/transformer/prefix_index.h"

#include <algorithm>
#include <utility>

namespace trivium {
namespace {

template <typename T>
void Append(const T* values, size_t count, std::string* to) {
  to->append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

// Prefixes the length, so that different sequences of lists never yield the
// same key.
void AppendList(std::span<const int32_t> values, std::string* to) {
  const uint64_t size = values.size();
  Append(&size, 1, to);
  Append(values.data(), values.size(), to);
}

}  // namespace

std::string PrefixIndex::ContextKey(const EncoderInput& input,
                                    std::string_view salt) {
  std::string context_key;
  AppendList(input.ids, &context_key);
  AppendList(input.type_ids, &context_key);
  context_key += salt;
  return context_key;
}

const std::string& PrefixIndex::KeyOf(Id before, std::string_view context_key,
                                      std::span<const int32_t> tokens) {
  key_.clear();
  Append(&before, 1, &key_);
  AppendList(tokens, &key_);
  if (before == kNone) key_ += context_key;
  return key_;
}

const PrefixIndex::Segment* PrefixIndex::Find(Id before,
                                              std::string_view context_key,
                                              std::span<const int32_t> tokens) {
  const auto found = segments_.find(KeyOf(before, context_key, tokens));
  return found == segments_.end() ? nullptr : &found->second;
}

PrefixIndex::Id PrefixIndex::Register(Id before, std::string_view context_key,
                                      std::span<const int32_t> tokens,
                                      std::span<const int> blocks) {
  auto found = segments_.find(KeyOf(before, context_key, tokens));
  if (found == segments_.end()) {
    const auto there = [](int block) { return block != kNoBlock; };
    if (std::none_of(blocks.begin(), blocks.end(), there)) return kNone;
    found = segments_.try_emplace(key_).first;
    found->second = {++last_id_, std::vector<int>(groups_, kNoBlock)};
  }
  Segment& segment = found->second;
  for (size_t group = 0; group < groups_; ++group) {
    const int block = blocks[group];
    if (block == kNoBlock || segment.blocks[group] != kNoBlock) continue;
    // The block may be registered after an equal segment that was forgotten.
    Forget(block);
    segment.blocks[group] = block;
    entries_[block] = {&*found, static_cast<int>(group)};
  }
  return segment.id;
}

void PrefixIndex::Forget(int block) {
  const auto [segment, group] = std::exchange(entries_[block], {});
  if (segment == nullptr) return;
  std::vector<int>& blocks = segment->second.blocks;
  blocks[group] = kNoBlock;
  const auto gone = [](int other) { return other == kNoBlock; };
  if (std::all_of(blocks.begin(), blocks.end(), gone)) {
    segments_.erase(segments_.find(segment->first));
  }
}

}  // namespace trivium
