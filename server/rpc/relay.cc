// A client's connection is a socket of TCP; gRPC gets one end of a pair of Unix
// sockets and the relay moves bytes between. The relay's end is bound to an
// abstract name that has the client's address, since gRPC knows a peer by its
// socket's name only.
//
// The loop: wait until something can be moved or some connection has rested for
// long enough; move it; take new connections.
#include "server/rpc/relay.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/clock.h"
#include "base/socket.h"
#include "base/status.h"
#include "server/observability/log.h"
#include "server/rpc/relayed_connection.h"

namespace trivium {
namespace {

// What the process opens besides connections: metrics, models, gRPC's own.
constexpr int kOtherFiles = 192;
constexpr int kFilesAConnection = 3;  // the client's, and a pair
constexpr int kFewestConnections = 16;
constexpr int kAcceptsAtOnce = 16;
// Fewer than there are where the process has no descriptor left.
constexpr int kSpareConnections = 16;
// How long to wait where it has none.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);
constexpr absl::Duration kStopGrace = absl::Seconds(1);

constexpr std::string_view kAbstractScheme = "unix-abstract:";

// Of epoll's events: a connection's are 2 x id and 2 x id + 1 (gRPC's end).
constexpr uint64_t kWake = 0;
constexpr uint64_t kListener = 1;

int MostConnections(int wanted) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const auto room =
      static_cast<int64_t>(std::min<rlim_t>(files.rlim_cur, 1 << 30));
  const auto most = static_cast<int>(std::max<int64_t>(
      kFewestConnections, (room - kOtherFiles) / kFilesAConnection));
  if (most < wanted) {
    Log(spdlog::level::warn,
        "fewer connections than --max-connections, as the limit of open files "
        "(ulimit -n) is low",
        {{"connections", most}, {"open_files", room}});
  }
  return std::min(most, wanted);
}

void BindTo(int socket, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A first byte of 0 makes it abstract: no file.
  const size_t size = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::copy_n(name.begin(), size, address.sun_path + 1);
  bind(socket, reinterpret_cast<const sockaddr*>(&address),
       static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size));
}

class RelayImpl : public Relay {
 public:
  RelayImpl(std::vector<UniqueFd> listeners, const Options& options,
            Connect connect, Metrics* metrics, ResetStreams* resets)
      : connect_(std::move(connect)),
        metrics_(metrics),
        resets_(resets),
        max_connections_(MostConnections(options.max_connections)),
        max_streams_(options.max_streams),
        port_(PortOf(listeners.front().get())),
        listeners_(std::move(listeners)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC)) {
    socklen_t size = sizeof(address_);
    getsockname(listeners_.front().get(),
                reinterpret_cast<sockaddr*>(&address_), &size);
    Watch(EPOLL_CTL_ADD, wake_.get(), EPOLLIN, kWake);
    for (const UniqueFd& listener : listeners_) {
      Watch(EPOLL_CTL_ADD, listener.get(), EPOLLIN, kListener);
    }
    thread_ = std::thread([this] { Run(); });
  }

  ~RelayImpl() override {
    stopping_ = true;
    const uint64_t one = 1;
    while (write(wake_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.join();
  }

  int port() const override { return port_; }
  sockaddr_storage address() const override { return address_; }

 private:
  struct Entry {
    std::unique_ptr<RelayedConnection> connection;
    uint32_t client_events = 0;  // that epoll was told
    uint32_t grpc_events = 0;
    bool grpc_watched = true;
  };
  using Entries = absl::flat_hash_map<uint64_t, Entry>;

  void Watch(int operation, int fd, uint32_t events, uint64_t tag) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag;
    epoll_ctl(epoll_.get(), operation, fd, &event);
  }

  void Run();
  int WaitMilliseconds() const;
  void OnEvent(const epoll_event& event);
  void Move(uint64_t id, bool from_client, bool from_grpc);
  void ListenAgain(bool listen);
  void Accept(int listener);
  bool MakeRoom();
  void OutOfFiles();
  void Add(UniqueFd client, const sockaddr_storage& address);
  void End(uint64_t id);
  void CountOpen() {
    metrics_->OnConnections(static_cast<int64_t>(entries_.size()));
  }

  const Connect connect_;
  Metrics* const metrics_;
  ResetStreams* const resets_;
  int max_connections_;
  const int max_streams_;
  const int port_;
  sockaddr_storage address_{};
  std::atomic<bool> stopping_ = false;

  // The thread's own.
  std::vector<UniqueFd> listeners_;
  const UniqueFd epoll_;
  const UniqueFd wake_;
  Entries entries_;
  absl::flat_hash_set<uint64_t> resting_;  // the guard lets them rest
  uint64_t next_id_ = 1;
  absl::Time now_;
  absl::Time listen_from_ = absl::InfinitePast();  // paused until then
  LogLimit abuse_log_, room_log_;

  std::thread thread_;  // the last: it runs when all of the above is made
};

int RelayImpl::WaitMilliseconds() const {
  if (stopping_) return 10;
  absl::Time next = absl::InfiniteFuture();
  if (listen_from_ > now_) next = listen_from_;
  for (const uint64_t id : resting_) {
    next = std::min(next, entries_.at(id).connection->resume().value_or(now_));
  }
  if (next == absl::InfiniteFuture()) return -1;
  // One more: rounded up, so that it does not wake too early.
  const absl::Duration left = std::max(next - now_, absl::ZeroDuration());
  return static_cast<int>(absl::ToInt64Milliseconds(left) + 1);
}

void RelayImpl::Run() {
  std::array<epoll_event, 64> events;
  absl::Time end = absl::InfiniteFuture();
  now_ = absl::Now();
  while (now_ < end && !(stopping_ && entries_.empty())) {
    const int ready =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                   WaitMilliseconds());
    now_ = absl::Now();
    if (stopping_ && !listeners_.empty()) {
      listeners_.clear();
      Watch(EPOLL_CTL_DEL, wake_.get(), 0, kWake);
      end = now_ + kStopGrace;
    }
    for (int i = 0; i < ready; ++i) OnEvent(events[i]);
    std::vector<uint64_t> rested;
    for (const uint64_t id : resting_) {
      const auto resume = entries_.at(id).connection->resume();
      if (!resume || *resume <= now_) rested.push_back(id);
    }
    for (const uint64_t id : rested) Move(id, true, false);
    if (listen_from_ != absl::InfinitePast() && listen_from_ <= now_) {
      ListenAgain(true);
    }
  }
}

void RelayImpl::OnEvent(const epoll_event& event) {
  const uint64_t tag = event.data.u64;
  if (tag == kWake) return;
  if (tag == kListener) {
    for (const UniqueFd& listener : listeners_) Accept(listener.get());
    return;
  }
  const uint64_t id = tag / 2;
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return;  // ended by an event before
  const bool in = (event.events & (EPOLLIN | EPOLLRDHUP)) != 0;
  const bool out = (event.events & EPOLLOUT) != 0;
  const bool closed = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
  if (tag % 2 == 0) {
    if (closed) return End(id);
    return Move(id, in, out);
  }
  if (closed && entry->second.grpc_watched) {
    // It would be told again and again.
    RelayedConnection& connection = *entry->second.connection;
    connection.OnGrpcClosed();
    Watch(EPOLL_CTL_DEL, connection.grpc(), 0, tag);
    entry->second.grpc_watched = false;
    return Move(id, true, true);
  }
  Move(id, out, in);
}

void RelayImpl::Move(uint64_t id, bool from_client, bool from_grpc) {
  Entry& entry = entries_.at(id);
  RelayedConnection& connection = *entry.connection;
  absl::Status status;
  if (from_client) status = connection.MoveFromClient(now_);
  if (status.ok() && from_grpc) status = connection.MoveFromGrpc(now_);
  if (!status.ok()) {
    if (!absl::IsCancelled(status)) {
      metrics_->OnConnectionEnded("abuse");
      abuse_log_.Log(spdlog::level::warn, "a connection was ended",
                     {{"peer", connection.peer()},
                      {"reason", std::string(status.message())}});
    }
    return End(id);
  }
  if (const uint32_t events = connection.client_events();
      events != entry.client_events) {
    Watch(EPOLL_CTL_MOD, connection.client(), events, 2 * id);
    entry.client_events = events;
  }
  if (const uint32_t events = connection.grpc_events();
      entry.grpc_watched && events != entry.grpc_events) {
    Watch(EPOLL_CTL_MOD, connection.grpc(), events, 2 * id + 1);
    entry.grpc_events = events;
  }
  if (connection.resume()) {
    resting_.insert(id);
  } else {
    resting_.erase(id);
  }
}

void RelayImpl::End(uint64_t id) {
  resting_.erase(id);
  entries_.erase(id);  // closes, and so leaves epoll
  CountOpen();
}

void RelayImpl::ListenAgain(bool listen) {
  for (const UniqueFd& listener : listeners_) {
    Watch(EPOLL_CTL_MOD, listener.get(), listen ? uint32_t{EPOLLIN} : 0,
          kListener);
  }
  listen_from_ = listen ? absl::InfinitePast() : now_ + kAcceptPause;
}

bool RelayImpl::MakeRoom() {
  auto longest = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    const RelayedConnection& connection = *entry->second.connection;
    if (connection.idle() && (longest == entries_.end() ||
                              connection.last_active() <
                                  longest->second.connection->last_active())) {
      longest = entry;
    }
  }
  if (longest == entries_.end()) return false;
  metrics_->OnConnectionEnded("evicted");
  End(longest->first);
  return true;
}

void RelayImpl::OutOfFiles() {
  room_log_.Log(spdlog::level::err, "cannot accept a connection",
                {{"error", strerror(errno)},
                 {"connections", static_cast<int>(entries_.size())}});
  // So many are too many: from now on some descriptors stay free.
  max_connections_ =
      std::max(kFewestConnections,
               static_cast<int>(entries_.size()) - kSpareConnections);
  while (static_cast<int>(entries_.size()) > max_connections_ && MakeRoom()) {
  }
  ListenAgain(false);
}

void RelayImpl::Accept(int listener) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    UniqueFd client(accept4(listener, reinterpret_cast<sockaddr*>(&address),
                            &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client) {
      const bool none_left = errno == EMFILE || errno == ENFILE ||
                             errno == ENOBUFS || errno == ENOMEM;
      if (!none_left) return;
      return OutOfFiles();
    }
    if (static_cast<int>(entries_.size()) >= max_connections_ && !MakeRoom()) {
      metrics_->OnConnectionEnded("refused");
      room_log_.Log(
          spdlog::level::warn, "a connection was refused: all are in use",
          {{"peer", AddressText(address)}, {"connections", max_connections_}});
      continue;
    }
    Add(std::move(client), address);
  }
}

void RelayImpl::Add(UniqueFd client, const sockaddr_storage& address) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                 pair) != 0) {
    OutOfFiles();
    return metrics_->OnConnectionEnded("refused");
  }
  UniqueFd ours(pair[0]);
  const int yes = 1;
  setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  const uint64_t id = next_id_++;
  std::string peer = AddressText(address);
  BindTo(ours.get(), fmt::format("{}@{}.{}", peer, getpid(), id));
  Entry entry;
  entry.connection = std::make_unique<RelayedConnection>(
      std::move(client), std::move(ours), std::move(peer),
      Http2Guard(max_streams_, now_, resets_), now_);
  entry.client_events = entry.connection->client_events();
  entry.grpc_events = entry.connection->grpc_events();
  Watch(EPOLL_CTL_ADD, entry.connection->client(), entry.client_events, 2 * id);
  Watch(EPOLL_CTL_ADD, entry.connection->grpc(), entry.grpc_events, 2 * id + 1);
  entries_.emplace(id, std::move(entry));
  CountOpen();
  connect_(pair[1]);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Relay>> Relay::Create(const Options& options,
                                                     Connect connect,
                                                     Metrics* metrics,
                                                     ResetStreams* resets) {
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<UniqueFd> listeners,
                           Listen(options.host, options.port));
  return std::make_unique<RelayImpl>(std::move(listeners), options,
                                     std::move(connect), metrics, resets);
}

std::string PeerOfRelayed(const std::string& peer) {
  if (peer.rfind(kAbstractScheme, 0) != 0) return peer;
  const std::string name = peer.substr(kAbstractScheme.size());
  return name.substr(0, name.rfind('@'));
}

}  // namespace trivium
