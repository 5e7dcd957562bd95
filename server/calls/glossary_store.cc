#include "server/calls/glossary_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random_bits.h"
#include "base/status.h"

namespace trivium {
namespace {

// About what an entry takes besides its strings.
constexpr int64_t kEntryBytes = 256;
constexpr int64_t kTermBytes = 2 * sizeof(std::string);

std::string NewId() {
  const uint64_t high = RandomBits(), low = RandomBits();
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32,
                     high >> 16 & 0xffff, high & 0xffff, low >> 48,
                     low & 0xffffffffffff);
}

int64_t BytesOf(const GlossaryStore::Glossary& glossary) {
  int64_t bytes = kEntryBytes + static_cast<int64_t>(glossary.name.size());
  for (const auto& [languages, terms] : glossary.dictionaries) {
    bytes += kEntryBytes + static_cast<int64_t>(languages.first.size() +
                                                languages.second.size());
    for (const auto& [source, target] : terms) {
      bytes += kTermBytes + static_cast<int64_t>(source.size() + target.size());
    }
  }
  return bytes;
}

absl::Status NoGlossary(std::string_view id) {
  return absl::NotFoundError(fmt::format(
      "there is no glossary '{}'; glossaries last until they are deleted or "
      "the server stops",
      id.substr(0, 64)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const GlossaryStore::Glossary>>
GlossaryStore::Add(const std::string& owner, Glossary glossary) {
  glossary.id = NewId();
  glossary.created = clock_->WallTime(clock_->Now());
  const int64_t bytes = BytesOf(glossary);
  auto kept = std::make_shared<const Glossary>(std::move(glossary));
  MutexLock lock(&mutex_);
  TRIVIUM_RETURN_IF_ERROR(CheckRoom(1, bytes));
  bytes_ += bytes;
  entries_.emplace(kept->id, Entry{owner, kept, bytes, added_++});
  return kept;
}

absl::Status GlossaryStore::CheckRoom(size_t glossaries, int64_t bytes) const {
  if (entries_.size() + glossaries <= options_.most_glossaries &&
      bytes_ + bytes <= options_.most_bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(fmt::format(
      "the server has no room for another glossary: {} are kept, with {} MiB "
      "of at most {}; delete some",
      entries_.size(), bytes_ >> 20, options_.most_bytes >> 20));
}

absl::StatusOr<std::shared_ptr<const GlossaryStore::Glossary>>
GlossaryStore::Find(const std::string& owner, std::string_view id) const {
  MutexLock lock(&mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.owner != owner) {
    return NoGlossary(id);
  }
  return found->second.glossary;
}

absl::StatusOr<std::shared_ptr<const GlossaryStore::Glossary>>
GlossaryStore::Change(const std::string& owner, std::string_view id,
                      const std::function<absl::Status(Glossary*)>& change) {
  while (true) {
    TRIVIUM_ASSIGN_OR_RETURN(const auto old, Find(owner, id));
    Glossary changed = *old;
    TRIVIUM_RETURN_IF_ERROR(change(&changed));
    const int64_t bytes = BytesOf(changed);
    auto kept = std::make_shared<const Glossary>(std::move(changed));
    MutexLock lock(&mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return NoGlossary(id);
    Entry& entry = found->second;
    if (entry.glossary != old) continue;
    TRIVIUM_RETURN_IF_ERROR(CheckRoom(0, bytes - entry.bytes));
    bytes_ += bytes - entry.bytes;
    entry.bytes = bytes;
    entry.glossary = kept;
    return kept;
  }
}

absl::Status GlossaryStore::Remove(const std::string& owner,
                                   std::string_view id) {
  MutexLock lock(&mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.owner != owner) {
    return NoGlossary(id);
  }
  bytes_ -= found->second.bytes;
  entries_.erase(found);
  return absl::OkStatus();
}

std::vector<std::shared_ptr<const GlossaryStore::Glossary>> GlossaryStore::List(
    const std::string& owner) const {
  std::vector<const Entry*> own;
  std::vector<std::shared_ptr<const Glossary>> list;
  MutexLock lock(&mutex_);
  for (const auto& [id, entry] : entries_) {
    if (entry.owner == owner) own.push_back(&entry);
  }
  std::sort(own.begin(), own.end(), [](const Entry* a, const Entry* b) {
    return a->number < b->number;
  });
  for (const Entry* const entry : own) list.push_back(entry->glossary);
  return list;
}

}  // namespace trivium
