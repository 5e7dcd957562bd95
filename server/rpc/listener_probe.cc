#include "server/rpc/listener_probe.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "absl/time/clock.h"
#include "base/socket.h"
#include "server/observability/log.h"
#include "server/rpc/http2_frames.h"

namespace trivium {
namespace {

// The preface, and settings that change nothing.
constexpr std::string_view kHello(
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
constexpr size_t kHeadBytes = 9;

// False when `end` has come first.
bool WaitFor(int socket, short events, absl::Time end) {
  pollfd entry{socket, events, 0};
  while (true) {
    const auto left = absl::ToInt64Milliseconds(end - absl::Now());
    if (left <= 0) return false;
    const int ready = poll(&entry, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool IsAnswered(const sockaddr_storage& address, absl::Duration timeout) {
  const absl::Time end = absl::Now() + timeout;
  const UniqueFd client(
      socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!client) return false;
  if (connect(client.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) != 0 &&
      errno != EINPROGRESS) {
    return false;
  }
  if (!WaitFor(client.get(), POLLOUT, end) ||
      send(client.get(), kHello.data(), kHello.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(kHello.size())) {
    return false;
  }
  std::array<uint8_t, kHeadBytes> head;
  for (size_t have = 0; have < head.size();) {
    if (!WaitFor(client.get(), POLLIN, end)) return false;
    const ssize_t got =
        recv(client.get(), head.data() + have, head.size() - have, 0);
    if (got <= 0) return false;
    have += static_cast<size_t>(got);
  }
  return head[3] == kSettings;
}

}  // namespace

ListenerProbe::ListenerProbe(const sockaddr_storage& address,
                             absl::Duration interval, absl::Duration timeout)
    : address_(address),
      interval_(interval),
      timeout_(timeout),
      answering_(IsAnswered(address, timeout)),
      thread_([this] { Run(); }) {}

ListenerProbe::~ListenerProbe() { Stop(); }

void ListenerProbe::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.SignalAll();
  if (thread_.joinable()) thread_.join();
}

void ListenerProbe::Run() {
  while (true) {
    {
      MutexLock lock(&mutex_);
      const absl::Time next = absl::Now() + interval_;
      while (!stopping_ && absl::Now() < next) {
        changed_.WaitFor(&mutex_,
                         absl::ToChronoNanoseconds(next - absl::Now()));
      }
      if (stopping_) return;
    }
    const bool answering = IsAnswered(address_, timeout_);
    if (answering != answering_) {
      Log(answering ? spdlog::level::info : spdlog::level::err,
          answering ? "new connections are answered again"
                    : "new connections are not answered: not ready until they "
                      "are; are there files left to open (ulimit -n)?");
    }
    answering_ = answering;
  }
}

}  // namespace trivium
