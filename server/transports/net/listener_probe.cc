#include "server/transports/net/listener_probe.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/socket.h"
#include "server/observability/log.h"
#include "server/transports/net/stream.h"

namespace trivium {
namespace {

// Returns false if `end` comes first.
bool WaitFor(int socket, short events, absl::Time end) {
  pollfd entry{socket, events, 0};
  while (true) {
    const auto left = absl::ToInt64Milliseconds(end - SteadyNow());
    if (left <= 0) return false;
    const int ready = poll(&entry, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// Greets a server over a connection that is open. `write` and `read` are its
// send() and recv().
template <typename Write, typename Read>
bool HelloIsAnswered(const ProbeProtocol& protocol, int socket, absl::Time end,
                     const Write& write, const Read& read) {
  const std::string_view hello = protocol.hello;
  if (write(hello.data(), hello.size()) != static_cast<ssize_t>(hello.size())) {
    return false;
  }
  std::array<char, kProbeBytes> begin;
  for (size_t have = 0; have < begin.size();) {
    const ssize_t got = read(begin.data() + have, begin.size() - have);
    if (got > 0) {
      have += static_cast<size_t>(got);
    } else if (got == 0 || errno != EAGAIN || !WaitFor(socket, POLLIN, end)) {
      return false;
    }
  }
  return protocol.is_answer({begin.data(), begin.size()});
}

bool IsAnsweredWithTls(const ProbeProtocol& protocol, UniqueFd client,
                       const TlsCredentials& tls, absl::Time end) {
  TlsStream stream(tls.own_client(), std::move(client), /*is_server=*/false,
                   protocol.tls);
  Stream::Progress progress = stream.Handshake();
  while (progress == Stream::Progress::kWaits) {
    const short events = stream.wants_write() ? POLLOUT : POLLIN;
    if (!WaitFor(stream.socket(), events, end)) return false;
    progress = stream.Handshake();
  }
  return progress == Stream::Progress::kDone &&
         HelloIsAnswered(
             protocol, stream.socket(), end,
             [&](const char* from, size_t size) {
               return stream.Write(from, size);
             },
             [&](char* to, size_t size) { return stream.Read(to, size); });
}

bool IsAnswered(const ProbeProtocol& protocol, const sockaddr_storage& address,
                absl::Duration timeout, const TlsCredentials* tls) {
  const absl::Time end = SteadyNow() + timeout;
  UniqueFd client(
      socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!client) return false;
  if (connect(client.get(), reinterpret_cast<const sockaddr*>(&address),
              SizeOf(address)) != 0 &&
      errno != EINPROGRESS) {
    return false;
  }
  if (!WaitFor(client.get(), POLLOUT, end)) return false;
  if (tls != nullptr) {
    return IsAnsweredWithTls(protocol, std::move(client), *tls, end);
  }
  const int fd = client.get();
  return HelloIsAnswered(
      protocol, fd, end,
      [fd](const char* from, size_t size) {
        return send(fd, from, size, MSG_NOSIGNAL);
      },
      [fd](char* to, size_t size) { return recv(fd, to, size, 0); });
}

}  // namespace

const ProbeProtocol kProbeHttp2 = {
    .name = "gRPC",
    // HTTP/2's preface, and settings that change nothing.
    .hello = std::string_view(
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33),
    .is_answer =
        [](std::string_view begin) {
          constexpr char kSettings = 4;  // a type of frame
          return begin[3] == kSettings;
        },
    .tls = &kHttp2Protocol};

const ProbeProtocol kProbeHttp1 = {
    .name = "HTTP",
    .hello = "GET / HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n",
    .is_answer = [](std::string_view begin) { return begin == "HTTP/1.1 "; },
    .tls = &kHttp1Protocol};

ListenerProbe::ListenerProbe(const ProbeProtocol& protocol,
                             const sockaddr_storage& address,
                             const TlsCredentials* tls, absl::Duration interval,
                             absl::Duration timeout)
    : protocol_(protocol),
      address_(address),
      tls_(tls),
      timeout_(timeout),
      answering_(IsAnswered(protocol, address, timeout, tls)) {
  probing_.emplace(interval, [this] { Probe(); });
}

void ListenerProbe::Probe() {
  const bool answering = IsAnswered(protocol_, address_, timeout_, tls_);
  if (answering != answering_) {
    Log(answering ? spdlog::level::info : spdlog::level::err,
        answering ? "new connections are answered again"
                  : "new connections are not answered, so the server is not "
                    "ready; check the limit of open files (ulimit -n)",
        {{"port", protocol_.name}});
  }
  answering_ = answering;
}

}  // namespace trivium
