#ifndef TRIVIUM_TESTS_SUPPORT_TRACE_COLLECTOR_H_
#define TRIVIUM_TESTS_SUPPORT_TRACE_COLLECTOR_H_

#include <httplib.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "opentelemetry/traces.pb.h"

namespace trivium {

// Takes traces as a collector does: OTLP over HTTP on a free port, or over
// HTTPS where there are PEM files of a certificate and its key. Thread-safe.
class TraceCollector {
 public:
  explicit TraceCollector(const std::string& certificate = "",
                          const std::string& key = "")
      : server_(certificate.empty() ? std::make_unique<httplib::Server>()
                                    : std::make_unique<httplib::SSLServer>(
                                          certificate.c_str(), key.c_str())),
        scheme_(certificate.empty() ? "http" : "https") {
    server_->Post("/v1/traces", [this](const httplib::Request& request,
                                       httplib::Response& response) {
      Take(request, &response);
    });
    port_ = server_->bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    // Else stop() does nothing.
    while (!server_->is_running()) std::this_thread::yield();
  }
  ~TraceCollector() {
    {
      MutexLock lock(&mutex_);
      held_ = false;
      changed_.SignalAll();
    }
    server_->stop();
    thread_.join();
  }

  std::string url() const {
    return scheme_ + "://127.0.0.1:" + std::to_string(port_);
  }

  // What the next requests are answered with, one after the other; then 200.
  void AnswerWith(std::vector<int> statuses) {
    MutexLock lock(&mutex_);
    statuses_ = std::move(statuses);
  }
  void Reject(int64_t spans) {
    MutexLock lock(&mutex_);
    rejected_ = spans;
  }
  // Requests are not answered until the end.
  void Hold() {
    MutexLock lock(&mutex_);
    held_ = true;
  }

  // All spans that have come, once there are so many.
  std::vector<opentelemetry::Span> WaitForSpans(size_t count) {
    MutexLock lock(&mutex_);
    while (spans_.size() < count) changed_.Wait(&mutex_);
    return spans_;
  }
  // Of the last request that was taken.
  opentelemetry::ResourceSpans last() const {
    MutexLock lock(&mutex_);
    return last_;
  }
  void WaitForRequests(int count) {
    MutexLock lock(&mutex_);
    while (requests_ < count) changed_.Wait(&mutex_);
  }

 private:
  void Take(const httplib::Request& request, httplib::Response* response) {
    MutexLock lock(&mutex_);
    ++requests_;
    changed_.SignalAll();
    while (held_) changed_.Wait(&mutex_);
    opentelemetry::ExportTraceServiceRequest message;
    if (request.get_header_value("Content-Type") != "application/x-protobuf" ||
        !message.ParseFromString(request.body)) {
      response->status = 400;
      return;
    }
    if (!statuses_.empty()) {
      response->status = statuses_.front();
      statuses_.erase(statuses_.begin());
      return;
    }
    for (const auto& resource : message.resource_spans()) {
      for (const auto& scope : resource.scope_spans()) {
        spans_.insert(spans_.end(), scope.spans().begin(), scope.spans().end());
      }
      last_ = resource;
    }
    opentelemetry::ExportTraceServiceResponse answer;
    if (rejected_ > 0) {
      answer.mutable_partial_success()->set_rejected_spans(rejected_);
    }
    response->set_content(answer.SerializeAsString(), "application/x-protobuf");
    changed_.SignalAll();
  }

  const std::unique_ptr<httplib::Server> server_;
  const std::string scheme_;
  int port_ = 0;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<opentelemetry::Span> spans_ ABSL_GUARDED_BY(mutex_);
  opentelemetry::ResourceSpans last_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> statuses_ ABSL_GUARDED_BY(mutex_);
  int requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t rejected_ ABSL_GUARDED_BY(mutex_) = 0;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// "key=value"; numbers in decimal digits.
inline std::vector<std::string> AttributesOf(
    const google::protobuf::RepeatedPtrField<opentelemetry::KeyValue>& all) {
  std::vector<std::string> out;
  for (const opentelemetry::KeyValue& one : all) {
    out.push_back(one.key() + "=" +
                  (one.value().has_int_value()
                       ? std::to_string(one.value().int_value())
                       : one.value().string_value()));
  }
  return out;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_TRACE_COLLECTOR_H_
