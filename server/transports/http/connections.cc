// A socket is shut down, watched and forgotten under mutex_, and the library
// closes it only after Close. So no call here touches a socket number that has
// been reused. A connection counts from the moment it is accepted, before the
// library knows it, so a burst cannot exceed the limits.
#include "server/transports/http/connections.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/exceptions.h"
#include "base/random_bits.h"
#include "server/limits/client_id.h"

namespace trivium {
namespace {

// Tags of epoll's events; the others are connections' ids.
constexpr uint64_t kWake = 0;
constexpr uint64_t kListener = 1;
// Pause of accepting while kMaxGoing connections wait to be closed.
constexpr absl::Duration kGoingPause = absl::Milliseconds(1);
// A connection that was in use so lately is not evicted for lack of files, nor
// one that has waited for its client for no longer.
constexpr absl::Duration kInUse = absl::Seconds(1);

}  // namespace

HttpConnections::HttpConnections(const Options& options, Metrics* metrics)
    : options_(options),
      metrics_(metrics),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      limits_(options.max_connections,
              std::max(1, options.max_connections / 2)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWake;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
}

HttpConnections::~HttpConnections() { Stop(); }

void HttpConnections::Start(std::unique_ptr<Acceptor> acceptor,
                            Deliver deliver) {
  {
    MutexLock lock(&accept_mutex_);
    acceptor_.emplace(std::move(acceptor), epoll_.get(), kListener);
    deliver_ = std::move(deliver);
  }
  thread_ = std::thread([this] { Run(); });
}

void HttpConnections::StopAccepting() {
  MutexLock lock(&accept_mutex_);
  if (acceptor_) acceptor_->Close();
}

void HttpConnections::Stop() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  Wake();
  thread_.join();
  MutexLock lock(&accept_mutex_);
  acceptor_.reset();
}

void HttpConnections::Accept(absl::Time now) {
  int going = 0;
  {
    MutexLock lock(&mutex_);
    going = CountGoing();
  }
  MutexLock lock(&accept_mutex_);
  const int most = std::min(PausingAcceptor::kAtOnce, kMaxGoing - going);
  if (most <= 0) return acceptor_->Pause(now + kGoingPause);
  const auto take = [this](UniqueFd socket, const sockaddr_storage& client) {
    accept_mutex_.AssertHeld();
    const std::optional<Id> id = Add(socket.get(), client);
    if (id && !deliver_(std::move(socket), client)) Close(*id);
  };
  if (acceptor_->Accept(now, take, most)) return;
  room_log_.Log(spdlog::level::err, "cannot accept a connection",
                {{"error", strerror(errno)}});
  EndIdleForFiles(now);
}

std::optional<HttpConnections::Id> HttpConnections::Add(
    int socket, const sockaddr_storage& client) {
  // A Unix socket's clients cannot be told apart, so all may use all of it.
  const std::string network = client.ss_family == AF_UNIX
                                  ? std::to_string(socket)
                                  : NetworkOf(AddressText(client));
  MutexLock lock(&mutex_);
  if (broken_) return std::nullopt;
  if (!limits_.HasRoom(network) && !MakeRoom(network, SteadyNow())) {
    metrics_->OnConnectionEnded("refused");
    return std::nullopt;
  }
  const Id id = ++last_id_;
  try {
    limits_.Add(id, network);
    delivered_[socket] = id;
    connections_.try_emplace(id);
  } catch (...) {
    limits_.Remove(id);
    delivered_.erase(socket);
    throw;
  }
  Connection& connection = connections_[id];
  connection.socket = socket;
  connection.grows_old = SteadyNow() + Spread(options_.max_age);
  SetPhaseLocked(id, &connection, Phase::kConnected);
  return id;
}

int HttpConnections::CountGoing() const {
  return static_cast<int>(connections_.size()) - limits_.size();
}

void HttpConnections::EndIdleForFiles(absl::Time now) {
  MutexLock lock(&mutex_);
  if (CountGoing() > 0) return;  // their files come back soon
  const std::optional<Id> id = limits_.LongestIdle();
  if (!id) return;
  const Connection& connection = connections_.at(*id);
  if (connection.phase == Phase::kIdle && now - connection.since < kInUse) {
    return;
  }
  Evict(*id);
}

bool HttpConnections::MakeRoom(const std::string& network, absl::Time now) {
  std::optional<Id> id = limits_.LongestIdle(network);
  if (!id) {
    id = limits_.LongestWaiting(network);
    if (!id || now - connections_.at(*id).waits_since < kInUse) return false;
  }
  Evict(*id);
  return true;
}

void HttpConnections::Evict(Id id) {
  limits_.Remove(id);
  Connection& connection = connections_.at(id);
  connection.deadline = absl::InfiniteFuture();
  shutdown(connection.socket, SHUT_RDWR);
  metrics_->OnConnectionEnded("evicted");
}

HttpConnections::Id HttpConnections::Opened(int socket) {
  MutexLock lock(&mutex_);
  const auto delivered = delivered_.find(socket);
  const Id id = delivered->second;
  delivered_.erase(delivered);
  return id;
}

void HttpConnections::Close(Id id) {
  MutexLock lock(&mutex_);
  const auto entry = connections_.find(id);
  if (entry == connections_.end()) return;
  const int socket = entry->second.socket;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
  limits_.Remove(id);
  delivered_.erase(socket);
  connections_.erase(entry);
}

void HttpConnections::SetPhase(Id id, Phase phase) {
  MutexLock lock(&mutex_);
  const auto entry = connections_.find(id);
  if (entry != connections_.end()) SetPhaseLocked(id, &entry->second, phase);
}

void HttpConnections::Receive(Id id, uint64_t client) {
  MutexLock lock(&mutex_);
  const auto entry = connections_.find(id);
  if (entry == connections_.end()) return;
  entry->second.client = client;
  SetPhaseLocked(id, &entry->second, Phase::kReceiving);
}

void HttpConnections::SetPhaseLocked(Id id, Connection* connection,
                                     Phase phase) {
  const absl::Time now = SteadyNow();
  const auto waits = [](Phase of) {
    return of == Phase::kReceiving || of == Phase::kAnswering;
  };
  if (!waits(connection->phase)) connection->waits_since = now;
  connection->phase = phase;
  connection->since = now;
  // Without memory it stays where it was among those that may be evicted.
  CatchExceptions([&] {
    mutex_.AssertHeld();
    if (phase <= Phase::kIdle) {
      limits_.SetIdle(id);
    } else if (waits(phase)) {
      limits_.SetWaiting(id, connection->client);
    } else {
      limits_.SetBusy(id);
    }
  }).IgnoreError();
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
  return CountOld(&entry->second, SteadyNow());
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
  SetPhaseLocked(id, &entry->second, Phase::kWorking);
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
  SetPhaseLocked(id, &entry->second, Phase::kAnswering);
}

void HttpConnections::Break(Id id) {
  MutexLock lock(&mutex_);
  const auto entry = connections_.find(id);
  if (entry != connections_.end()) shutdown(entry->second.socket, SHUT_RDWR);
}

void HttpConnections::BreakAll() {
  MutexLock lock(&mutex_);
  broken_ = true;
  for (const auto& [id, connection] : connections_) {
    shutdown(connection.socket, SHUT_RDWR);
  }
}

void HttpConnections::Run() {
  std::array<epoll_event, 64> events;
  while (true) {
    absl::Time now = SteadyNow();
    absl::Time next = BreakLate(now);
    {
      MutexLock lock(&accept_mutex_);
      acceptor_->Resume(now);
      next = std::min(next, acceptor_->resume());
    }
    int milliseconds = -1;
    if (next != absl::InfiniteFuture()) {
      // Rounded up, so that it does not wake too early.
      milliseconds = static_cast<int>(absl::ToInt64Milliseconds(std::clamp(
                         next - now, absl::ZeroDuration(), absl::Hours(1)))) +
                     1;
    }
    const int count =
        epoll_wait(epoll_.get(), events.data(), events.size(), milliseconds);
    now = SteadyNow();
    for (int i = 0; i < count; ++i) {
      const uint64_t tag = events[i].data.u64;
      if (tag == kListener) {
        // Without memory, connections that were accepted end.
        CatchExceptions([&] { Accept(now); }).IgnoreError();
      } else if (tag != kWake) {
        HangUp(tag);
      } else {
        uint64_t times = 0;
        [[maybe_unused]] const ssize_t got =
            read(wake_.get(), &times, sizeof(times));
        MutexLock lock(&mutex_);
        if (stopping_) return;
      }
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
