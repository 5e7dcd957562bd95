#ifndef TRIVIUM_SERVER_CALLS_DOCUMENT_JOBS_H_
#define TRIVIUM_SERVER_CALLS_DOCUMENT_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "server/calls/document_job.h"
#include "server/limits/overload_manager.h"

namespace trivium {

// Documents that are translated while nobody waits: one call brings a document,
// others ask how far it is, and one fetches the translation. They live in
// memory, and so end with the server. Thread-safe.
//
//   auto ticket = jobs.Start(environment, owner, std::move(order));
//   jobs.Look(owner, ticket->id, ticket->key)   // as often as one likes
//   jobs.Take(owner, ticket->id, ticket->key)   // once
//
// Bounded: in documents, in those of one owner, in bytes, and in time. Their
// bytes are in the account of the overload manager, which may end a job.
class DocumentJobs {
 public:
  struct Options {
    size_t most_jobs = 1024;
    size_t most_of_owner = 128;
    // Bytes of all documents and translations; an owner may have half.
    int64_t most_bytes = 64 << 20;
    // A job is kept for this long once it has ended.
    absl::Duration time = absl::Minutes(30);
  };
  // Both are 32 hexadecimal digits that nobody can guess.
  struct Ticket {
    std::string id, key;
  };

  // `overload` and `clock` outlive this object.
  DocumentJobs(const Options& options, OverloadManager* overload,
               const Clock* clock)
      : options_(options), overload_(overload), clock_(clock) {}

  // Begins to translate. RESOURCE_EXHAUSTED if there is no room: nothing is
  // dropped to make some. INVALID_ARGUMENT if there can never be.
  absl::StatusOr<Ticket> Start(const Environment& environment,
                               const std::string& owner,
                               DocumentJob::Order order);
  // NOT_FOUND for an id that does not exist or belongs to another owner, or
  // with another key.
  absl::StatusOr<DocumentJob::Progress> Look(const std::string& owner,
                                             std::string_view id,
                                             std::string_view key);
  // Returns the translation and forgets it. UNAVAILABLE if it is not done; the
  // job's error if it failed.
  absl::StatusOr<DocumentJob::Translation> Take(const std::string& owner,
                                                std::string_view id,
                                                std::string_view key);

  // Ends the calls of all jobs soon.
  void CancelAll();

 private:
  struct Entry {
    std::string owner, key;
    std::shared_ptr<DocumentJob> job;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;  // by id

  // RESOURCE_EXHAUSTED if the owner may not bring so many bytes more.
  absl::Status CheckRoom(const std::string& owner, int64_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Entries::iterator> Find(const std::string& owner,
                                         std::string_view id,
                                         std::string_view key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops jobs whose time is over.
  void DropOld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  OverloadManager* const overload_;
  const Clock* const clock_;
  Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_DOCUMENT_JOBS_H_
