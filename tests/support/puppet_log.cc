#include "tests/support/puppet_log.h"

#include <utility>

namespace trivium {

void PuppetLog::Add(Step step) {
  MutexLock lock(&mutex_);
  steps_.push_back(std::move(step));
}

void PuppetLog::AddMisuse(std::string what) {
  MutexLock lock(&mutex_);
  misuses_.push_back(std::move(what));
}

void PuppetLog::SetLeaks(int count) {
  MutexLock lock(&mutex_);
  leaks_ = count;
}

std::vector<PuppetLog::Step> PuppetLog::steps() const {
  MutexLock lock(&mutex_);
  return steps_;
}

std::vector<std::string> PuppetLog::misuses() const {
  MutexLock lock(&mutex_);
  return misuses_;
}

int PuppetLog::leaks() const {
  MutexLock lock(&mutex_);
  return leaks_;
}

}  // namespace trivium
