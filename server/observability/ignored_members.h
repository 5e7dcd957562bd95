#ifndef TRIVIUM_SERVER_OBSERVABILITY_IGNORED_MEMBERS_H_
#define TRIVIUM_SERVER_OBSERVABILITY_IGNORED_MEMBERS_H_

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace trivium {

// Members of other APIs' requests that cannot change an answer here, such as
// OpenAI's `metadata`. They are ignored and each is logged once, at info; or,
// if strict, they are errors like any member that is not known. Thread-safe.
class IgnoredMembers {
 public:
  explicit IgnoredMembers(bool strict) : strict_(strict) {}

  bool strict() const { return strict_; }
  // A request of this shape ("OpenAI") has such a member. Both outlive this:
  // they are the program's own texts, so there are few of them.
  void Note(const char* shape, const char* member);

 private:
  const bool strict_;
  Mutex mutex_;
  std::set<std::pair<std::string_view, std::string_view>> noted_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_IGNORED_MEMBERS_H_
