// A client's connection is a socket of TCP; gRPC gets one end of a pair of Unix
// sockets and the relay moves bytes between (connection_table.h).
//
// The loop: wait until something can be moved or some connection has rested for
// long enough; move it; take new connections. While calls are refused a round
// takes kRefusingRound at least: what comes meanwhile is read, judged and
// answered at once, as under overload the thread would else wake for each call,
// on a core that the workers need.
#include "server/transports/grpc/relay.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "base/acceptor.h"
#include "base/socket.h"
#include "base/status.h"
#include "server/observability/log.h"
#include "server/transports/grpc/connection_table.h"
#include "server/transports/grpc/relayed_peer.h"
#include "server/transports/net/stream.h"
#include "server/transports/net/terminator.h"

namespace trivium {
namespace {

// What the process opens besides connections: metrics, models, gRPC's own.
constexpr int kOtherFiles = 192;
constexpr int kFilesAConnection = 3;  // the client's, and a pair
constexpr int kFilesOfTls = 2;        // one more pair
constexpr int kFewestConnections = 16;
constexpr int kAcceptsAtOnce = 16;
// Fewer than there are where the process has no descriptor left.
constexpr int kSpareConnections = 16;
// How long to wait where it has none.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);
constexpr absl::Duration kStopGrace = absl::Seconds(1);
constexpr absl::Duration kRefusingRound = absl::Microseconds(1500);

// Of epoll's events; the rest are the connections'.
constexpr uint64_t kWake = 0;
constexpr uint64_t kListener = 1;
static_assert(kListener < ConnectionTable::kFirstTag);

int MostConnections(int wanted, bool tls) {
  const int files_each = kFilesAConnection + (tls ? kFilesOfTls : 0);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const auto room =
      static_cast<int64_t>(std::min<rlim_t>(files.rlim_cur, 1 << 30));
  const auto most = static_cast<int>(
      std::max<int64_t>(kFewestConnections, (room - kOtherFiles) / files_each));
  if (most < wanted) {
    Log(spdlog::level::warn,
        "fewer connections than --max-connections, as the limit of open files "
        "(ulimit -n) is low",
        {{"connections", most}, {"open_files", room}});
  }
  return std::min(most, wanted);
}

class RelayImpl : public Relay {
 public:
  RelayImpl(std::unique_ptr<Acceptor> acceptor, const Options& options,
            Connect connect, Metrics* metrics, ResetStreams* resets,
            IncomingMessages* incoming, Judge judge)
      : connect_(std::move(connect)),
        judge_(std::move(judge)),
        metrics_(metrics),
        resets_(resets),
        incoming_(incoming),
        max_connections_(
            MostConnections(options.max_connections, options.tls != nullptr)),
        max_streams_(options.max_streams),
        address_(acceptor->address()),
        acceptor_(std::move(acceptor)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC)),
        connections_(epoll_.get(), metrics, options.max_connection_age,
                     options.age_grace) {
    Watch(EPOLL_CTL_ADD, wake_.get(), EPOLLIN, kWake);
    Watch(EPOLL_CTL_ADD, acceptor_->fd(), EPOLLIN, kListener);
    thread_ = std::thread([this] { Run(); });
  }

  ~RelayImpl() override {
    stopping_ = true;
    Wake();
    thread_.join();
  }

  void GoAway() override {
    going_away_ = true;
    Wake();
  }

  int port() const override { return PortOf(address_); }
  sockaddr_storage address() const override { return address_; }

 private:
  void Watch(int operation, int fd, uint32_t events, uint64_t tag) {
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
  void OnEvent(const epoll_event& event);
  void ListenAgain(bool listen);
  void Accept();
  void OutOfFiles();
  void Add(UniqueFd client, const sockaddr_storage& address);

  const Connect connect_;
  const Judge judge_;
  Metrics* const metrics_;
  ResetStreams* const resets_;
  IncomingMessages* const incoming_;
  int max_connections_;
  const int max_streams_;
  const sockaddr_storage address_;
  std::atomic<bool> going_away_ = false;
  std::atomic<bool> stopping_ = false;

  // The thread's own.
  const std::unique_ptr<Acceptor> acceptor_;
  bool accepts_ = true;
  const UniqueFd epoll_;
  const UniqueFd wake_;
  ConnectionTable connections_;
  uint64_t next_id_ = 1;
  absl::Time now_;
  bool refused_ = false;                           // a call, in this round
  absl::Time listen_from_ = absl::InfinitePast();  // paused until then
  LogLimit room_log_;

  std::thread thread_;  // the last: it runs when all of the above is made
};

int RelayImpl::WaitMilliseconds() const {
  if (stopping_) return 10;
  absl::Time next = connections_.next_due(now_);
  if (listen_from_ > now_) next = std::min(next, listen_from_);
  if (next == absl::InfiniteFuture()) return -1;
  // One more: rounded up, so that it does not wake too early.
  const absl::Duration left =
      std::clamp(next - now_, absl::ZeroDuration(), absl::Hours(1));
  return static_cast<int>(absl::ToInt64Milliseconds(left) + 1);
}

void RelayImpl::Run() {
  std::array<epoll_event, 64> events;
  absl::Time end = absl::InfiniteFuture();
  now_ = absl::Now();
  while (now_ < end && !(stopping_ && connections_.size() == 0)) {
    const int ready =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                   WaitMilliseconds());
    now_ = absl::Now();
    if ((going_away_ || stopping_) && std::exchange(accepts_, false)) {
      acceptor_->Close();
      // A server that has stopped has said so itself.
      if (!stopping_) connections_.GoAway(now_);
    }
    if (stopping_) end = std::min(end, now_ + kStopGrace);
    refused_ = false;
    for (int i = 0; i < ready; ++i) OnEvent(events[i]);
    incoming_->Expire(now_);
    connections_.MoveDue(now_);
    if (refused_) absl::SleepFor(now_ + kRefusingRound - absl::Now());
    if (listen_from_ != absl::InfinitePast() && listen_from_ <= now_) {
      ListenAgain(true);
    }
  }
}

void RelayImpl::OnEvent(const epoll_event& event) {
  const uint64_t tag = event.data.u64;
  if (tag == kWake) {
    uint64_t count = 0;
    while (read(wake_.get(), &count, sizeof(count)) < 0 && errno == EINTR) {
    }
    return;
  }
  if (tag == kListener) return Accept();
  connections_.OnEvent(event, now_);
}

void RelayImpl::ListenAgain(bool listen) {
  Watch(EPOLL_CTL_MOD, acceptor_->fd(), listen ? uint32_t{EPOLLIN} : 0,
        kListener);
  listen_from_ = listen ? absl::InfinitePast() : now_ + kAcceptPause;
}

void RelayImpl::OutOfFiles() {
  room_log_.Log(
      spdlog::level::err, "cannot accept a connection",
      {{"error", strerror(errno)}, {"connections", connections_.size()}});
  // So many are too many: from now on some descriptors stay free.
  max_connections_ =
      std::max(kFewestConnections, connections_.size() - kSpareConnections);
  while (connections_.size() > max_connections_ &&
         connections_.EndLongestIdle()) {
  }
  ListenAgain(false);
}

void RelayImpl::Accept() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    sockaddr_storage address{};
    UniqueFd client = acceptor_->Accept(&address);
    if (!client) {
      const bool none_left = errno == EMFILE || errno == ENFILE ||
                             errno == ENOBUFS || errno == ENOMEM;
      if (!none_left) return;
      return OutOfFiles();
    }
    if (connections_.size() >= max_connections_ &&
        !connections_.EndLongestIdle()) {
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
  const uint64_t id = next_id_++;
  std::string peer = AddressText(address);
  std::optional<RelayedPair> pair = NewRelayedPair(peer, id);
  if (!pair) {
    OutOfFiles();
    return metrics_->OnConnectionEnded("refused");
  }
  const int yes = 1;
  setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  Http2Guard::Judge judge;
  if (judge_) {
    judge = [this, peer](HeaderFields* fields, bool may_refuse) {
      Http2Guard::Judgement judgement = judge_(fields, peer, may_refuse);
      refused_ = refused_ || judgement.refusal;
      return judgement;
    };
  }
  connections_.Add(
      id,
      std::make_unique<RelayedConnection>(
          std::move(client), std::move(pair->ours), std::move(peer),
          Http2Guard(max_streams_, now_, resets_, incoming_, std::move(judge)),
          now_),
      now_);
  connect_(pair->grpcs.release());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Relay>> Relay::Create(
    const Options& options, Connect connect, Metrics* metrics,
    ResetStreams* resets, IncomingMessages* incoming, Judge judge) {
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Acceptor> acceptor,
                           NewAcceptor(options.host, options.port));
  if (options.tls != nullptr) {
    acceptor = NewTlsAcceptor({.protocol = &kHttp2Protocol},
                              std::move(acceptor), options.tls, metrics);
  }
  return std::make_unique<RelayImpl>(std::move(acceptor), options,
                                     std::move(connect), metrics, resets,
                                     incoming, std::move(judge));
}

}  // namespace trivium
