// Invariants: handshakes_ has the ids of all connections whose handshake is not
// done, or has failed, the oldest first, as ids only grow; deadlines_ has those
// that end at a time: handshakes, and connections that are closing.
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

namespace trivium {
namespace {

using State = TlsConnection::State;
using Id = uint64_t;

constexpr int kAcceptsAtOnce = 16;
// A handshake computes for about a millisecond; everybody else waits for it.
constexpr int kHandshakesARound = 4;
// How long to wait where the process has no descriptor left.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);
// For a client to read the end of an answer and close.
constexpr absl::Duration kClosingTime = absl::Seconds(2);
constexpr absl::Duration kStopGrace = absl::Seconds(1);

// Of epoll's events; a connection's are 2 x id and 2 x id + 1 (the server's).
constexpr uint64_t kWake = 0;
constexpr uint64_t kListener = 1;

class TlsTerminatorImpl : public TlsTerminator {
 public:
  TlsTerminatorImpl(const Options& options, std::unique_ptr<Acceptor> acceptor,
                    TlsCredentials* credentials, Metrics* metrics,
                    Deliver deliver)
      : options_(options),
        credentials_(credentials),
        metrics_(metrics),
        address_(acceptor->address()),
        deliver_(std::move(deliver)),
        acceptor_(std::move(acceptor)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC)) {
    Watch(EPOLL_CTL_ADD, wake_.get(), EPOLLIN, kWake);
    Watch(EPOLL_CTL_ADD, acceptor_->fd(), EPOLLIN, kListener);
    thread_ = std::thread([this] { Run(); });
  }

  ~TlsTerminatorImpl() override {
    StopAccepting();
    stopping_ = true;
    Wake();
    thread_.join();
  }

  void StopAccepting() override {
    {
      MutexLock lock(&mutex_);
      deliver_ = nullptr;
    }
    Wake();
  }
  sockaddr_storage address() const override { return address_; }

 private:
  struct Entry {
    std::unique_ptr<TlsConnection> connection;
    absl::Time deadline = absl::InfiniteFuture();
    uint32_t client_events = 0;  // that epoll was told
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
  void PauseAccepting(bool pause);
  void Accept();
  void Advance(Id id, Entry* entry);
  // Ends a connection of handshakes_.
  void Refuse(Id id, const std::string& reason);
  void TellRefusal(const TlsConnection& connection, const std::string& reason);
  // Of an entry whose handshake is done; false where it could not.
  bool DeliverToServer(Id id, Entry* entry);
  void SetDeadline(Id id, Entry* entry, absl::Time deadline);
  void Update(Id id, Entry* entry);
  void EndLate();
  void End(Id id);

  const Options options_;
  TlsCredentials* const credentials_;
  Metrics* const metrics_;
  const sockaddr_storage address_;
  Mutex mutex_;
  Deliver deliver_ ABSL_GUARDED_BY(mutex_);  // empty: accepts no more
  std::atomic<bool> stopping_ = false;

  // The thread's own.
  const std::unique_ptr<Acceptor> acceptor_;
  const UniqueFd epoll_;
  const UniqueFd wake_;
  absl::flat_hash_map<Id, std::unique_ptr<Entry>> entries_;
  std::set<Id> handshakes_;
  std::set<std::pair<absl::Time, Id>> deadlines_;
  Id next_id_ = 1;
  int handshakes_left_ = 0;  // of this round
  absl::Time now_;
  absl::Time accept_from_ = absl::InfinitePast();  // paused until then
  LogLimit refused_log_;
  LogLimit room_log_;

  std::thread thread_;  // the last: it runs when all of the above is made
};

int TlsTerminatorImpl::WaitMilliseconds() const {
  if (stopping_) return 10;
  absl::Time next = absl::InfiniteFuture();
  if (!deadlines_.empty()) next = deadlines_.begin()->first;
  if (accept_from_ > now_) next = std::min(next, accept_from_);
  if (next == absl::InfiniteFuture()) return -1;
  // One more: rounded up, so that it does not wake too early.
  const absl::Duration left = std::max(next - now_, absl::ZeroDuration());
  return static_cast<int>(absl::ToInt64Milliseconds(left) + 1);
}

void TlsTerminatorImpl::Run() {
  // OpenSSL writes to sockets that may be closed.
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
    handshakes_left_ = kHandshakesARound;
    for (int i = 0; i < ready; ++i) OnEvent(events[i]);
    EndLate();
    if (accept_from_ != absl::InfinitePast() && accept_from_ <= now_) {
      PauseAccepting(false);
    }
    if (stopping_) {
      while (!handshakes_.empty()) End(*handshakes_.begin());
      end = std::min(end, now_ + kStopGrace);
    }
  }
}

void TlsTerminatorImpl::OnWake() {
  uint64_t count = 0;
  while (read(wake_.get(), &count, sizeof(count)) < 0 && errno == EINTR) {
  }
  MutexLock lock(&mutex_);
  if (deliver_ == nullptr) acceptor_->Close();
}

void TlsTerminatorImpl::OnEvent(const epoll_event& event) {
  const uint64_t tag = event.data.u64;
  if (tag == kWake) return OnWake();
  if (tag == kListener) return Accept();
  const Id id = tag / 2;
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;  // ended by an event before
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
      // It would be told again and again.
      connection.OnServerClosed();
      Watch(EPOLL_CTL_DEL, connection.server(), 0, tag);
      entry->server_watched = false;
    }
    if (out) connection.MoveFromClient();
    if (in || closed) connection.MoveFromServer();
  }
  Update(id, entry);
}

void TlsTerminatorImpl::PauseAccepting(bool pause) {
  Watch(EPOLL_CTL_MOD, acceptor_->fd(), pause ? 0 : uint32_t{EPOLLIN},
        kListener);
  accept_from_ = pause ? now_ + kAcceptPause : absl::InfinitePast();
}

void TlsTerminatorImpl::Accept() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    sockaddr_storage address{};
    UniqueFd client = acceptor_->Accept(&address);
    if (!client) {
      const bool none_left = errno == EMFILE || errno == ENFILE ||
                             errno == ENOBUFS || errno == ENOMEM;
      if (!none_left) return;
      room_log_.Log(spdlog::level::err, "cannot accept a connection",
                    {{"error", strerror(errno)}});
      if (!handshakes_.empty()) Refuse(*handshakes_.begin(), "no files left");
      return PauseAccepting(true);
    }
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
}

void TlsTerminatorImpl::Advance(Id id, Entry* entry) {
  if (handshakes_left_-- <= 0) return;  // epoll tells again
  TlsConnection& connection = *entry->connection;
  connection.Handshake();
  if (connection.state() == State::kClosing) {
    TellRefusal(connection, connection.error());
    SetDeadline(id, entry, now_ + kClosingTime);
  }
  if (connection.state() == State::kOpen) {
    if (!DeliverToServer(id, entry)) return End(id);
    // What came with the end of the handshake.
    connection.MoveFromClient();
  }
  Update(id, entry);
}

bool TlsTerminatorImpl::DeliverToServer(Id id, Entry* entry) {
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
  if (deliver_ == nullptr) return false;
  deliver_(std::move(server), connection.address());
  return true;
}

void TlsTerminatorImpl::TellRefusal(const TlsConnection& connection,
                                    const std::string& reason) {
  metrics_->OnConnectionEnded("handshake");
  refused_log_.Log(
      spdlog::level::warn, "a handshake of TLS failed",
      {{"peer", AddressText(connection.address())}, {"reason", reason}});
}

void TlsTerminatorImpl::Refuse(Id id, const std::string& reason) {
  const TlsConnection& connection = *entries_.at(id)->connection;
  if (connection.state() == State::kHandshake) TellRefusal(connection, reason);
  End(id);
}

void TlsTerminatorImpl::SetDeadline(Id id, Entry* entry, absl::Time deadline) {
  deadlines_.erase({entry->deadline, id});
  entry->deadline = deadline;
  if (deadline != absl::InfiniteFuture()) deadlines_.insert({deadline, id});
}

void TlsTerminatorImpl::Update(Id id, Entry* entry) {
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

void TlsTerminatorImpl::EndLate() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_) {
    const Id id = deadlines_.begin()->second;
    if (handshakes_.contains(id)) {
      Refuse(id, "it took too long");
    } else {
      End(id);
    }
  }
}

void TlsTerminatorImpl::End(Id id) {
  const auto found = entries_.find(id);
  SetDeadline(id, found->second.get(), absl::InfiniteFuture());
  handshakes_.erase(id);
  entries_.erase(found);  // closes, and so leaves epoll
}

// Of it the eventfd counts what is in the queue.
class TlsAcceptor : public Acceptor {
 public:
  TlsAcceptor(const TlsTerminator::Options& options,
              std::unique_ptr<Acceptor> acceptor, TlsCredentials* credentials,
              Metrics* metrics)
      : ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)),
        terminator_(TlsTerminator::Create(
            options, std::move(acceptor), credentials, metrics,
            [this](UniqueFd socket, sockaddr_storage client) {
              Add(std::move(socket), client);
            })) {}

  int fd() const override { return ready_.get(); }
  UniqueFd Accept(sockaddr_storage* client) override {
    uint64_t one = 0;
    if (read(ready_.get(), &one, sizeof(one)) < 0) return UniqueFd();
    MutexLock lock(&mutex_);
    UniqueFd socket = std::move(queue_.front().first);
    *client = queue_.front().second;
    queue_.pop_front();
    return socket;
  }
  void Close() override { terminator_->StopAccepting(); }
  sockaddr_storage address() const override { return terminator_->address(); }

 private:
  void Add(UniqueFd socket, const sockaddr_storage& client) {
    MutexLock lock(&mutex_);
    queue_.emplace_back(std::move(socket), client);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written =
        write(ready_.get(), &one, sizeof(one));
  }

  const UniqueFd ready_;
  Mutex mutex_;
  std::deque<std::pair<UniqueFd, sockaddr_storage>> queue_
      ABSL_GUARDED_BY(mutex_);
  // The last: it delivers into the queue.
  const std::unique_ptr<TlsTerminator> terminator_;
};

}  // namespace

std::unique_ptr<TlsTerminator> TlsTerminator::Create(
    const Options& options, std::unique_ptr<Acceptor> acceptor,
    TlsCredentials* credentials, Metrics* metrics, Deliver deliver) {
  return std::make_unique<TlsTerminatorImpl>(
      options, std::move(acceptor), credentials, metrics, std::move(deliver));
}

std::unique_ptr<Acceptor> NewTlsAcceptor(const TlsTerminator::Options& options,
                                         std::unique_ptr<Acceptor> acceptor,
                                         TlsCredentials* credentials,
                                         Metrics* metrics) {
  return std::make_unique<TlsAcceptor>(options, std::move(acceptor),
                                       credentials, metrics);
}

}  // namespace trivium
