// Invariants:
//   - handshakes_ holds the ids of all connections whose handshake is under way
//     or has failed, oldest first, because ids only grow.
//   - deadlines_ holds the connections that end at a known time: those in
//     handshakes_, and those that are closing.
//   - A connection is delivered once, when its handshake is done. From then on
//     the thread moves bytes between the client's socket and the pair's end
//     that it kept; the server sees a plain socket.
#include "server/transports/net/terminator.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "server/observability/log.h"
#include "server/transports/net/connection.h"
#include "server/transports/net/pausing_acceptor.h"

namespace trivium {
namespace {

using State = TlsConnection::State;
using Id = uint64_t;

// A handshake computes for about a millisecond, and all others wait meanwhile.
constexpr int kHandshakesPerRound = 4;
// Time for a client to read the end of an answer and close.
constexpr absl::Duration kClosingTime = absl::Seconds(2);
constexpr absl::Duration kStopGrace = absl::Seconds(1);

// Tags of epoll's events. A connection's are 2 x id (the client) and
// 2 x id + 1 (the server's end).
constexpr uint64_t kWake = 0;
constexpr uint64_t kListener = 1;

class TlsTerminator : public Acceptor {
 public:
  TlsTerminator(const TlsTerminatorOptions& options,
                std::unique_ptr<Acceptor> acceptor, TlsCredentials* credentials,
                Metrics* metrics)
      : options_(options),
        credentials_(credentials),
        metrics_(metrics),
        address_(acceptor->address()),
        ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC)),
        acceptor_(std::move(acceptor), epoll_.get(), kListener) {
    Watch(EPOLL_CTL_ADD, wake_.get(), EPOLLIN, kWake);
    thread_ = std::thread([this] { Run(); });
  }

  ~TlsTerminator() override {
    Close();
    stopping_ = true;
    Wake();
    thread_.join();
  }

  int fd() const override { return ready_.get(); }
  UniqueFd Accept(sockaddr_storage* client) override {
    uint64_t one = 0;
    if (read(ready_.get(), &one, sizeof(one)) < 0) return UniqueFd();
    MutexLock lock(&mutex_);
    UniqueFd socket = std::move(delivered_.front().first);
    *client = delivered_.front().second;
    delivered_.pop_front();
    return socket;
  }
  void Close() override {
    {
      MutexLock lock(&mutex_);
      closed_ = true;
    }
    Wake();
  }
  sockaddr_storage address() const override { return address_; }

 private:
  struct Entry {
    std::unique_ptr<TlsConnection> connection;
    absl::Time deadline = absl::InfiniteFuture();
    uint32_t client_events = 0;  // as registered with epoll
    uint32_t server_events = 0;
    bool server_watched = false;
  };

  void Watch(int operation, int fd, uint32_t events, uint64_t tag) const {
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag;
    epoll_ctl(epoll_.get(), operation, fd, &event);
  }
  void Wake() {
    const uint64_t one = 1;
    while (write(wake_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
  }

  void Run();
  int WaitMilliseconds() const;
  void OnWake();
  void OnEvent(const epoll_event& event);
  void AcceptClients();
  void Add(UniqueFd client, const sockaddr_storage& address);
  void Advance(Id id, Entry* entry);
  // Ends a connection that is in handshakes_.
  void Refuse(Id id, const std::string& reason);
  void ReportRefusal(const TlsConnection& connection,
                     const std::string& reason);
  // Delivers a connection whose handshake is done. Returns false on failure.
  bool DeliverToServer(Id id, Entry* entry);
  void SetDeadline(Id id, Entry* entry, absl::Time deadline);
  void Update(Id id, Entry* entry);
  void EndLate();
  void End(Id id);

  const TlsTerminatorOptions options_;
  TlsCredentials* const credentials_;
  Metrics* const metrics_;
  const sockaddr_storage address_;
  // Counts the connections in delivered_, so that it is readable while there is
  // one.
  const UniqueFd ready_;
  Mutex mutex_;
  // Connections that the server has not accepted yet.
  std::deque<std::pair<UniqueFd, sockaddr_storage>> delivered_
      ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> stopping_ = false;

  // Used by the terminator's thread only.
  const UniqueFd epoll_;
  const UniqueFd wake_;
  PausingAcceptor acceptor_;
  absl::flat_hash_map<Id, std::unique_ptr<Entry>> entries_;
  std::set<Id> handshakes_;
  std::set<std::pair<absl::Time, Id>> deadlines_;
  Id next_id_ = 1;
  int handshakes_left_ = 0;  // in this round
  absl::Time now_;
  LogLimit refused_log_;
  LogLimit room_log_;

  std::thread thread_;  // last member: it uses all of the above
};

int TlsTerminator::WaitMilliseconds() const {
  if (stopping_) return 10;
  absl::Time next = acceptor_.resume();
  if (!deadlines_.empty()) next = std::min(next, deadlines_.begin()->first);
  if (next == absl::InfiniteFuture()) return -1;
  // Rounded up, so that it does not wake too early.
  const absl::Duration left = std::max(next - now_, absl::ZeroDuration());
  return static_cast<int>(absl::ToInt64Milliseconds(left) + 1);
}

void TlsTerminator::Run() {
  // OpenSSL may write to a socket that the client has closed.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  std::array<epoll_event, 64> events;
  absl::Time end = absl::InfiniteFuture();
  now_ = absl::Now();
  while (now_ < end && !(stopping_ && entries_.empty())) {
    const int ready =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                   WaitMilliseconds());
    now_ = absl::Now();
    handshakes_left_ = kHandshakesPerRound;
    for (int i = 0; i < ready; ++i) OnEvent(events[i]);
    EndLate();
    acceptor_.Resume(now_);
    if (stopping_) {
      while (!handshakes_.empty()) End(*handshakes_.begin());
      end = std::min(end, now_ + kStopGrace);
    }
  }
}

void TlsTerminator::OnWake() {
  uint64_t count = 0;
  while (read(wake_.get(), &count, sizeof(count)) < 0 && errno == EINTR) {
  }
  MutexLock lock(&mutex_);
  if (closed_) acceptor_.Close();
}

void TlsTerminator::OnEvent(const epoll_event& event) {
  const uint64_t tag = event.data.u64;
  if (tag == kWake) return OnWake();
  if (tag == kListener) return AcceptClients();
  const Id id = tag / 2;
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;  // an earlier event ended it
  Entry* const entry = found->second.get();
  TlsConnection& connection = *entry->connection;
  if (connection.state() == State::kHandshake) return Advance(id, entry);
  const bool in = (event.events & EPOLLIN) != 0;
  const bool out = (event.events & EPOLLOUT) != 0;
  const bool closed = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
  if (tag % 2 == 0) {
    if (closed) return End(id);
    if (in || connection.read_wants_write()) connection.MoveFromClient();
    if (out) connection.MoveFromServer();
  } else {
    if (closed && entry->server_watched) {
      // Else epoll would report it again and again.
      connection.OnServerClosed();
      Watch(EPOLL_CTL_DEL, connection.server(), 0, tag);
      entry->server_watched = false;
    }
    if (out) connection.MoveFromClient();
    if (in || closed) connection.MoveFromServer();
  }
  Update(id, entry);
}

void TlsTerminator::AcceptClients() {
  const auto take = [this](UniqueFd client, const sockaddr_storage& address) {
    Add(std::move(client), address);
  };
  if (acceptor_.Accept(now_, take)) return;
  room_log_.Log(spdlog::level::err, "cannot accept a connection",
                {{"error", strerror(errno)}});
  if (!handshakes_.empty()) Refuse(*handshakes_.begin(), "no files left");
}

void TlsTerminator::Add(UniqueFd client, const sockaddr_storage& address) {
  if (static_cast<int>(handshakes_.size()) >= options_.max_handshakes) {
    Refuse(*handshakes_.begin(), "too many handshakes at a time");
  }
  const int yes = 1;
  setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  const Id id = next_id_++;
  auto entry = std::make_unique<Entry>();
  entry->connection = std::make_unique<TlsConnection>(
      credentials_->server(), std::move(client), address, options_.protocol);
  entry->client_events = entry->connection->client_events();
  Watch(EPOLL_CTL_ADD, entry->connection->client(), entry->client_events,
        2 * id);
  handshakes_.insert(id);
  SetDeadline(id, entry.get(), now_ + options_.handshake_timeout);
  entries_.emplace(id, std::move(entry));
}

void TlsTerminator::Advance(Id id, Entry* entry) {
  if (handshakes_left_-- <= 0) return;  // epoll reports it again
  TlsConnection& connection = *entry->connection;
  connection.Handshake();
  if (connection.state() == State::kClosing) {
    ReportRefusal(connection, connection.error());
    SetDeadline(id, entry, now_ + kClosingTime);
  }
  if (connection.state() == State::kOpen) {
    if (!DeliverToServer(id, entry)) return End(id);
    // Data may have come with the end of the handshake.
    connection.MoveFromClient();
  }
  Update(id, entry);
}

bool TlsTerminator::DeliverToServer(Id id, Entry* entry) {
  TlsConnection& connection = *entry->connection;
  UniqueFd server = connection.Connect();
  if (!server) {
    room_log_.Log(spdlog::level::err, "cannot accept a connection",
                  {{"error", strerror(errno)}});
    return false;
  }
  entry->server_events = connection.server_events();
  entry->server_watched = true;
  Watch(EPOLL_CTL_ADD, connection.server(), entry->server_events, 2 * id + 1);
  handshakes_.erase(id);
  SetDeadline(id, entry, absl::InfiniteFuture());
  MutexLock lock(&mutex_);
  if (closed_) return false;
  delivered_.emplace_back(std::move(server), connection.address());
  const uint64_t one = 1;
  return write(ready_.get(), &one, sizeof(one)) == sizeof(one);
}

void TlsTerminator::ReportRefusal(const TlsConnection& connection,
                                  const std::string& reason) {
  metrics_->OnConnectionEnded("handshake");
  refused_log_.Log(
      spdlog::level::warn, "a TLS handshake failed",
      {{"peer", AddressText(connection.address())}, {"reason", reason}});
}

void TlsTerminator::Refuse(Id id, const std::string& reason) {
  const TlsConnection& connection = *entries_.at(id)->connection;
  if (connection.state() == State::kHandshake) {
    ReportRefusal(connection, reason);
  }
  End(id);
}

void TlsTerminator::SetDeadline(Id id, Entry* entry, absl::Time deadline) {
  deadlines_.erase({entry->deadline, id});
  entry->deadline = deadline;
  if (deadline != absl::InfiniteFuture()) deadlines_.insert({deadline, id});
}

void TlsTerminator::Update(Id id, Entry* entry) {
  TlsConnection& connection = *entry->connection;
  if (connection.state() == State::kOver) return End(id);
  if (connection.state() == State::kClosing &&
      entry->deadline == absl::InfiniteFuture()) {
    SetDeadline(id, entry, now_ + kClosingTime);
    if (std::exchange(entry->server_watched, false)) {
      Watch(EPOLL_CTL_DEL, connection.server(), 0, 2 * id + 1);
    }
  }
  if (const uint32_t events = connection.client_events();
      events != entry->client_events) {
    Watch(EPOLL_CTL_MOD, connection.client(), events, 2 * id);
    entry->client_events = events;
  }
  if (const uint32_t events = connection.server_events();
      entry->server_watched && events != entry->server_events) {
    Watch(EPOLL_CTL_MOD, connection.server(), events, 2 * id + 1);
    entry->server_events = events;
  }
}

void TlsTerminator::EndLate() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_) {
    const Id id = deadlines_.begin()->second;
    if (handshakes_.contains(id)) {
      Refuse(id, "it took too long");
    } else {
      End(id);
    }
  }
}

void TlsTerminator::End(Id id) {
  const auto found = entries_.find(id);
  SetDeadline(id, found->second.get(), absl::InfiniteFuture());
  handshakes_.erase(id);
  entries_.erase(found);  // closes its sockets, which removes them from epoll
}

}  // namespace

std::unique_ptr<Acceptor> NewTlsTerminator(const TlsTerminatorOptions& options,
                                           std::unique_ptr<Acceptor> acceptor,
                                           TlsCredentials* credentials,
                                           Metrics* metrics) {
  return std::make_unique<TlsTerminator>(options, std::move(acceptor),
                                         credentials, metrics);
}

}  // namespace trivium
