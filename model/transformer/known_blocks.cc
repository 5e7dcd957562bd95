#include "model/transformer/known_blocks.h"

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

int KnownBlocks::Find(Id before, std::string_view past,
                      std::span<const int32_t> tokens) {
  const auto found = block_by_key_.find(KeyOf(before, past, tokens));
  return found == block_by_key_.end() ? -1 : found->second;
}

void KnownBlocks::Add(int block, Id before, std::string_view past,
                      std::span<const int32_t> tokens) {
  const auto [place, is_new] =
      block_by_key_.try_emplace(KeyOf(before, past, tokens), block);
  if (!is_new) return;
  known_[block] = {++last_id_, place->first};
}

void KnownBlocks::Forget(int block) {
  Known& known = known_[block];
  if (known.id == kNone) return;
  block_by_key_.erase(known.key);
  known = {};
}

}  // namespace trivium
