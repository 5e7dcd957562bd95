// A client's connection is a TCP socket. gRPC gets one end of a pair of Unix
// sockets, and the relay moves bytes between the two (connection_table.h).
//
// The loop: wait until something can be moved or a connection has rested long
// enough; move it; accept new connections. A round in which calls are refused
// takes at least kRefusingRound: what arrives meanwhile is read, judged and
// answered together. Under overload the thread would otherwise wake for each
// call, on a core that the workers need.
#include "server/transports/grpc/relay.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "base/acceptor.h"
#include "base/clock.h"
#include "base/exceptions.h"
#include "base/socket.h"
#include "base/status.h"
#include "server/observability/log.h"
#include "server/transports/grpc/bare_calls.h"
#include "server/transports/grpc/connection_table.h"
#include "server/transports/grpc/relayed_peer.h"
#include "server/transports/net/carrier.h"
#include "server/transports/net/connection_limits.h"
#include "server/transports/net/pausing_acceptor.h"
#include "server/transports/net/stream.h"

namespace trivium {
namespace {

// Files that the process opens besides connections: metrics, models, gRPC's.
constexpr int kOtherFiles = 192;
constexpr int kFilesPerConnection = 3;  // the client's socket, and a pair
constexpr int kFilesOfTls = 2;          // one more pair
constexpr int kFewestConnections = 16;
// After the process ran out of file descriptors, this many fewer connections
// are allowed than were open.
constexpr int kSpareConnections = 16;
constexpr absl::Duration kStopGrace = absl::Seconds(1);
constexpr absl::Duration kRefusingRound = absl::Microseconds(1500);

// Tags of epoll's events; the others are the connections'.
constexpr uint64_t kWake = 0;
constexpr uint64_t kListener = 1;
static_assert(kListener < ConnectionTable::kFirstTag);

int MaxConnections(int wanted, bool tls) {
  const int64_t files = OpenFilesLimit();
  const int most = ConnectionsWithin(
      files - kOtherFiles, kFilesPerConnection + (tls ? kFilesOfTls : 0),
      kFewestConnections, wanted);
  if (most < wanted) {
    Log(spdlog::level::warn,
        "fewer connections than --max-connections, because the limit of open "
        "files (ulimit -n) is low",
        {{"connections", most}, {"open_files", files}});
  }
  return most;
}

// The whole answer to a request of HTTP/1.
std::string Http1Answer(std::string_view advice) {
  const std::string text =
      fmt::format("this port speaks gRPC, which is HTTP/2{}{}\n",
                  advice.empty() ? "" : "; ", advice);
  return fmt::format(
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
      text.size(), text);
}

class RelayImpl : public Relay {
 public:
  RelayImpl(std::unique_ptr<Acceptor> acceptor, const Options& options,
            Connect connect, Metrics* metrics, ResetStreams* resets,
            CallTurns* turns, IncomingMessages* incoming, Judge judge)
      : connect_(std::move(connect)),
        judge_(std::move(judge)),
        metrics_(metrics),
        resets_(resets),
        turns_(turns),
        incoming_(incoming),
        max_streams_(options.max_streams),
        http1_answer_(Http1Answer(options.http1_advice)),
        address_(acceptor->address()),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC)),
        acceptor_(std::move(acceptor), epoll_.get(), kListener),
        connections_(
            epoll_.get(), &bare_calls_, turns, metrics,
            MaxConnections(options.max_connections, options.tls != nullptr),
            options.max_connection_age, options.age_grace) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kWake;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
    turns_->SetWake([this] { Wake(); });
    thread_ = std::thread([this] { Run(); });
  }

  ~RelayImpl() override {
    turns_->SetWake(nullptr);
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
  void Wake() {
    const uint64_t one = 1;
    while (write(wake_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
  }
  void Run();
  int WaitMilliseconds() const;
  void OnEvent(const epoll_event& event);
  void Accept();
  void MakeRoomForFiles();
  void Add(UniqueFd client, const sockaddr_storage& address);

  const Connect connect_;
  const Judge judge_;
  Metrics* const metrics_;
  ResetStreams* const resets_;
  CallTurns* const turns_;
  IncomingMessages* const incoming_;
  const int max_streams_;
  const std::string http1_answer_;
  const sockaddr_storage address_;
  std::atomic<bool> going_away_ = false;
  std::atomic<bool> stopping_ = false;

  // Used by the relay's thread only.
  const UniqueFd epoll_;
  const UniqueFd wake_;
  PausingAcceptor acceptor_;
  bool accepts_ = true;
  BareCalls bare_calls_{SteadyNow()};
  ConnectionTable connections_;
  uint64_t next_id_ = 1;
  absl::Time now_;
  bool refused_ = false;  // a call was refused in this round
  LogLimit room_log_;

  std::thread thread_;  // last member: it uses all of the above
};

int RelayImpl::WaitMilliseconds() const {
  if (stopping_) return 10;
  const absl::Time next =
      std::min(connections_.next_due(now_), acceptor_.resume());
  if (next == absl::InfiniteFuture()) return -1;
  // Rounded up, so that it does not wake too early.
  if (next <= now_) return 0;
  const absl::Duration left = std::min(next - now_, absl::Hours(1));
  return static_cast<int>(absl::ToInt64Milliseconds(left) + 1);
}

void RelayImpl::Run() {
  std::array<epoll_event, 64> events;
  absl::Time end = absl::InfiniteFuture();
  now_ = SteadyNow();
  while (now_ < end && !(stopping_ && connections_.size() == 0)) {
    const int ready =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                   WaitMilliseconds());
    now_ = SteadyNow();
    if ((going_away_ || stopping_) && std::exchange(accepts_, false)) {
      acceptor_.Close();
      // A stopped gRPC server has sent its own GOAWAY.
      if (!stopping_) connections_.GoAway(now_);
    }
    if (stopping_) {
      connections_.EndAllGone();  // gRPC has ended their calls
      end = std::min(end, now_ + kStopGrace);
    }
    refused_ = false;
    for (int i = 0; i < ready; ++i) {
      // Without memory, connections that come end.
      CatchExceptions([&] { OnEvent(events[i]); }).IgnoreError();
    }
    incoming_->Expire(now_);
    CatchExceptions([this] {
      connections_.MoveDue(now_);
      connections_.GiveTurns(now_);
    }).IgnoreError();
    if (refused_) absl::SleepFor(now_ + kRefusingRound - SteadyNow());
    acceptor_.Resume(now_);
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

void RelayImpl::MakeRoomForFiles() {
  room_log_.Log(
      spdlog::level::err, "cannot accept a connection",
      {{"error", strerror(errno)}, {"connections", connections_.size()}});
  // Some descriptors stay free afterwards.
  connections_.Shrink(
      std::max(kFewestConnections, connections_.size() - kSpareConnections));
}

void RelayImpl::Accept() {
  const auto take = [this](UniqueFd client, const sockaddr_storage& address) {
    if (connections_.MakeRoom()) return Add(std::move(client), address);
    metrics_->OnConnectionEnded("refused");
    room_log_.Log(
        spdlog::level::warn, "a connection was refused: all are in use",
        {{"peer", AddressText(address)}, {"connections", connections_.size()}});
  };
  if (!acceptor_.Accept(now_, take)) MakeRoomForFiles();
}

void RelayImpl::Add(UniqueFd client, const sockaddr_storage& address) {
  const uint64_t id = next_id_++;
  std::string peer = AddressText(address);
  std::optional<RelayedPair> pair = NewRelayedPair(peer, id);
  if (!pair) {
    MakeRoomForFiles();
    acceptor_.PauseForFiles(now_);
    return metrics_->OnConnectionEnded("refused");
  }
  const int yes = 1;
  setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  Http2Guard::Judge judge;
  if (judge_) {
    judge = [this, origin = Origin{peer, id}](HeaderFields* fields,
                                              bool may_refuse) {
      Http2Guard::Judgement judgement = judge_(fields, origin, may_refuse);
      refused_ = refused_ || judgement.refusal;
      return judgement;
    };
  }
  connections_.Add(
      id,
      std::make_unique<RelayedConnection>(
          std::move(client), std::move(pair->ours), std::move(peer),
          Http2Guard(max_streams_, now_, resets_, &bare_calls_, incoming_,
                     std::move(judge)),
          http1_answer_, now_),
      now_);
  connect_(pair->grpcs.release());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Relay>> Relay::Create(
    const Options& options, Connect connect, Metrics* metrics,
    ResetStreams* resets, CallTurns* turns, IncomingMessages* incoming,
    Judge judge) {
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Acceptor> acceptor,
                           NewAcceptor(options.host, options.port));
  if (options.tls != nullptr) {
    acceptor = NewCarrier({.tls = options.tls, .protocol = &kHttp2Protocol},
                          std::move(acceptor), metrics);
  }
  return std::make_unique<RelayImpl>(std::move(acceptor), options,
                                     std::move(connect), metrics, resets, turns,
                                     incoming, std::move(judge));
}

}  // namespace trivium
