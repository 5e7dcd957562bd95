// libmicrohttpd calls back on its one thread. Only resuming a request is asked
// of it on other threads.
#include "server/transports/http/http_api.h"

#include <fmt/format.h>
#include <microhttpd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/acceptor.h"
#include "base/exceptions.h"
#include "base/socket.h"
#include "base/status.h"
#include "server/adapters/form_body.h"
#include "server/adapters/json_body.h"
#include "server/adapters/ollama.h"
#include "server/calls/call_registry.h"
#include "server/errors/status.h"
#include "server/limits/access.h"
#include "server/transports/http/browser_page.h"
#include "server/transports/http/content_coding.h"
#include "server/transports/http/cors.h"
#include "server/transports/http/daemon.h"
#include "server/transports/http/exchange.h"
#include "server/transports/http/http1_guard.h"
#include "server/transports/http/metrics_server.h"
#include "server/transports/http/request_checks.h"
#include "server/transports/http/routes.h"
#include "server/transports/net/connection_limits.h"

namespace trivium {
namespace {

// Size of the pieces in which a stream is read from its exchange.
constexpr size_t kPieceBytes = 32 << 10;
// At most one in so many of the files that may be open belongs to a connection
// here: gRPC's connections and models need files as well.
constexpr int64_t kPartOfFiles = 3;
constexpr int kFilesEach = 3;  // per connection: the client's, and a pair

constexpr std::string_view kRoot = "/";
constexpr char kGets[] = "GET, HEAD";

HttpAnswer Unauthorized() {
  return {.status = 401, .headers = {{"WWW-Authenticate", "Bearer"}}};
}

// A request's context in libmicrohttpd.
struct HttpRequestState final : public RequestSleep {
  MHD_Connection* connection = nullptr;
  std::shared_ptr<Exchange> exchange;

  void Sleep() override { MHD_suspend_connection(connection); }
  void Wake() override { MHD_resume_connection(connection); }
};

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

ssize_t ReadPiece(void* state, uint64_t, char* to, size_t most) {
  ssize_t count = 0;
  const absl::Status status = CatchExceptions([&] {
    count =
        static_cast<HttpRequestState*>(state)->exchange->ReadStream(to, most);
  });
  if (!status.ok()) return MHD_CONTENT_READER_END_WITH_ERROR;
  return count < 0 ? MHD_CONTENT_READER_END_OF_STREAM : count;
}

// Returns the names and values of the query, which the guard leaves in a
// header. A query that is no form has none.
std::vector<std::pair<std::string, std::string>> Query(
    MHD_Connection* connection) {
  std::vector<std::pair<std::string, std::string>> values;
  auto fields = ParseForm(kUrlEncoded, Header(connection, kQueryHeader));
  if (!fields.ok()) return values;
  for (FormField& field : *fields) {
    values.emplace_back(std::move(field.name), std::move(field.value));
  }
  return values;
}

// The answer to a request that becomes no call, in the shapes of Connect and of
// OpenAI at once.
MHD_Response* NoCall(const std::string& message,
                     const char* code = "unimplemented") {
  return WholeResponse(
      ToJsonText(nlohmann::json{{"code", code},
                                {"message", message},
                                {"error",
                                 {{"message", message},
                                  {"type", "invalid_request_error"},
                                  {"param", nullptr},
                                  {"code", nullptr}}}}));
}

// The answer to a path that there is not.
MHD_Response* NoPath(std::string_view path) {
  return path.starts_with(kOllamaPaths)
             ? WholeResponse(OllamaNoPath(path))
             : NoCall(fmt::format("there is no {}{}", path, HintFor(path)));
}

class HttpApiImpl final : public HttpApi, public HttpService {
 public:
  HttpApiImpl(std::unique_ptr<HttpDaemon> daemon, const Options& options,
              const Environment& environment, OverloadManager* overload)
      : page_(options.page ? std::make_unique<BrowserPage>() : nullptr),
        daemon_(std::move(daemon)),
        tls_(options.tls != nullptr),
        allowed_hosts_(options.allowed_hosts),
        cors_(options.cors_origins),
        metrics_(options.metrics),
        environment_{environment,
                     *overload,
                     *daemon_->connections(),
                     options.keep_alive,
                     {}} {}

  absl::Status Serve() {
    if (environment_.starts.threads() == 0) {
      return absl::ResourceExhaustedError(
          "the system cannot start more threads (see ulimit -u and the "
          "cgroup's pids.max)");
    }
    return daemon_->Serve(this);
  }

  sockaddr_storage address() const override { return daemon_->address(); }
  void GoAway() override { daemon_->connections()->StopAccepting(); }
  void Stop() override {
    GoAway();
    daemon_->connections()->BreakAll();
    environment_.count.Stop();
  }

  bool OnRequest(MHD_Connection* connection, const char* path,
                 const char* method, const char* data, size_t* size,
                 void** context) override {
    auto* const state = static_cast<HttpRequestState*>(*context);
    if (state == nullptr) return OnHead(connection, path, method, context);
    if (*size > 0) {
      *size -= state->exchange->AddBody({data, *size});
      return true;
    }
    if (const auto refusal =
            RefusalOf(state->connection, /*in_trailers=*/true)) {
      return Refuse(connection, *refusal);
    }
    return Answer(state);
  }
  void OnCompleted(void* context) override {
    const std::unique_ptr<HttpRequestState> state(
        static_cast<HttpRequestState*>(context));
    if (state != nullptr) state->exchange->OnCompleted();
  }

 private:
  bool OnHead(MHD_Connection* connection, const char* url, const char* method,
              void** context) {
    if (const auto refusal = RefusalOf(connection, /*in_trailers=*/false)) {
      return Refuse(connection, *refusal);
    }
    if (const std::string wrong = WrongHost(connection); !wrong.empty()) {
      return Queue(connection, {.status = 403},
                   NoCall(wrong, "permission_denied"));
    }
    const std::string_view verb = method;
    if (verb == "OPTIONS" && IsPreflight(connection)) {
      return OnPreflight(connection, url);
    }
    const bool gets = verb == "GET" || verb == "HEAD";
    if (page_ != nullptr && gets) {
      const auto header = [connection](const char* name) {
        return Header(connection, name);
      };
      if (const auto answer = page_->AnswerTo(url, header)) {
        return Queue(
            connection,
            {.status = answer->status, .type = "", .headers = answer->headers},
            SharedResponse(answer->body));
      }
    }
    if (metrics_ && url == kMetricsPath) {
      return OnMetrics(connection, method);
    }
    if (url == kHealthPath || url == kPingPath || (url == kRoot && gets)) {
      return OnHealth(connection, url, method);
    }
    // The path is not decoded first, so that what a proxy in front allows or
    // forbids by its beginning is what this server reads.
    const RouteMatch match = FindRoute(method, url);
    const auto path = DecodePathPart(match.path);
    if (match.route == nullptr || !path) {
      if (AllowedMethods(url).empty() || !path) {
        return Queue(connection, {.status = 404}, NoPath(url));
      }
      return RefuseMethod(connection, url, AllowedMethods(url));
    }
    const RequestHead head = {
        .method = method,
        .path = *path,
        .tls = tls_,
        .trusted_page = cors_.Allows(Header(connection, "Origin")),
        .query = [connection] { return Query(connection); },
        .header = [connection](
                      const char* name) { return Header(connection, name); }};
    return OnCall(connection, ChooseByHeader(*match.route, head), head,
                  context);
  }

  // Closes the connection: the next request on it may begin elsewhere than the
  // client believes.
  bool Refuse(MHD_Connection* connection, const HttpRefusal& refusal) {
    return Queue(
        connection,
        {.status = refusal.status, .headers = {{"Connection", "close"}}},
        NoCall(refusal.message, "invalid_argument"));
  }

  bool IsPreflight(MHD_Connection* connection) const {
    return !cors_.empty() && !Header(connection, "Origin").empty() &&
           !Header(connection, "Access-Control-Request-Method").empty();
  }

  // Browsers send no token with a preflight.
  bool OnPreflight(MHD_Connection* connection, std::string_view path) {
    const std::string origin = Header(connection, "Origin");
    if (!cors_.Allows(origin)) {
      return Queue(
          connection, {.status = 403},
          NoCall(fmt::format("pages of '{}' may not call this server; start it "
                             "with --cors-allow-origin {} if they may",
                             Shorten(origin), Shorten(origin)),
                 "permission_denied"));
    }
    const std::string methods = AllowedMethods(path);
    if (methods.empty()) {
      return Queue(
          connection, {.status = 404},
          NoCall(fmt::format("there is no {}{}", path, HintFor(path))));
    }
    HttpAnswer answer = {.status = 204, .type = ""};
    CorsPolicy::AddPreflightHeaders(
        methods, Header(connection, "Access-Control-Request-Headers"),
        &answer.headers);
    return Queue(connection, answer, WholeResponse(""));
  }

  // The methods of a path; empty: there is no such path.
  std::string AllowedMethods(std::string_view path) const {
    if (path == kHealthPath || path == kPingPath ||
        (metrics_ && path == kMetricsPath) ||
        (page_ != nullptr && BrowserPage::IsPath(path))) {
      return kGets;
    }
    const std::string calls = FindRoute("", path).allowed;
    return path == kRoot ? fmt::format("{}, {}", kGets, calls) : calls;
  }

  // Why the request's host is refused; empty if it is not. With tokens or TLS,
  // a page under another name can do nothing here, and no page reaches a Unix
  // socket.
  std::string WrongHost(MHD_Connection* connection) const {
    const std::string host = Header(connection, "Host");
    if (host.empty() || tls_ || environment_.handlers.access != nullptr ||
        daemon_->address().ss_family == AF_UNIX) {
      return "";
    }
    const absl::StatusOr<std::string> name = HostName(host);
    if (!name.ok()) return std::string(name.status().message());
    if (IsAllowedHost(*name, allowed_hosts_)) return "";
    return fmt::format(
        "this server is not called '{0}'; start it with --allowed-hosts {0} if "
        "it is",
        Shorten(*name));
  }

  bool RefuseMethod(MHD_Connection* connection, std::string_view path,
                    std::string_view allowed) {
    return Queue(connection,
                 {.status = 405, .headers = {{"Allow", std::string(allowed)}}},
                 NoCall(fmt::format("{} takes {}", path, allowed)));
  }

  // UNAUTHENTICATED if calls need a token and the request has none.
  absl::Status AccessOf(MHD_Connection* connection) const {
    CallContext context;
    Identify(environment_.handlers.access, Header(connection, "Authorization"),
             &context);
    return context.access;
  }

  // Unlike the port of metrics, this one may be open to everybody: a server
  // with tokens asks for one.
  bool OnMetrics(MHD_Connection* connection, std::string_view method) {
    if (method != "GET" && method != "HEAD") {
      return RefuseMethod(connection, kMetricsPath, kGets);
    }
    if (const absl::Status access = AccessOf(connection); !access.ok()) {
      return Queue(connection, Unauthorized(),
                   NoCall(std::string(access.message()), "unauthenticated"));
    }
    HttpAnswer answer = {.type = kMetricsType,
                         .headers = {{"Vary", "Accept-Encoding"}}};
    std::string text = environment_.handlers.metrics->Text();
    if (text.size() <= kMostPackedAtOnce &&
        AcceptsGzip(Header(connection, "Accept-Encoding"))) {
      if (std::string packed = PackGzip(text); !packed.empty()) {
        text = std::move(packed);
        answer.headers.emplace_back("Content-Encoding", "gzip");
      }
    }
    return Queue(connection, answer, WholeResponse(std::move(text)));
  }

  // For probes and balancers. An overloaded server is healthy, too.
  bool OnHealth(MHD_Connection* connection, std::string_view path,
                std::string_view method) {
    if (method != "GET" && method != "HEAD") {
      return RefuseMethod(connection, path, kGets);
    }
    const Environment& environment = environment_.handlers;
    const absl::Status access =
        environment.open_health ? absl::OkStatus() : AccessOf(connection);
    if (!access.ok()) {
      return Queue(connection, Unauthorized(),
                   WholeResponse(ToJsonText(nlohmann::json{
                       {"status", "unknown"},
                       {"error", std::string(access.message())}})));
    }
    const bool ready = environment.calls->ready();
    return Queue(connection, {.status = ready ? 200 : 503},
                 WholeResponse(ToJsonText(nlohmann::json{
                     {"status", ready ? "ok" : "unavailable"}})));
  }

  bool OnCall(MHD_Connection* connection, const Route& route,
              const RequestHead& head, void** context) {
    auto state = std::make_unique<HttpRequestState>();
    state->connection = connection;
    if (!environment_.count.Enter()) return false;
    try {
      state->exchange = std::make_shared<Exchange>(
          &environment_, route, IdOf(connection), state.get());
    } catch (...) {
      environment_.count.Leave();
      throw;
    }
    const bool answered = state->exchange->Begin(
        head, AddressText(ClientOf(connection)), ContentLength(connection));
    *context = state.release();
    return !answered || Answer(static_cast<HttpRequestState*>(*context));
  }

  bool Answer(HttpRequestState* state) {
    const HttpAnswer* const answer = state->exchange->Answer();
    if (answer == nullptr) return true;  // it sleeps
    return Queue(
        state->connection, *answer,
        state->exchange->streams()
            ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kPieceBytes,
                                                ReadPiece, state, nullptr)
            : WholeResponse(state->exchange->TakeBody()));
  }

  std::vector<std::pair<std::string, std::string>> HeadersOf(
      MHD_Connection* connection, const HttpAnswer& head) {
    auto headers = head.headers;
    if (!head.type.empty()) {
      headers.insert(headers.begin(), {"Content-Type", head.type});
    }
    cors_.AddHeaders(Header(connection, "Origin"), &headers);
    if (daemon_->connections()->IsOld(IdOf(connection))) {
      headers.emplace_back("Connection", "close");
    }
    return headers;
  }

  // Takes `response`, which may be null.
  bool Queue(MHD_Connection* connection, const HttpAnswer& head,
             MHD_Response* response) {
    std::vector<std::pair<std::string, std::string>> headers;
    try {
      headers = HeadersOf(connection, head);
    } catch (...) {
      if (response != nullptr) MHD_destroy_response(response);
      throw;
    }
    return QueueResponse(connection, head.status, headers, response);
  }

  // Null: there is none. Outlives the daemon, whose responses use its text.
  const std::unique_ptr<BrowserPage> page_;
  const std::unique_ptr<HttpDaemon> daemon_;
  const bool tls_;
  const std::vector<std::string> allowed_hosts_;
  const CorsPolicy cors_;
  const bool metrics_;
  HttpEnvironment environment_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpApi>> HttpApi::Create(
    const Options& options, const Environment& environment,
    OverloadManager* overload) {
  Options bounded = options;
  bounded.max_connections = ConnectionsWithin(
      OpenFilesLimit() / kPartOfFiles, kFilesEach, 1, options.max_connections);
  auto daemon = HttpDaemon::Listen(bounded, environment.metrics);
  if (!daemon.ok()) {
    return absl::UnavailableError(fmt::format(
        "cannot listen on {} for HTTP: {}; choose another address or port "
        "with --http-listen",
        ListenText(options.host, options.port),
        std::string(daemon.status().message())));
  }
  auto api = std::make_unique<HttpApiImpl>(*std::move(daemon), options,
                                           environment, overload);
  TRIVIUM_RETURN_IF_ERROR(api->Serve());
  return api;
}

}  // namespace trivium
