#include "model/hub/http_fetcher.h"

#include <fmt/format.h>
#include <httplib.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "base/status.h"

namespace trivium {
namespace {

constexpr int kMostRedirects = 8;
constexpr size_t kMostOrigins = 16;

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 ||
         status == 308;
}

bool IsContent(int status) { return status == 200 || status == 206; }

std::chrono::microseconds ToStd(absl::Duration time) {
  return absl::ToChronoMicroseconds(time);
}

// Only "identity" was asked for. Hashes and ranges are of the bytes themselves.
absl::Status CheckCoding(const Url& url, const HubAnswer& answer) {
  const std::string coding = answer.Header("content-encoding");
  if (coding.empty() || absl::EqualsIgnoreCase(coding, "identity")) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(fmt::format(
      "{} sends its answers compressed, although this was not asked for; use "
      "another HF_ENDPOINT, or turn compression off in the proxy before it",
      url.Origin()));
}

// True if the hub itself gave the header.
bool IsHubHeader(const std::string& name) { return name.starts_with("x-"); }

absl::Status NoAnswer(const Url& url, httplib::Error error,
                      const std::string& proxy) {
  const std::string origin = url.Origin();
  switch (error) {
    case httplib::Error::SSLServerVerification:
    case httplib::Error::SSLLoadingCerts:
      return absl::FailedPreconditionError(fmt::format(
          "{}: its certificate is not signed by an authority that the system "
          "trusts; install ca-certificates, or name a file of authorities in "
          "SSL_CERT_FILE",
          origin));
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
    case httplib::Error::SSLConnection:
      return absl::UnavailableError(fmt::format(
          "{} cannot be reached{}{}", origin,
          proxy.empty() ? " (directly: HTTPS_PROXY names no proxy)"
                        : fmt::format(" by way of the proxy {}", proxy),
          error == httplib::Error::SSLConnection ? ": no TLS" : ""));
    default:
      return absl::UnavailableError(
          fmt::format("the connection to {} broke ({})", origin,
                      absl::AsciiStrToLower(httplib::to_string(error))));
  }
}

}  // namespace

// A kept connection to one origin.
class HttpFetcher::Connection {
 public:
  Connection(const Url& url, const HubSettings& settings)
      : client_(url.Origin()) {
    client_.set_keep_alive(true);
    client_.set_connection_timeout(ToStd(settings.idle_timeout));
    client_.set_read_timeout(ToStd(settings.idle_timeout));
    client_.set_write_timeout(ToStd(settings.idle_timeout));
    // Addresses are encoded already, some of them by whoever signed them. Bytes
    // are hashed as they come.
    client_.set_url_encode(false);
    client_.set_decompress(false);
  }

  absl::Status UseProxy(const std::string& address) {
    TRIVIUM_ASSIGN_OR_RETURN(const Proxy proxy, ParseProxy(address));
    client_.set_proxy(proxy.host, proxy.port);
    if (!proxy.user.empty()) {
      client_.set_proxy_basic_auth(proxy.user, proxy.password);
    }
    proxy_ = fmt::format("{}:{}", proxy.host, proxy.port);
    return absl::OkStatus();
  }

  // Sends one request. A receiver takes the body if the status is of content.
  absl::StatusOr<HubAnswer> Get(const Url& url, const httplib::Headers& headers,
                                const Receiver* receiver) {
    HubAnswer answer;
    absl::Status received = absl::OkStatus();
    bool takes = false;
    httplib::Request request;
    request.method = "GET";
    request.path = url.target.empty() ? "/" : url.target;
    request.headers = headers;
    request.response_handler = [&](const httplib::Response& response) {
      answer.status = response.status;
      for (const auto& [name, value] : response.headers) {
        answer.headers.emplace(absl::AsciiStrToLower(name), value);
      }
      takes = receiver != nullptr && IsContent(answer.status);
      if (IsContent(answer.status)) received = CheckCoding(url, answer);
      if (takes && received.ok()) received = receiver->begin(answer);
      return received.ok();
    };
    request.content_receiver = [&](const char* data, size_t size, uint64_t,
                                   uint64_t) {
      const std::string_view bytes(data, size);
      if (takes) {
        received = receiver->bytes(bytes);
      } else if (answer.body.size() + size > HubAnswer::kMostBody) {
        received = absl::InvalidArgumentError(
            fmt::format("{}: the answer is too large", url.Origin()));
      } else {
        answer.body += bytes;
      }
      return received.ok();
    };
    const httplib::Result result = client_.send(request);
    TRIVIUM_RETURN_IF_ERROR(received);
    if (!result) return NoAnswer(url, result.error(), proxy_);
    answer.status = result->status;  // also of an answer without a body
    return answer;
  }

 private:
  httplib::Client client_;
  std::string proxy_;  // for errors, without a password
};

HttpFetcher::HttpFetcher(const HubSettings& settings) : settings_(settings) {
  if (const auto url = ParseUrl(settings.endpoint); url.ok()) {
    trusted_origin_ = url->Origin();
  }
}

HttpFetcher::~HttpFetcher() = default;

absl::StatusOr<HttpFetcher::Connection*> HttpFetcher::Connect(const Url& url) {
  const std::string origin = url.Origin();
  const auto found = connections_.find(origin);
  if (found != connections_.end()) return found->second.get();
  auto connection = std::make_unique<Connection>(url, settings_);
  const std::string& proxy =
      url.scheme == "https" ? settings_.https_proxy : settings_.http_proxy;
  if (!proxy.empty() && !IsExempt(url.host, settings_.no_proxy)) {
    TRIVIUM_RETURN_IF_ERROR(connection->UseProxy(proxy));
  }
  // A hub may send each file elsewhere.
  if (connections_.size() >= kMostOrigins) connections_.clear();
  return (connections_[origin] = std::move(connection)).get();
}

absl::StatusOr<HubAnswer> HttpFetcher::Get(const std::string& address,
                                           int64_t from,
                                           const Receiver* receiver) {
  TRIVIUM_ASSIGN_OR_RETURN(Url url, ParseUrl(address));
  std::map<std::string, std::string> of_hub;
  for (int i = 0; i <= kMostRedirects; ++i) {
    httplib::Headers headers = {{"User-Agent", "trivium"},
                                {"Accept-Encoding", "identity"}};
    if (from > 0) headers.emplace("Range", fmt::format("bytes={}-", from));
    if (!settings_.token.empty() && url.Origin() == trusted_origin_) {
      headers.emplace("Authorization", "Bearer " + settings_.token);
    }
    TRIVIUM_ASSIGN_OR_RETURN(Connection* const connection, Connect(url));
    TRIVIUM_ASSIGN_OR_RETURN(HubAnswer answer,
                             connection->Get(url, headers, receiver));
    const std::string location = answer.Header("location");
    if (!IsRedirect(answer.status) || location.empty()) {
      answer.headers.merge(of_hub);
      return answer;
    }
    for (const auto& [name, value] : answer.headers) {
      if (IsHubHeader(name)) of_hub.emplace(name, value);
    }
    const absl::StatusOr<Url> next =
        ResolveLocation(url, WrittenLocation(location, answer.body));
    if (!next.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("{} redirects elsewhere: {}", url.Origin(),
                      std::string(next.status().message())));
    }
    if (url.scheme == "https" && next->scheme == "http") {
      return absl::InvalidArgumentError(
          fmt::format("{} redirects to {}, where anyone could change the file; "
                      "use another HF_ENDPOINT",
                      url.Origin(), next->Origin()));
    }
    url = *next;
  }
  return absl::InvalidArgumentError(fmt::format(
      "{} redirects without end; use another HF_ENDPOINT", url.Origin()));
}

}  // namespace trivium
