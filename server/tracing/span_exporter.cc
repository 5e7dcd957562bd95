// Sender does the work on a detached thread. That thread may hang where the
// HTTP library has no timeout (the lookup of the collector's name), and a
// server that stops does not wait for it. So the exporter and the thread share
// the ownership of the sender, and after Stop the sender no longer uses the
// metrics.
//
// All spans of a call enter the queue together or are dropped together. The
// thread sends kBatchSpans at a time, or fewer after Options::gather. A message
// is tried kTries times, and only again for errors that OTLP calls retryable.
#include "server/tracing/span_exporter.h"

#include <fmt/format.h>
#include <httplib.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/exceptions.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "server/observability/log.h"
#include "server/observability/version.h"

namespace trivium {
namespace {

using opentelemetry::ExportTraceServiceRequest;
using opentelemetry::ExportTraceServiceResponse;
using opentelemetry::Span;

constexpr char kTracesPath[] = "/v1/traces";
constexpr char kMessageType[] = "application/x-protobuf";
constexpr size_t kBatchSpans = 512;
constexpr int kTries = 3;
constexpr size_t kMostResponseBytes = 64 << 10;
constexpr std::chrono::seconds kConnectTime{2};
constexpr std::chrono::seconds kAnswerTime{5};
constexpr absl::Duration kLastWait = absl::Seconds(1);

void AddText(const char* key, std::string value,
             opentelemetry::Resource* resource) {
  opentelemetry::KeyValue* attribute = resource->add_attributes();
  attribute->set_key(key);
  attribute->mutable_value()->set_string_value(std::move(value));
}

// Describes this process; the same in every message.
opentelemetry::ResourceSpans ThisProcess() {
  opentelemetry::ResourceSpans out;
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  AddText("service.name", "trivium-server", out.mutable_resource());
  AddText("service.version", kVersion, out.mutable_resource());
  AddText("service.instance.id", fmt::format("{}:{}", host, getpid()),
          out.mutable_resource());
  AddText("host.name", host, out.mutable_resource());
  opentelemetry::ScopeSpans* scope = out.add_scope_spans();
  scope->mutable_scope()->set_name("trivium");
  scope->mutable_scope()->set_version(kVersion);
  return out;
}

// The retryable statuses of OTLP.
bool IsRetryable(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

absl::StatusOr<TraceEndpoint> ParseTraceEndpoint(const std::string& url) {
  const size_t scheme = url.find("://");
  const bool known =
      absl::StartsWith(url, "http://") || absl::StartsWith(url, "https://");
  const size_t host = known ? scheme + 3 : 0;
  const size_t path = std::min(url.find('/', host), url.size());
  if (!known || path == host ||
      url.find_first_of("?#@ ") != std::string::npos) {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' must be the address of a collector's OTLP over HTTP, such as "
        "http://localhost:4318",
        url));
  }
  TraceEndpoint endpoint = {url.substr(0, path), url.substr(path)};
  while (absl::EndsWith(endpoint.path, "/")) endpoint.path.pop_back();
  if (!absl::EndsWith(endpoint.path, kTracesPath)) endpoint.path += kTracesPath;
  return endpoint;
}

class SpanExporter::Sender {
 public:
  Sender(const Options& options, Metrics* metrics)
      : options_(options), process_(ThisProcess()), metrics_(metrics) {}

  void Add(std::vector<Span> spans) {
    MutexLock lock(&mutex_);
    if (waiting_.size() + spans.size() > options_.most_waiting) {
      return CountLocked("dropped", spans.size());
    }
    const bool were_few = waiting_.size() < kBatchSpans;
    const bool were_none = waiting_.empty();
    std::move(spans.begin(), spans.end(), std::back_inserter(waiting_));
    // The thread waits for the first span, then for a full message.
    if (were_none || (were_few && waiting_.size() >= kBatchSpans)) {
      changed_.SignalAll();
    }
  }

  // Returns when everything is sent, or after kLastWait: what is not sent by
  // then counts as dropped. Afterwards metrics_ is not used.
  void Stop() {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
    const absl::Time give_up = SteadyNow() + kLastWait;
    while (!ended_ && SteadyNow() < give_up) WaitLocked(give_up);
    CountLocked("dropped", waiting_.size() + being_sent_);
    metrics_ = nullptr;
  }

  void Run() {
    httplib::Client client(options_.endpoint.origin);
    client.set_connection_timeout(kConnectTime);
    client.set_read_timeout(kAnswerTime);
    client.set_write_timeout(kAnswerTime);
    client.set_keep_alive(true);
    if (!options_.ca.empty()) client.set_ca_cert_path(options_.ca);
    bool goes_on = true;
    while (goes_on) {
      // Without memory, spans are lost.
      CatchExceptions([&] {
        std::vector<Span> spans = Take();
        goes_on = !spans.empty();
        const size_t count = spans.size();
        if (goes_on) Send(ToMessage(std::move(spans)), count, &client);
      }).IgnoreError();
    }
    MutexLock lock(&mutex_);
    ended_ = true;
    changed_.SignalAll();
  }

 private:
  // Returns the next spans to send; none: the sender stops.
  std::vector<Span> Take() {
    MutexLock lock(&mutex_);
    while (waiting_.empty() && !stopping_) changed_.Wait(&mutex_);
    const absl::Time gathered = SteadyNow() + options_.gather;
    while (waiting_.size() < kBatchSpans && !stopping_ &&
           SteadyNow() < gathered) {
      WaitLocked(gathered);
    }
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                            waiting_.size(), kBatchSpans));
    std::vector<Span> spans(std::make_move_iterator(waiting_.begin()),
                            std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    being_sent_ = spans.size();
    return spans;
  }

  std::string ToMessage(std::vector<Span> spans) const {
    ExportTraceServiceRequest message;
    opentelemetry::ResourceSpans* resource = message.add_resource_spans();
    *resource = process_;
    for (Span& span : spans) {
      *resource->mutable_scope_spans(0)->add_spans() = std::move(span);
    }
    return message.SerializeAsString();
  }

  // `body`: a message with so many spans.
  void Send(const std::string& body, size_t spans, httplib::Client* client) {
    std::string error;
    for (int i = 0; i < kTries; ++i) {
      if (i > 0 && !WaitToRetry(options_.retry * (1 << (i - 1)))) break;
      bool again = false;
      const absl::StatusOr<int64_t> rejected = Post(body, client, &again);
      if (rejected.ok()) {
        const size_t lost = std::min(static_cast<size_t>(*rejected), spans);
        return Count(spans - lost, lost);
      }
      error = std::string(rejected.status().message());
      if (!again) break;
    }
    Count(0, spans);
    log_limit_.Log(
        spdlog::level::warn,
        "the collector of traces did not accept spans; they are dropped",
        {{"endpoint", options_.endpoint.origin + options_.endpoint.path},
         {"spans", static_cast<int64_t>(spans)},
         {"error", error}});
  }

  // Sends a message once. Returns how many of its spans the collector refused
  // for good. Sets `again` if an error may be retried.
  absl::StatusOr<int64_t> Post(const std::string& body, httplib::Client* client,
                               bool* again) const {
    std::string answer;
    httplib::Request request;
    request.method = "POST";
    request.path = options_.endpoint.path;
    request.headers = {{"Content-Type", kMessageType}};
    request.body = body;
    request.content_receiver = [&answer](const char* data, size_t size,
                                         uint64_t, uint64_t) {
      if (answer.size() + size > kMostResponseBytes) return false;
      answer.append(data, size);
      return true;
    };
    const httplib::Result result = client->send(request);
    *again = !result || IsRetryable(result->status);
    if (!result) {
      std::string error = httplib::to_string(result.error());
      if (result.error() == httplib::Error::SSLServerVerification) {
        error += fmt::format(
            ": the collector's certificate for this address is not signed by "
            "{}",
            options_.ca.empty() ? "an authority that the system trusts (give "
                                  "--trace-ca)"
                                : options_.ca);
      }
      return absl::UnavailableError(error);
    }
    if (result->status / 100 != 2) {
      return absl::UnavailableError(
          fmt::format("it answered with status {}", result->status));
    }
    ExportTraceServiceResponse response;
    if (!response.ParseFromString(answer)) return 0;
    return std::max<int64_t>(response.partial_success().rejected_spans(), 0);
  }

  // Waits; returns false if the sender stops meanwhile.
  bool WaitToRetry(absl::Duration time) {
    MutexLock lock(&mutex_);
    const absl::Time end = SteadyNow() + time;
    while (!stopping_ && SteadyNow() < end) WaitLocked(end);
    return !stopping_;
  }

  void WaitLocked(absl::Time until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    changed_.WaitFor(&mutex_, until - SteadyNow());
  }

  void Count(size_t sent, size_t dropped) {
    MutexLock lock(&mutex_);
    being_sent_ = 0;
    CountLocked("sent", sent);
    CountLocked("dropped", dropped);
  }
  void CountLocked(const char* result, size_t spans)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (metrics_ == nullptr) return;
    metrics_->OnTraceSpans(result, static_cast<int64_t>(spans));
  }

  const Options options_;
  const opentelemetry::ResourceSpans process_;
  LogLimit log_limit_;
  Mutex mutex_;
  CondVar changed_;
  Metrics* metrics_ ABSL_GUARDED_BY(mutex_);
  std::deque<Span> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t being_sent_ ABSL_GUARDED_BY(mutex_) = 0;  // spans not counted yet
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<SpanExporter>> SpanExporter::Create(
    const Options& options, Metrics* metrics) {
  auto sender = std::make_shared<Sender>(options, metrics);
  auto thread = StartThread([sender] { sender->Run(); });
  if (!thread) {
    return absl::ResourceExhaustedError(
        "the system cannot start a thread for traces (see ulimit -u and the "
        "cgroup's pids.max)");
  }
  thread->detach();
  return absl::WrapUnique(new SpanExporter(std::move(sender)));
}

SpanExporter::SpanExporter(std::shared_ptr<Sender> sender)
    : sender_(std::move(sender)) {}

SpanExporter::~SpanExporter() { sender_->Stop(); }

void SpanExporter::Add(std::vector<Span> spans) {
  sender_->Add(std::move(spans));
}

}  // namespace trivium
