// Invariant: a connection is in waiting_ exactly if it is in its client's line,
// once; a client is in clients_, once, exactly if it has a line.
#include "server/transports/grpc/call_turns.h"

#include <utility>

namespace trivium {

bool CallTurns::Enter(const Turn& turn, absl::Time now) {
  MutexLock lock(&mutex_);
  ExpireLocked(now);
  const uint64_t connection = turn.connection_;
  const bool its_turn = turn_ == connection || !OthersWaitLocked(connection);
  if (its_turn && entered_.size() < most_) {
    oldest_.push_back(turn.call_);
    entered_.emplace(turn.call_, now);
    turn_.reset();
    return true;
  }
  if (!waiting_.insert(connection).second) return false;
  std::deque<uint64_t>& line = lines_[turn.client_];
  if (line.empty()) clients_.push_back(turn.client_);
  line.push_back(connection);
  return false;
}

bool CallTurns::OthersWaitLocked(uint64_t connection) const {
  return waiting_.size() > (waiting_.contains(connection) ? 1 : 0);
}

void CallTurns::ExpireLocked(absl::Time now) {
  for (; !oldest_.empty(); oldest_.pop_front()) {
    const auto entered = entered_.find(oldest_.front());
    if (entered == entered_.end()) continue;
    if (now - entered->second < kLongest) return;
    entered_.erase(entered);
  }
}

void CallTurns::Begun(CallId call) {
  MutexLock lock(&mutex_);
  if (entered_.erase(call) == 0) return;
  // Half of them at a time, since waking costs about as much as a call.
  if (entered_.size() == most_ / 2 && !waiting_.empty() && wake_) wake_();
}

std::optional<uint64_t> CallTurns::Next(absl::Time now) {
  MutexLock lock(&mutex_);
  turn_.reset();
  if (clients_.empty()) return std::nullopt;
  ExpireLocked(now);
  if (entered_.size() >= most_) return std::nullopt;
  const ClientId client = clients_.front();
  const auto line = lines_.find(client);
  turn_ = line->second.front();
  // The only step that takes memory.
  if (line->second.size() > 1) clients_.push_back(client);
  clients_.pop_front();
  line->second.pop_front();
  if (line->second.empty()) lines_.erase(line);
  waiting_.erase(*turn_);
  return turn_;
}

void CallTurns::SetWake(std::function<void()> wake) {
  MutexLock lock(&mutex_);
  wake_ = std::move(wake);
}

}  // namespace trivium
