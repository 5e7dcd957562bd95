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

const PrefixIndex::Node* PrefixIndex::Find(Id before,
                                           std::string_view context_key,
                                           std::span<const int32_t> tokens) {
  const auto found = nodes_.find(KeyOf(before, context_key, tokens));
  return found == nodes_.end() ? nullptr : &found->second;
}

PrefixIndex::Id PrefixIndex::Register(Id before, std::string_view context_key,
                                      std::span<const int32_t> tokens,
                                      std::span<const int> blocks,
                                      std::span<const int> state) {
  auto found = nodes_.find(KeyOf(before, context_key, tokens));
  if (found == nodes_.end()) {
    const auto there = [](int block) { return block != kNoBlock; };
    if (std::none_of(blocks.begin(), blocks.end(), there) && state.empty()) {
      return kNone;
    }
    // Made before it is added, so that no half of it stays without memory.
    Node made = {.id = last_id_ + 1,
                 .blocks = std::vector<int>(groups_, kNoBlock),
                 .state = std::vector<int>(state_blocks_, kNoBlock)};
    found = nodes_.try_emplace(key_, std::move(made)).first;
    ++last_id_;
  }
  Node& node = found->second;
  for (size_t group = 0; group < groups_; ++group) {
    Put(&*found, static_cast<int>(group), blocks[group], &node.blocks[group]);
  }
  for (size_t i = 0; i < state.size(); ++i) {
    Put(&*found, static_cast<int>(groups_ + i), state[i], &node.state[i]);
  }
  return node.id;
}

void PrefixIndex::Put(Nodes::value_type* node, int group, int block,
                      int* place) {
  if (block == kNoBlock || *place != kNoBlock) return;
  // The block may be registered after an equal node that was forgotten.
  Forget(block);
  *place = block;
  entries_[block] = {node, group};
}

void PrefixIndex::Forget(int block) {
  const auto [node, group] = std::exchange(entries_[block], {});
  if (node == nullptr) return;
  auto& [id, blocks, state] = node->second;
  const auto place = static_cast<size_t>(group);
  (place < groups_ ? blocks[place] : state[place - groups_]) = kNoBlock;
  const auto gone = [](int other) { return other == kNoBlock; };
  if (std::all_of(blocks.begin(), blocks.end(), gone) &&
      std::all_of(state.begin(), state.end(), gone)) {
    nodes_.erase(nodes_.find(node->first));
  }
}

}  // namespace trivium
