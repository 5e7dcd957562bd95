// The thread's loop: wait until some socket has something or some connection's
// time is up; advance those connections; end the late ones; take new ones, the
// oldest making room. What has arrived is served before anything is ended, so a
// probe whose request is there is answered however many others hold theirs.
#include "server/observability/http.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "base/socket.h"
#include "server/observability/http_connection.h"

namespace trivium {
namespace {

using SteadyClock = std::chrono::steady_clock;

// What Prometheus names its text format.
constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";
// How long to wait where the process has no descriptor for a new connection.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

class HttpServerImpl : public HttpServer {
 public:
  HttpServerImpl(std::unique_ptr<Acceptor> acceptor, absl::Duration timeout,
                 const Metrics* metrics, std::function<bool()> ready)
      : metrics_(metrics),
        ready_(std::move(ready)),
        timeout_(absl::ToChronoMilliseconds(timeout)),
        acceptor_(std::move(acceptor)),
        port_(PortOf(acceptor_->address())),
        stop_(eventfd(0, EFD_CLOEXEC)),
        thread_([this] { Run(); }) {}

  ~HttpServerImpl() override {
    const uint64_t one = 1;
    while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.join();
  }

  int port() const override { return port_; }

 private:
  void Run();
  // Whether to go on.
  bool Wait();
  void AdvanceReady();
  void Accept();
  std::string AnswerTo(const HttpRequest& request) const;

  const Metrics* const metrics_;
  const std::function<bool()> ready_;
  const std::chrono::milliseconds timeout_;
  const std::unique_ptr<Acceptor> acceptor_;
  const int port_;
  const UniqueFd stop_;

  // The thread's own.
  std::vector<HttpConnection> connections_;  // oldest first
  SteadyClock::time_point accept_from_;
  std::vector<pollfd> polled_;  // stop, listener, connections

  std::thread thread_;  // the last: it runs when all of the above is made
};

std::string HttpServerImpl::AnswerTo(const HttpRequest& request) const {
  const bool head = request.method() == "HEAD";
  const auto answer = [head](int status, std::string_view body,
                             std::string_view type = "text/plain") {
    return HttpAnswer(status, type, body, !head);
  };
  if (request.state() == HttpRequest::State::kTooLong) {
    return answer(431, "request line and headers are too long\n");
  }
  if (request.state() == HttpRequest::State::kBad) {
    return answer(400, "not a request of HTTP/1\n");
  }
  if (request.method() != "GET" && !head) return answer(405, "use GET\n");
  if (request.path() == "/metrics") {
    return answer(200, metrics_->Text(), kMetricsType);
  }
  if (request.path() == "/healthz") return answer(200, "ok\n");
  if (request.path() == "/readyz") {
    return ready_() ? answer(200, "ready\n") : answer(503, "not ready\n");
  }
  return answer(404, "there are /metrics, /healthz and /readyz\n");
}

bool HttpServerImpl::Wait() {
  const SteadyClock::time_point now = SteadyClock::now();
  const bool accepts = accept_from_ <= now;
  polled_.clear();
  polled_.push_back({stop_.get(), POLLIN, 0});
  polled_.push_back({accepts ? acceptor_->fd() : -1, POLLIN, 0});
  SteadyClock::time_point next = SteadyClock::time_point::max();
  if (!accepts) next = accept_from_;
  for (const HttpConnection& connection : connections_) {
    polled_.push_back({connection.socket(), connection.events(), 0});
    next = std::min(next, connection.deadline());
  }
  int milliseconds = -1;
  if (next != SteadyClock::time_point::max()) {
    // One more: rounded up, so that it does not wake too early.
    milliseconds = static_cast<int>(
        std::chrono::duration_cast<std::chrono::milliseconds>(
            std::max(next - now, SteadyClock::duration::zero()))
            .count() +
        1);
  }
  if (poll(polled_.data(), polled_.size(), milliseconds) < 0) {
    for (pollfd& entry : polled_) entry.revents = 0;
  }
  return polled_[0].revents == 0;
}

void HttpServerImpl::AdvanceReady() {
  const auto answer = [this](const HttpRequest& request) {
    return AnswerTo(request);
  };
  const SteadyClock::time_point now = SteadyClock::now();
  std::vector<HttpConnection> left;
  left.reserve(connections_.size() + 1);
  for (size_t i = 0; i < connections_.size(); ++i) {
    HttpConnection& connection = connections_[i];
    const bool open = polled_[i + 2].revents == 0 || connection.Advance(answer);
    if (open && now < connection.deadline()) {
      left.push_back(std::move(connection));
    }
  }
  connections_ = std::move(left);
}

void HttpServerImpl::Accept() {
  for (int i = 0; i < kMaxConnections / 4; ++i) {
    sockaddr_storage address{};
    UniqueFd client = acceptor_->Accept(&address);
    if (!client) {
      const bool none_left = errno == EMFILE || errno == ENFILE ||
                             errno == ENOBUFS || errno == ENOMEM;
      if (!none_left) return;
      accept_from_ = SteadyClock::now() + kAcceptPause;
      if (!connections_.empty()) connections_.erase(connections_.begin());
      return;
    }
    if (connections_.size() >= kMaxConnections) {
      connections_.erase(connections_.begin());
    }
    connections_.emplace_back(client.release(), SteadyClock::now() + timeout_);
  }
}

void HttpServerImpl::Run() {
  while (Wait()) {
    AdvanceReady();
    if (polled_[1].revents != 0) Accept();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Create(
    const Options& options, const Metrics* metrics, std::function<bool()> ready,
    const Through& through) {
  auto acceptor = NewAcceptor(options.host, options.port);
  if (!acceptor.ok()) {
    return absl::UnavailableError(fmt::format(
        "cannot listen on {}:{} for metrics: {}; choose another address or "
        "port with --metrics-listen, or none with --metrics-listen off",
        options.host, options.port, std::string(acceptor.status().message())));
  }
  return std::make_unique<HttpServerImpl>(
      through ? through(*std::move(acceptor)) : *std::move(acceptor),
      options.timeout, metrics, std::move(ready));
}

}  // namespace trivium
