#include "server/calls/document_jobs.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/exceptions.h"
#include "base/status.h"
#include "server/errors/status.h"
#include "server/limits/crypto.h"

namespace trivium {
namespace {

constexpr absl::Duration kComeBackForRoom = absl::Seconds(10);

absl::Status NoRoomForDocument(const std::string& why) {
  return WithRetry(absl::ResourceExhaustedError(why + "; fetch translations "
                                                      "that are done, or wait"),
                   kComeBackForRoom);
}

}  // namespace

absl::Status DocumentJobs::CheckRoom(const std::string& owner,
                                     int64_t bytes) const {
  int64_t all = bytes, own = bytes;
  size_t of_owner = 0;
  for (const auto& [id, entry] : entries_) {
    const int64_t more = entry.job->bytes();
    all += more;
    if (entry.owner != owner) continue;
    own += more;
    ++of_owner;
  }
  if (of_owner >= options_.most_of_owner) {
    return NoRoomForDocument(
        fmt::format("the server keeps {} documents of this client, and no more "
                    "than {} of one",
                    of_owner, options_.most_of_owner));
  }
  if (entries_.size() >= options_.most_jobs) {
    return NoRoomForDocument(
        fmt::format("the server keeps {} documents, and no more than {}",
                    entries_.size(), options_.most_jobs));
  }
  const int64_t most_own = options_.most_bytes / 2;
  if (bytes > most_own) {
    return InvalidField(
        "data", fmt::format("has {} bytes, and the server keeps no document of "
                            "more than {}; split it",
                            bytes, most_own));
  }
  if (own > most_own) {
    return NoRoomForDocument(
        fmt::format("with this one the server would keep {} bytes of this "
                    "client's documents and translations, and no more than {} "
                    "of one",
                    own, most_own));
  }
  if (all > options_.most_bytes) {
    return NoRoomForDocument(
        fmt::format("with this one the server would keep {} bytes of documents "
                    "and translations, and no more than {}",
                    all, options_.most_bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<DocumentJobs::Ticket> DocumentJobs::Start(
    const Environment& environment, const std::string& owner,
    DocumentJob::Order order) {
  Ticket ticket;
  TRIVIUM_ASSIGN_OR_RETURN(ticket.id, NewSecret(16));
  TRIVIUM_ASSIGN_OR_RETURN(ticket.key, NewSecret(16));
  std::shared_ptr<DocumentJob> job;
  {
    MutexLock lock(&mutex_);
    DropOld();
    TRIVIUM_RETURN_IF_ERROR(
        CheckRoom(owner, static_cast<int64_t>(order.data.size())));
    job =
        std::make_shared<DocumentJob>(environment, overload_, std::move(order));
    entries_.emplace(ticket.id, Entry{owner, ticket.key, job});
  }
  const absl::Status started = CatchExceptions([&] { job->Start(); });
  if (started.ok()) return ticket;
  MutexLock lock(&mutex_);
  entries_.erase(ticket.id);
  return started;
}

absl::StatusOr<DocumentJobs::Entries::iterator> DocumentJobs::Find(
    const std::string& owner, std::string_view id, std::string_view key) {
  DropOld();
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.owner != owner ||
      !EqualInConstantTime(Sha256Of(found->second.key), Sha256Of(key))) {
    return absl::NotFoundError(fmt::format(
        "there is no such document: it was fetched already, was done more than "
        "{} ago, belongs to another token or key, or the server has started "
        "anew since; send it again",
        absl::FormatDuration(options_.time)));
  }
  return found;
}

absl::StatusOr<DocumentJob::Progress> DocumentJobs::Look(
    const std::string& owner, std::string_view id, std::string_view key) {
  MutexLock lock(&mutex_);
  TRIVIUM_ASSIGN_OR_RETURN(const auto entry, Find(owner, id, key));
  return entry->second.job->progress();
}

absl::StatusOr<DocumentJob::Translation> DocumentJobs::Take(
    const std::string& owner, std::string_view id, std::string_view key) {
  MutexLock lock(&mutex_);
  TRIVIUM_ASSIGN_OR_RETURN(const auto entry, Find(owner, id, key));
  auto translation = entry->second.job->Take();
  if (!absl::IsUnavailable(translation.status())) entries_.erase(entry);
  return translation;
}

void DocumentJobs::DropOld() {
  const absl::Time now = clock_->Now();
  for (auto at = entries_.begin(); at != entries_.end();) {
    const std::optional<absl::Time> ended = at->second.job->ended();
    at = ended && now - *ended >= options_.time ? entries_.erase(at)
                                                : std::next(at);
  }
}

void DocumentJobs::CancelAll() {
  std::vector<std::shared_ptr<DocumentJob>> jobs;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, entry] : entries_) jobs.push_back(entry.job);
  }
  for (const auto& job : jobs) job->Cancel();
}

}  // namespace trivium
