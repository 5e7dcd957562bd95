#ifndef TRIVIUM_SERVER_CALLS_GLOSSARY_STORE_H_
#define TRIVIUM_SERVER_CALLS_GLOSSARY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace trivium {

// Glossaries that clients give once and then name in calls. They live in
// memory, until they are removed or the server stops. Each owner sees its own.
// Thread-safe.
class GlossaryStore {
 public:
  struct Options {
    size_t most_glossaries = 1024;  // of all owners
    int64_t most_bytes = 16 << 20;  // of all their terms
  };
  // A source and a target language: small letters, no region ("en", "de").
  using Languages = std::pair<std::string, std::string>;
  // Terms and their translations.
  using Terms = std::vector<std::pair<std::string, std::string>>;
  struct Glossary {
    std::string id;  // 32 hexadecimal digits in DeepL's form of a UUID
    std::string name;
    std::map<Languages, Terms> dictionaries;
    absl::Time created;
  };

  GlossaryStore(const Options& options, const Clock* clock)
      : options_(options), clock_(clock) {}

  // Keeps a glossary and returns it with its id and time. RESOURCE_EXHAUSTED if
  // there is no room: nothing is dropped to make some.
  absl::StatusOr<std::shared_ptr<const Glossary>> Add(const std::string& owner,
                                                      Glossary glossary);
  // NOT_FOUND for an id that does not exist or belongs to another owner.
  absl::StatusOr<std::shared_ptr<const Glossary>> Find(
      const std::string& owner, std::string_view id) const;
  // Keeps what `change` makes of a glossary, in its place, and returns it. The
  // errors of Find, Add and `change` leave it as it was. `change` is called
  // without a lock, and again if another client changed the glossary meanwhile.
  absl::StatusOr<std::shared_ptr<const Glossary>> Change(
      const std::string& owner, std::string_view id,
      const std::function<absl::Status(Glossary*)>& change);
  absl::Status Remove(const std::string& owner, std::string_view id);
  // Returns the owner's glossaries, the oldest first.
  std::vector<std::shared_ptr<const Glossary>> List(
      const std::string& owner) const;

 private:
  absl::Status CheckRoom(size_t glossaries, int64_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Entry {
    std::string owner;
    std::shared_ptr<const Glossary> glossary;
    int64_t bytes = 0;
    uint64_t number = 0;  // in the order of Add
  };

  const Options options_;
  const Clock* const clock_;
  mutable Mutex mutex_;
  // By id.
  std::map<std::string, Entry, std::less<>> entries_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t added_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_GLOSSARY_STORE_H_
