// The library never listens: HttpConnections accepts on its own thread and adds
// each connection to the library's. So all connections take the same way, and
// are counted before the library knows them.
//
// libmicrohttpd calls back on its own thread only.
#include "server/transports/http/daemon.h"

#include <microhttpd.h>
#include <netinet/in.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "base/acceptor.h"
#include "base/exceptions.h"
#include "base/socket.h"
#include "base/status.h"
#include "server/transports/http/http1_guard.h"
#include "server/transports/net/carrier.h"
#include "server/transports/net/stream.h"

namespace trivium {
std::optional<HttpRefusal> RefusalOf(MHD_Connection* connection,
                                     bool in_trailers) {
  const char* const value = MHD_lookup_connection_value(
      connection, in_trailers ? MHD_FOOTER_KIND : MHD_HEADER_KIND,
      kRefusedHeader);
  if (value == nullptr) return std::nullopt;
  char* message = nullptr;
  const long status = std::strtol(value, &message, 10);
  return HttpRefusal{static_cast<int>(status), message + 1};
}

HttpConnections::Id IdOf(MHD_Connection* connection) {
  return reinterpret_cast<HttpConnections::Id>(
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
          ->socket_context);
}

sockaddr_storage ClientOf(MHD_Connection* connection) {
  const sockaddr* const address =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
          ->client_addr;
  sockaddr_storage client{};
  client.ss_family = address->sa_family;
  std::memcpy(&client, address, SizeOf(client));
  return client;
}

MHD_Response* WholeResponse(std::string body) {
  auto* const owned = new std::string(std::move(body));
  return MHD_create_response_from_buffer_with_free_callback_cls(
      owned->size(), owned->data(),
      [](void* text) { delete static_cast<std::string*>(text); }, owned);
}

MHD_Response* SharedResponse(std::string_view body) {
  // The library only reads from it.
  return MHD_create_response_from_buffer(
      body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_PERSISTENT);
}

bool QueueResponse(
    MHD_Connection* connection, int status,
    const std::vector<std::pair<std::string, std::string>>& headers,
    MHD_Response* response) {
  if (response == nullptr) return false;
  for (const auto& [name, value] : headers) {
    MHD_add_response_header(response, name.c_str(), value.c_str());
  }
  const MHD_Result result =
      MHD_queue_response(connection, static_cast<unsigned>(status), response);
  MHD_destroy_response(response);
  return result == MHD_YES;
}

bool RefuseForMemory(MHD_Connection* connection) {
  static constexpr std::string_view kBody =
      R"({"code":"resource_exhausted","message":"the server has no memory )"
      R"(left for this request; retry later, or send a shorter one",)"
      R"("error":{"message":"the server has no memory left for this request; )"
      R"(retry later, or send a shorter one","type":"server_error",)"
      R"("param":null,"code":null}})";
  MHD_Response* const response = SharedResponse(kBody);
  if (response == nullptr) return false;
  MHD_add_response_header(response, "Content-Type", "application/json");
  MHD_add_response_header(response, "Retry-After", "1");
  MHD_add_response_header(response, "Connection", "close");
  const MHD_Result result =
      MHD_queue_response(connection, MHD_HTTP_SERVICE_UNAVAILABLE, response);
  MHD_destroy_response(response);
  return result == MHD_YES;
}

absl::StatusOr<std::unique_ptr<HttpDaemon>> HttpDaemon::Listen(
    const Options& options, Metrics* metrics) {
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Acceptor> acceptor,
                           NewAcceptor(options.host, options.port));
  CarrierOptions carrier = {.tls = options.tls,
                            .protocol = &kHttp1Protocol,
                            .stall_timeout = options.stall_timeout};
  if (options.strict) {
    // The library's own lists need memory besides the head.
    carrier.guard = [most = options.connection_bytes / 2] {
      return std::make_unique<Http1Guard>(most);
    };
  }
  if (options.tls != nullptr || options.strict) {
    acceptor = NewCarrier(carrier, std::move(acceptor), metrics);
  }
  return absl::WrapUnique(
      new HttpDaemon(options, std::move(acceptor), metrics));
}

HttpDaemon::~HttpDaemon() {
  connections_.Stop();
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
}

absl::Status HttpDaemon::Serve(HttpService* service) {
  service_ = service;
  // A connection's context is its id.
  const MHD_NotifyConnectionCallback on_connection =
      [](void* self, MHD_Connection* connection, void** context,
         MHD_ConnectionNotificationCode what) {
        auto& connections = static_cast<HttpDaemon*>(self)->connections_;
        if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
          connections.Close(reinterpret_cast<HttpConnections::Id>(*context));
          return;
        }
        const int socket = MHD_get_connection_info(
                               connection, MHD_CONNECTION_INFO_CONNECTION_FD)
                               ->connect_fd;
        *context = reinterpret_cast<void*>(connections.Opened(socket));
      };
  // An exception must not pass through the library: without memory the request
  // is refused, or else its connection ends.
  const MHD_AccessHandlerCallback on_request =
      [](void* self, MHD_Connection* connection, const char* path,
         const char* method, const char* /*version*/, const char* data,
         size_t* size, void** context) {
        bool goes_on = false;
        const absl::Status status = CatchExceptions([&] {
          goes_on = static_cast<HttpDaemon*>(self)->service_->OnRequest(
              connection, path, method, data, size, context);
        });
        if (!status.ok()) goes_on = RefuseForMemory(connection);
        return goes_on ? MHD_YES : MHD_NO;
      };
  const MHD_RequestCompletedCallback on_completed =
      [](void* self, MHD_Connection*, void** context,
         MHD_RequestTerminationCode) {
        CatchExceptions([&] {
          static_cast<HttpDaemon*>(self)->service_->OnCompleted(
              std::exchange(*context, nullptr));
        }).IgnoreError();
      };
  // Paths stay percent-encoded.
  size_t (*const keep_as_it_is)(void*, MHD_Connection*, char*) =
      [](void*, MHD_Connection*, char* text) { return std::strlen(text); };
  // HttpConnections keeps the limit. The library still counts connections that
  // it is about to forget, so its own limit must never matter.
  const auto limit = static_cast<unsigned>(2 * options_.max_connections + 256);
  daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
          MHD_USE_NO_LISTEN_SOCKET,
      0, nullptr, nullptr, on_request, this, MHD_OPTION_CONNECTION_LIMIT, limit,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, options_.connection_bytes,
      MHD_OPTION_UNESCAPE_CALLBACK, keep_as_it_is, nullptr,
      MHD_OPTION_NOTIFY_CONNECTION, on_connection, this,
      MHD_OPTION_NOTIFY_COMPLETED, on_completed, this, MHD_OPTION_END);
  if (daemon_ == nullptr) {
    return absl::InternalError("libmicrohttpd did not start");
  }
  connections_.Start(
      std::move(acceptor_),
      [daemon = daemon_](UniqueFd socket, sockaddr_storage client) {
        auto* const address = reinterpret_cast<sockaddr*>(&client);
        // It closes a socket that it does not take.
        return MHD_add_connection(daemon, socket.release(), address,
                                  SizeOf(client)) == MHD_YES;
      });
  return absl::OkStatus();
}

}  // namespace trivium
