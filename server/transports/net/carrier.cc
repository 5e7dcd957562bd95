// Invariants:
//   - handshakes_ holds the ids of all connections whose handshake is under way
//     or has failed, oldest first, because ids only grow.
//   - closing_ holds the ids of the connections that the server has closed:
//     they only wait for the client to read what was sent before.
//   - deadlines_ holds the connections that end at a known time: those in
//     handshakes_ and in closing_.
//   - A connection has its pair of sockets from the start, so that none is held
//     that the server could not get: a client is accepted with next_pair_ at
//     hand.
//   - A connection is delivered once, when its handshake is done. From then on
//     the thread moves bytes between the client's socket and the pair's end
//     that it kept; the server sees a plain socket.
#include "server/transports/net/carrier.h"

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
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/exceptions.h"
#include "base/mutex.h"
#include "server/observability/log.h"
#include "server/transports/net/connection.h"
#include "server/transports/net/pausing_acceptor.h"

namespace trivium {
namespace {

using State = CarriedConnection::State;
using Id = uint64_t;

// A handshake computes for about a millisecond, and all others wait meanwhile.
constexpr int kHandshakesPerRound = 4;
// Time for a client to read the end of an answer and close.
constexpr absl::Duration kClosingTime = absl::Seconds(2);
// Bound of the connections that have this time at once.
constexpr size_t kMostClosing = 256;
constexpr absl::Duration kStopGrace = absl::Seconds(1);

// Tags of epoll's events. A connection's are 2 x id (the client) and
// 2 x id + 1 (the server's end).
constexpr uint64_t kWake = 0;
constexpr uint64_t kListener = 1;

class Carrier : public Acceptor {
 public:
  Carrier(const CarrierOptions& options, std::unique_ptr<Acceptor> acceptor,
          Metrics* metrics)
      : options_(options),
        metrics_(metrics),
        address_(acceptor->address()),
        ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC)),
        acceptor_(std::move(acceptor), epoll_.get(), kListener) {
    Watch(EPOLL_CTL_ADD, wake_.get(), EPOLLIN, kWake);
    thread_ = std::thread([this] { Run(); });
  }

  ~Carrier() override {
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
    if (!socket) errno = EMFILE;
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
  struct Pair {
    UniqueFd ours;
    UniqueFd servers;
  };
  struct Entry {
    std::unique_ptr<CarriedConnection> connection;
    UniqueFd to_deliver;  // the server's end, until its handshake is done
    absl::Time deadline = absl::InfiniteFuture();
    uint64_t sent = 0;           // when the deadline was set
    uint32_t client_events = 0;  // as registered with epoll
    uint32_t server_events = 0;
    bool server_watched = false;
    bool finishes = false;  // its time to finish has begun
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
  // Begins to carry the bytes of a connection whose handshake is done.
  void Open(Id id, Entry* entry);
  // Ends a connection that is in handshakes_.
  void Refuse(Id id, const std::string& reason);
  void ReportRefusal(const CarriedConnection& connection,
                     const std::string& reason);
  void DeliverToServer(Id id, Entry* entry);
  // Makes next_pair_ if there is none. Returns false, with errno, if the
  // process has no files left for it.
  bool HasPair();
  // Gives back the files of connections that can be spared, and tells the
  // server that there are none left, so that it ends some of its own.
  void OnNoFiles();
  void SetDeadline(Id id, Entry* entry, absl::Time deadline);
  void Update(Id id, Entry* entry);
  // Sets the deadline of a connection that the server has closed.
  void UpdateClosing(Id id, Entry* entry);
  void EndLate();
  void End(Id id);

  const CarrierOptions options_;
  Metrics* const metrics_;
  const sockaddr_storage address_;
  // Counts the connections in delivered_, so that it is readable while there is
  // one.
  const UniqueFd ready_;
  Mutex mutex_;
  // Connections that the server has not accepted yet. One without a socket
  // stands for those that there was no file descriptor for.
  std::deque<std::pair<UniqueFd, sockaddr_storage>> delivered_
      ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> stopping_ = false;

  // Used by the carrier's thread only.
  const UniqueFd epoll_;
  const UniqueFd wake_;
  PausingAcceptor acceptor_;
  absl::flat_hash_map<Id, std::unique_ptr<Entry>> entries_;
  std::set<Id> handshakes_;
  std::set<Id> closing_;
  std::optional<Pair> next_pair_;
  std::set<std::pair<absl::Time, Id>> deadlines_;
  Id next_id_ = 1;
  int handshakes_left_ = 0;  // in this round
  absl::Time now_;
  LogLimit refused_log_;
  LogLimit room_log_;

  std::thread thread_;  // last member: it uses all of the above
};

int Carrier::WaitMilliseconds() const {
  if (stopping_) return 10;
  absl::Time next = acceptor_.resume();
  if (!deadlines_.empty()) next = std::min(next, deadlines_.begin()->first);
  if (next == absl::InfiniteFuture()) return -1;
  // Rounded up, so that it does not wake too early.
  const absl::Duration left = std::max(next - now_, absl::ZeroDuration());
  return static_cast<int>(absl::ToInt64Milliseconds(left) + 1);
}

void Carrier::Run() {
  // OpenSSL may write to a socket that the client has closed.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  std::array<epoll_event, 64> events;
  absl::Time end = absl::InfiniteFuture();
  now_ = SteadyNow();
  while (now_ < end && !(stopping_ && entries_.empty())) {
    const int ready =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                   WaitMilliseconds());
    now_ = SteadyNow();
    handshakes_left_ = kHandshakesPerRound;
    for (int i = 0; i < ready; ++i) {
      // Without memory, the connection ends: bytes of it may be lost.
      const absl::Status status = CatchExceptions([&] { OnEvent(events[i]); });
      const Id id = events[i].data.u64 / 2;
      if (!status.ok() && entries_.contains(id)) End(id);
    }
    CatchExceptions([this] { EndLate(); }).IgnoreError();
    acceptor_.Resume(now_);
    if (stopping_) {
      while (!handshakes_.empty()) End(*handshakes_.begin());
      end = std::min(end, now_ + kStopGrace);
    }
  }
}

void Carrier::OnWake() {
  uint64_t count = 0;
  while (read(wake_.get(), &count, sizeof(count)) < 0 && errno == EINTR) {
  }
  MutexLock lock(&mutex_);
  if (closed_) acceptor_.Close();
}

void Carrier::OnEvent(const epoll_event& event) {
  const uint64_t tag = event.data.u64;
  if (tag == kWake) return OnWake();
  if (tag == kListener) return AcceptClients();
  const Id id = tag / 2;
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;  // an earlier event ended it
  Entry* const entry = found->second.get();
  CarriedConnection& connection = *entry->connection;
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

void Carrier::AcceptClients() {
  const auto add = [this](UniqueFd client, const sockaddr_storage& address) {
    Add(std::move(client), address);
  };
  for (int i = 0; i < PausingAcceptor::kAtOnce; ++i) {
    if (!HasPair()) {
      if (i > 0) return;  // perhaps no other client waits
      acceptor_.PauseForFiles(now_);
      return OnNoFiles();
    }
    if (!acceptor_.Accept(now_, add, 1)) return OnNoFiles();
    if (next_pair_) return;  // no client came for it
  }
}

bool Carrier::HasPair() {
  if (next_pair_) return true;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                 ends) != 0) {
    return false;
  }
  next_pair_ = Pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
  return true;
}

void Carrier::OnNoFiles() {
  room_log_.Log(spdlog::level::err, "cannot accept a connection",
                {{"error", strerror(errno)}});
  if (!closing_.empty()) {
    while (!closing_.empty()) End(*closing_.begin());
  } else if (options_.tls != nullptr && !handshakes_.empty()) {
    Refuse(*handshakes_.begin(), "no files left");
  }
  MutexLock lock(&mutex_);
  if (closed_ || (!delivered_.empty() && !delivered_.back().first)) return;
  delivered_.emplace_back(UniqueFd(), sockaddr_storage{});
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written =
      write(ready_.get(), &one, sizeof(one));
}

void Carrier::Add(UniqueFd client, const sockaddr_storage& address) {
  if (static_cast<int>(handshakes_.size()) >= options_.max_handshakes) {
    Refuse(*handshakes_.begin(), "too many handshakes at a time");
  }
  const int yes = 1;
  setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  // Used up, whatever throws below.
  Pair pair = *std::exchange(next_pair_, std::nullopt);
  const Id id = next_id_++;
  auto entry = std::make_unique<Entry>();
  std::unique_ptr<Stream> stream;
  if (options_.tls != nullptr) {
    stream =
        std::make_unique<TlsStream>(options_.tls->server(), std::move(client),
                                    /*is_server=*/true, options_.protocol);
  } else {
    stream = std::make_unique<PlainStream>(std::move(client));
  }
  entry->connection = std::make_unique<CarriedConnection>(
      std::move(stream), options_.guard ? options_.guard() : nullptr,
      std::move(pair.ours), address);
  entry->to_deliver = std::move(pair.servers);
  entry->client_events = entry->connection->client_events();
  Watch(EPOLL_CTL_ADD, entry->connection->client(), entry->client_events,
        2 * id);
  Entry* const added =
      entries_.emplace(id, std::move(entry)).first->second.get();
  const absl::Status status = CatchExceptions([&] {
    handshakes_.insert(id);
    SetDeadline(id, added, now_ + options_.handshake_timeout);
    if (options_.tls == nullptr) {
      added->connection->Handshake();  // is done at once
      Open(id, added);
    }
  });
  if (!status.ok() && entries_.contains(id)) End(id);
}

void Carrier::Advance(Id id, Entry* entry) {
  if (handshakes_left_-- <= 0) return;  // epoll reports it again
  CarriedConnection& connection = *entry->connection;
  connection.Handshake();
  if (connection.state() == State::kClosing) {
    ReportRefusal(connection, connection.error());
    SetDeadline(id, entry, now_ + kClosingTime);
  }
  if (connection.state() == State::kOpen) return Open(id, entry);
  Update(id, entry);
}

void Carrier::Open(Id id, Entry* entry) {
  DeliverToServer(id, entry);
  // Data may have come with the end of the handshake.
  entry->connection->MoveFromClient();
  Update(id, entry);
}

void Carrier::DeliverToServer(Id id, Entry* entry) {
  CarriedConnection& connection = *entry->connection;
  UniqueFd server = std::move(entry->to_deliver);
  entry->server_events = connection.server_events();
  entry->server_watched = true;
  Watch(EPOLL_CTL_ADD, connection.server(), entry->server_events, 2 * id + 1);
  handshakes_.erase(id);
  SetDeadline(id, entry, absl::InfiniteFuture());
  MutexLock lock(&mutex_);
  if (closed_) return;  // the pair ends here, and the client with it
  delivered_.emplace_back(std::move(server), connection.address());
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written =
      write(ready_.get(), &one, sizeof(one));
}

void Carrier::ReportRefusal(const CarriedConnection& connection,
                            const std::string& reason) {
  CatchExceptions([&] {
    metrics_->OnConnectionEnded("handshake");
    refused_log_.Log(
        spdlog::level::warn, "a TLS handshake failed",
        {{"peer", AddressText(connection.address())}, {"reason", reason}});
  }).IgnoreError();
}

void Carrier::Refuse(Id id, const std::string& reason) {
  const CarriedConnection& connection = *entries_.at(id)->connection;
  if (connection.state() == State::kHandshake) {
    ReportRefusal(connection, reason);
  }
  End(id);
}

void Carrier::SetDeadline(Id id, Entry* entry, absl::Time deadline) {
  deadlines_.erase({entry->deadline, id});
  entry->deadline = deadline;
  if (deadline != absl::InfiniteFuture()) deadlines_.insert({deadline, id});
}

void Carrier::Update(Id id, Entry* entry) {
  CarriedConnection& connection = *entry->connection;
  if (connection.state() == State::kOver) return End(id);
  if (!handshakes_.contains(id)) UpdateClosing(id, entry);
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
  // Ends the oldest, which may be this one.
  if (closing_.size() > kMostClosing) End(*closing_.begin());
}

void Carrier::UpdateClosing(Id id, Entry* entry) {
  const CarriedConnection& connection = *entry->connection;
  if (connection.state() == State::kClosing) {
    if (!std::exchange(entry->finishes, true)) {
      entry->server_watched = false;  // its socket is closed
      closing_.insert(id);
      SetDeadline(id, entry, now_ + kClosingTime);
    }
  } else if (connection.server_closed() &&
             (closing_.insert(id).second || entry->sent != connection.sent())) {
    entry->sent = connection.sent();
    SetDeadline(id, entry, now_ + options_.stall_timeout);
  }
}

void Carrier::EndLate() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_) {
    const Id id = deadlines_.begin()->second;
    if (handshakes_.contains(id)) {
      Refuse(id, "it took too long");
    } else {
      End(id);
    }
  }
}

void Carrier::End(Id id) {
  const auto found = entries_.find(id);
  SetDeadline(id, found->second.get(), absl::InfiniteFuture());
  handshakes_.erase(id);
  closing_.erase(id);
  entries_.erase(found);  // closes its sockets, which removes them from epoll
}

}  // namespace

std::unique_ptr<Acceptor> NewCarrier(const CarrierOptions& options,
                                     std::unique_ptr<Acceptor> acceptor,
                                     Metrics* metrics) {
  return std::make_unique<Carrier>(options, std::move(acceptor), metrics);
}

}  // namespace trivium
