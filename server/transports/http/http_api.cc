// libmicrohttpd calls back on its one thread, but for resuming, which is asked
// of it on any.
#include "server/transports/http/http_api.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/numbers.h"
#include "base/acceptor.h"
#include "base/socket.h"
#include "base/status.h"
#include "server/adapters/json_body.h"
#include "server/calls/call_registry.h"
#include "server/limits/access.h"
#include "server/transports/http/exchange.h"
#include "server/transports/http/routes.h"
#include "server/transports/net/stream.h"
#include "server/transports/net/terminator.h"

namespace trivium {
namespace {

// Of a connection: its head, and pieces of what it sends and gets.
constexpr size_t kConnectionBytes = 32 << 10;
// Connections that have been told to go and are still there.
constexpr int kGoing = 64;
// Of the files that may be open: one in so many is a connection here, at most.
constexpr rlim_t kPartOfFiles = 8;
constexpr rlim_t kFilesWithTls = 3;  // of a connection

// A request, as libmicrohttpd keeps it.
struct HttpRequestState final : public RequestSleep {
  MHD_Connection* connection = nullptr;
  std::shared_ptr<Exchange> exchange;

  void Sleep() override { MHD_suspend_connection(connection); }
  void Wake() override { MHD_resume_connection(connection); }
};

sockaddr_storage AddressOf(const sockaddr* address) {
  sockaddr_storage out{};
  std::memcpy(&out, address,
              address->sa_family == AF_INET6 ? sizeof(sockaddr_in6)
                                             : sizeof(sockaddr_in));
  return out;
}

sockaddr_storage ClientOf(MHD_Connection* connection) {
  return AddressOf(
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
          ->client_addr);
}

HttpConnections::Id IdOf(MHD_Connection* connection) {
  return reinterpret_cast<HttpConnections::Id>(
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
          ->socket_context);
}

std::string Header(MHD_Connection* connection, const char* name) {
  const char* const value =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}

int64_t ContentLength(MHD_Connection* connection) {
  int64_t length = -1;
  if (!absl::SimpleAtoi(Header(connection, "Content-Length"), &length)) {
    return -1;
  }
  return length;
}

// gRPC's connections, and models, need files as well.
int MostConnections(int wanted, bool tls) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const rlim_t part = kPartOfFiles * (tls ? kFilesWithTls : 1);
  return static_cast<int>(std::clamp<rlim_t>(files.rlim_cur / part, 1,
                                             static_cast<rlim_t>(wanted)));
}

ssize_t ReadPiece(void* state, uint64_t, char* to, size_t most) {
  const ssize_t count =
      static_cast<HttpRequestState*>(state)->exchange->ReadStream(to, most);
  return count < 0 ? MHD_CONTENT_READER_END_OF_STREAM : count;
}

MHD_Response* WholeResponse(std::string body) {
  auto* const kept = new std::string(std::move(body));
  return MHD_create_response_from_buffer_with_free_callback_cls(
      kept->size(), kept->data(),
      [](void* text) { delete static_cast<std::string*>(text); }, kept);
}

// To what is no call.
MHD_Response* NoCall(const std::string& message) {
  return WholeResponse(
      ToJsonText(nlohmann::json{{"code", "unimplemented"},
                                {"message", message},
                                {"error",
                                 {{"message", message},
                                  {"type", "invalid_request_error"},
                                  {"param", nullptr},
                                  {"code", nullptr}}}}));
}

class HttpApiImpl final : public HttpApi {
 public:
  HttpApiImpl(const Options& options, const Environment& environment,
              OverloadManager* overload)
      : connections_(options, environment.metrics),
        metrics_(environment.metrics),
        tls_(options.tls != nullptr),
        environment_{environment, *overload, connections_, {}} {}
  ~HttpApiImpl() override {
    terminator_.reset();
    for (MHD_Daemon* daemon : daemons_) MHD_stop_daemon(daemon);
  }

  absl::Status Listen(const Options& options) {
    if (options.tls != nullptr) return ListenWithTls(options);
    TRIVIUM_ASSIGN_OR_RETURN(std::vector<UniqueFd> listeners,
                             trivium::Listen(options.host, options.port));
    address_ = trivium::AddressOf(listeners.front().get());
    for (UniqueFd& listener : listeners) {
      TRIVIUM_RETURN_IF_ERROR(StartDaemon(options, listener.get()));
      listener.release();
    }
    return absl::OkStatus();
  }

  sockaddr_storage address() const override { return address_; }
  void GoAway() override {
    if (std::exchange(away_, true)) return;
    if (terminator_ != nullptr) return terminator_->StopAccepting();
    for (MHD_Daemon* daemon : daemons_) {
      const UniqueFd listener(MHD_quiesce_daemon(daemon));
    }
  }
  void Stop() override {
    GoAway();
    connections_.BreakAll();
    environment_.count.Stop();
  }

 private:
  // The library serves what the terminator gives it.
  absl::Status ListenWithTls(const Options& options) {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Acceptor> acceptor,
                             NewAcceptor(options.host, options.port));
    address_ = acceptor->address();
    TRIVIUM_RETURN_IF_ERROR(StartDaemon(options, MHD_INVALID_SOCKET));
    terminator_ = TlsTerminator::Create(
        {.protocol = &kHttp1Protocol}, std::move(acceptor), options.tls,
        metrics_,
        [daemon = daemons_.front()](UniqueFd socket, sockaddr_storage client) {
          // It closes the socket where it does not take it.
          MHD_add_connection(
              daemon, socket.release(), reinterpret_cast<sockaddr*>(&client),
              client.ss_family == AF_INET6 ? sizeof(sockaddr_in6)
                                           : sizeof(sockaddr_in));
        });
    return absl::OkStatus();
  }

  // Of a listener, which may be none (-1).
  absl::Status StartDaemon(const Options& options, int listener) {
    const MHD_FLAG flags =
        listener < 0 ? MHD_USE_NO_LISTEN_SOCKET : MHD_NO_FLAG;
    const MHD_OptionItem listens[] = {
        {listener < 0 ? MHD_OPTION_END : MHD_OPTION_LISTEN_SOCKET, listener,
         nullptr},
        {MHD_OPTION_END, 0, nullptr}};
    MHD_Daemon* const daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | flags, 0,
        OnAccept, this, OnRequest, this, MHD_OPTION_ARRAY, listens,
        MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned>(options.max_connections + kGoing),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION,
        OnConnection, this, MHD_OPTION_NOTIFY_COMPLETED, OnCompleted, this,
        MHD_OPTION_END);
    if (daemon == nullptr) {
      return absl::InternalError("libmicrohttpd did not start");
    }
    daemons_.push_back(daemon);
    return absl::OkStatus();
  }

  static MHD_Result OnAccept(void* self, const sockaddr* address, socklen_t) {
    return static_cast<HttpApiImpl*>(self)->connections_.Admit(
               AddressOf(address))
               ? MHD_YES
               : MHD_NO;
  }

  // A connection's context is its number.
  static void OnConnection(void* self, MHD_Connection* connection,
                           void** context,
                           MHD_ConnectionNotificationCode what) {
    HttpConnections& connections =
        static_cast<HttpApiImpl*>(self)->connections_;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
      return connections.Close(reinterpret_cast<HttpConnections::Id>(*context));
    }
    const int socket =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
            ->connect_fd;
    *context =
        reinterpret_cast<void*>(connections.Open(socket, ClientOf(connection)));
  }

  static MHD_Result OnRequest(void* self, MHD_Connection* connection,
                              const char* url, const char* method,
                              const char* version, const char* data,
                              size_t* size, void** context) {
    auto* const state = static_cast<HttpRequestState*>(*context);
    if (state == nullptr) {
      return static_cast<HttpApiImpl*>(self)->OnHead(connection, url, method,
                                                     context);
    }
    if (*size > 0) {
      state->exchange->AddBody({data, *size});
      *size = 0;
      return MHD_YES;
    }
    return static_cast<HttpApiImpl*>(self)->Answer(state);
  }

  MHD_Result OnHead(MHD_Connection* connection, const char* url,
                    const char* method, void** context) {
    if (url == kHealthPath) return OnHealth(connection, method);
    const RouteMatch match = FindRoute(method, url);
    if (match.route == nullptr) {
      if (match.allowed.empty()) {
        return Queue(connection, {.status = 404},
                     NoCall(fmt::format("there is no {}", url)));
      }
      return RefuseMethod(connection, url, match.allowed);
    }
    return OnCall(
        connection, *match.route,
        {method, url, tls_,
         [connection](const char* name) { return Header(connection, name); }},
        context);
  }

  MHD_Result RefuseMethod(MHD_Connection* connection, std::string_view path,
                          std::string_view allowed) {
    return Queue(connection,
                 {.status = 405, .headers = {{"Allow", std::string(allowed)}}},
                 NoCall(fmt::format("{} takes {}", path, allowed)));
  }

  // For who watches over the server; it may be overloaded and healthy.
  MHD_Result OnHealth(MHD_Connection* connection, std::string_view method) {
    if (method != "GET" && method != "HEAD") {
      return RefuseMethod(connection, kHealthPath, "GET, HEAD");
    }
    const Environment& environment = environment_.handlers;
    CallContext context;
    if (!environment.open_health) {
      Identify(environment.access, Header(connection, "Authorization"),
               &context);
    }
    if (!context.access.ok()) {
      return Queue(connection,
                   {.status = 401, .headers = {{"WWW-Authenticate", "Bearer"}}},
                   WholeResponse(ToJsonText(nlohmann::json{
                       {"status", "unknown"},
                       {"error", std::string(context.access.message())}})));
    }
    const bool ready = environment.calls->ready();
    return Queue(connection, {.status = ready ? 200 : 503},
                 WholeResponse(ToJsonText(nlohmann::json{
                     {"status", ready ? "ok" : "unavailable"}})));
  }

  MHD_Result OnCall(MHD_Connection* connection, const Route& route,
                    const RequestHead& head, void** context) {
    if (!environment_.count.Enter()) return MHD_NO;
    auto state = std::make_unique<HttpRequestState>();
    state->connection = connection;
    state->exchange = std::make_shared<Exchange>(&environment_, route,
                                                 IdOf(connection), state.get());
    const bool answered = state->exchange->Begin(
        head, AddressText(ClientOf(connection)), ContentLength(connection));
    *context = state.release();
    return answered ? Answer(static_cast<HttpRequestState*>(*context))
                    : MHD_YES;
  }

  MHD_Result Answer(HttpRequestState* state) {
    const HttpAnswer* const answer = state->exchange->Answer();
    if (answer == nullptr) return MHD_YES;  // it sleeps
    return Queue(
        state->connection, *answer,
        state->exchange->streams()
            ? MHD_create_response_from_callback(
                  MHD_SIZE_UNKNOWN, kConnectionBytes, ReadPiece, state, nullptr)
            : WholeResponse(state->exchange->TakeBody()));
  }

  MHD_Result Queue(MHD_Connection* connection, const HttpAnswer& head,
                   MHD_Response* response) {
    if (response == nullptr) return MHD_NO;
    MHD_add_response_header(response, "Content-Type", head.type.c_str());
    for (const auto& [name, value] : head.headers) {
      MHD_add_response_header(response, name.c_str(), value.c_str());
    }
    if (connections_.IsOld(IdOf(connection))) {
      MHD_add_response_header(response, "Connection", "close");
    }
    const MHD_Result result = MHD_queue_response(
        connection, static_cast<unsigned>(head.status), response);
    MHD_destroy_response(response);
    return result;
  }

  static void OnCompleted(void*, MHD_Connection*, void** context,
                          MHD_RequestTerminationCode) {
    const std::unique_ptr<HttpRequestState> state(
        static_cast<HttpRequestState*>(std::exchange(*context, nullptr)));
    if (state != nullptr) state->exchange->OnCompleted();
  }

  HttpConnections connections_;
  Metrics* const metrics_;
  const bool tls_;
  HttpEnvironment environment_;
  std::vector<MHD_Daemon*> daemons_;
  std::unique_ptr<TlsTerminator> terminator_;  // null: no TLS
  sockaddr_storage address_{};
  bool away_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpApi>> HttpApi::Create(
    const Options& options, const Environment& environment,
    OverloadManager* overload) {
  Options bounded = options;
  bounded.max_connections =
      MostConnections(options.max_connections, options.tls != nullptr);
  auto api = std::make_unique<HttpApiImpl>(bounded, environment, overload);
  const absl::Status status = api->Listen(bounded);
  if (status.ok()) return api;
  return absl::UnavailableError(
      fmt::format("cannot listen on {}:{} for HTTP: {}; choose another address "
                  "or port with --http-listen",
                  options.host, options.port, std::string(status.message())));
}

}  // namespace trivium
