// A socket is shut down, watched and forgotten under the mutex, and the library
// closes it after Close: so none is touched that has become another's.
#include "server/transports/http/connections.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/time/clock.h"
#include "base/random_bits.h"
#include "server/limits/client_id.h"

namespace trivium {
namespace {

constexpr HttpConnections::Id kWakeId = 0;

}  // namespace

HttpConnections::HttpConnections(const Options& options, Metrics* metrics)
    : options_(options),
      metrics_(metrics),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeId;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
  thread_ = std::thread([this] { Run(); });
}

HttpConnections::~HttpConnections() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  Wake();
  thread_.join();
}

bool HttpConnections::Admit(const sockaddr_storage& client) {
  const std::string network = NetworkOf(AddressText(client));
  MutexLock lock(&mutex_);
  if (closed_) return false;
  bool room = true;
  const auto of_client = of_network_.find(network);
  if (of_client != of_network_.end() &&
      of_client->second >= std::max(1, options_.max_connections / 2)) {
    room = EndLongestIdle(&network);
  } else if (static_cast<int>(connections_.size()) >=
             options_.max_connections) {
    room = EndLongestIdle(nullptr);
  }
  if (!room) metrics_->OnConnectionEnded("refused");
  return room;
}

bool HttpConnections::EndLongestIdle(const std::string* network) {
  Connection* longest = nullptr;
  for (auto& [id, connection] : connections_) {
    if (connection.phase <= Phase::kIdle &&
        connection.deadline != absl::InfiniteFuture() &&
        (network == nullptr || connection.network == *network) &&
        (longest == nullptr || connection.since < longest->since)) {
      longest = &connection;
    }
  }
  if (longest == nullptr) return false;
  shutdown(longest->socket, SHUT_RDWR);
  longest->deadline = absl::InfiniteFuture();  // has its end
  metrics_->OnConnectionEnded("evicted");
  return true;
}

HttpConnections::Id HttpConnections::Open(int socket,
                                          const sockaddr_storage& client) {
  MutexLock lock(&mutex_);
  const Id id = ++last_id_;
  Connection& connection = connections_[id];
  connection.socket = socket;
  connection.network = NetworkOf(AddressText(client));
  connection.grows_old = absl::Now() + Spread(options_.max_age);
  ++of_network_[connection.network];
  SetPhaseLocked(&connection, Phase::kConnected);
  if (closed_) shutdown(socket, SHUT_RDWR);
  return id;
}

void HttpConnections::Close(Id id) {
  MutexLock lock(&mutex_);
  const auto entry = connections_.find(id);
  if (entry == connections_.end()) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry->second.socket, nullptr);
  const auto of_client = of_network_.find(entry->second.network);
  if (--of_client->second == 0) of_network_.erase(of_client);
  connections_.erase(entry);
}

void HttpConnections::SetPhase(Id id, Phase phase) {
  MutexLock lock(&mutex_);
  const auto entry = connections_.find(id);
  if (entry != connections_.end()) SetPhaseLocked(&entry->second, phase);
}

void HttpConnections::SetPhaseLocked(Connection* connection, Phase phase) {
  const absl::Time now = absl::Now();
  connection->phase = phase;
  connection->since = now;
  switch (phase) {
    case Phase::kIdle:
      connection->deadline =
          std::min(now + options_.idle_timeout, connection->grows_old);
      break;
    case Phase::kConnected:
    case Phase::kReceiving:
      connection->deadline = now + options_.request_timeout;
      break;
    case Phase::kWorking:
      connection->deadline = absl::InfiniteFuture();
      break;
    case Phase::kAnswering:
      connection->deadline = now + options_.stall_timeout;
      break;
  }
  if (connection->deadline < sleeps_until_) {
    sleeps_until_ = connection->deadline;
    Wake();
  }
}

bool HttpConnections::IsOld(Id id) {
  MutexLock lock(&mutex_);
  const auto entry = connections_.find(id);
  if (entry == connections_.end()) return false;
  return CountOld(&entry->second, absl::Now());
}

bool HttpConnections::CountOld(Connection* connection, absl::Time now) {
  const bool old = connection->grows_old <= now;
  if (old && !std::exchange(connection->counted_old, true)) {
    metrics_->OnConnectionEnded("old");
  }
  return old;
}

void HttpConnections::Watch(Id id, std::weak_ptr<HangUpListener> listener) {
  MutexLock lock(&mutex_);
  const auto entry = connections_.find(id);
  if (entry == connections_.end()) return;
  entry->second.listener = std::move(listener);
  SetPhaseLocked(&entry->second, Phase::kWorking);
  epoll_event event{};
  event.events = EPOLLRDHUP | EPOLLONESHOT;
  event.data.u64 = id;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, entry->second.socket, &event);
}

void HttpConnections::Unwatch(Id id) {
  MutexLock lock(&mutex_);
  const auto entry = connections_.find(id);
  if (entry == connections_.end()) return;
  entry->second.listener.reset();
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry->second.socket, nullptr);
  SetPhaseLocked(&entry->second, Phase::kAnswering);
}

void HttpConnections::Break(Id id) {
  MutexLock lock(&mutex_);
  const auto entry = connections_.find(id);
  if (entry != connections_.end()) shutdown(entry->second.socket, SHUT_RDWR);
}

void HttpConnections::BreakAll() {
  MutexLock lock(&mutex_);
  closed_ = true;
  for (const auto& [id, connection] : connections_) {
    shutdown(connection.socket, SHUT_RDWR);
  }
}

void HttpConnections::Run() {
  std::array<epoll_event, 64> events;
  while (true) {
    const absl::Time now = absl::Now();
    const absl::Time next = BreakLate(now);
    int milliseconds = -1;
    if (next != absl::InfiniteFuture()) {
      // One more: rounded up, so that it does not wake too early.
      milliseconds = static_cast<int>(absl::ToInt64Milliseconds(std::clamp(
                         next - now, absl::ZeroDuration(), absl::Hours(1)))) +
                     1;
    }
    const int count =
        epoll_wait(epoll_.get(), events.data(), events.size(), milliseconds);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 != kWakeId) {
        HangUp(events[i].data.u64);
        continue;
      }
      uint64_t times = 0;
      [[maybe_unused]] const ssize_t got =
          read(wake_.get(), &times, sizeof(times));
      MutexLock lock(&mutex_);
      if (stopping_) return;
    }
  }
}

absl::Time HttpConnections::BreakLate(absl::Time now) {
  MutexLock lock(&mutex_);
  sleeps_until_ = absl::InfiniteFuture();
  for (auto& [id, connection] : connections_) {
    if (connection.deadline <= now) {
      if (connection.phase == Phase::kIdle) CountOld(&connection, now);
      shutdown(connection.socket, SHUT_RDWR);
      connection.deadline = absl::InfiniteFuture();
    }
    sleeps_until_ = std::min(sleeps_until_, connection.deadline);
  }
  return sleeps_until_;
}

void HttpConnections::HangUp(Id id) {
  std::shared_ptr<HangUpListener> listener;
  {
    MutexLock lock(&mutex_);
    const auto entry = connections_.find(id);
    if (entry != connections_.end()) listener = entry->second.listener.lock();
  }
  if (listener != nullptr) listener->OnHangUp();
}

void HttpConnections::Wake() {
  const uint64_t once = 1;
  [[maybe_unused]] const ssize_t written =
      write(wake_.get(), &once, sizeof(once));
}

}  // namespace trivium
