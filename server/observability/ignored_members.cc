#include "server/observability/ignored_members.h"

#include "server/observability/log.h"

namespace trivium {

void IgnoredMembers::Note(const char* shape, const char* member) {
  {
    MutexLock lock(&mutex_);
    if (!noted_.insert({shape, member}).second) return;
  }
  Log(spdlog::level::info,
      "requests have a member that changes nothing here; --http-strict refuses "
      "it",
      {{"shape", std::string(shape)}, {"member", std::string(member)}});
}

}  // namespace trivium
