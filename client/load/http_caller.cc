// Always:
// - An HttpTransport is gone when Start returns, and its work runs later on a
//   thread of the pool. So work captures copies, and of references only
//   target_, which the caller owns.
// - A transport makes one call, since Do moves done_ away.
// - In Post an abort counts before all else: the call is CANCELLED, whatever
//   has arrived.
// - A failure after `timeout` counts as DEADLINE_EXCEEDED, an earlier one as
//   UNAVAILABLE.
// - Only the body of a response with status 200 reaches the receiver. Any other
//   body is read as Connect's error.
#include <httplib.h>

#include <memory>
#include <utility>
#include <vector>

#include "client/load/caller.h"
#include "client/load/connect_protocol.h"
#include "client/load/http_connections.h"
#include "client/load/requests.h"
#include "fmt/format.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using google::protobuf::Message;

// Settings that all calls to a server share.
struct HttpTarget {
  std::string url;
  absl::Duration timeout;
  httplib::Headers headers;
};

std::string ToJson(const Message& message) {
  std::string text;
  // Cannot fail for the messages that trivium-load sends.
  (void)google::protobuf::util::MessageToJsonString(message, &text);
  return text;
}

// Parses a response. Ignores unknown fields, which a newer server may send.
bool FromJson(const std::string& text, Message* message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  return google::protobuf::util::JsonStringToMessage(text, message, options)
      .ok();
}

void Fail(grpc::StatusCode code, std::string message, CallOutcome* outcome) {
  outcome->code = code;
  outcome->message = std::move(message);
}

using Receiver = std::function<void(const char* bytes, size_t size)>;

// Sends one POST on a worker's connection. Passes the body of a response with
// status 200 to `receive`. Returns false on any other end and sets `outcome` to
// the error.
bool Post(const HttpTarget& target, const std::string& path,
          const std::string& type, const std::string& body,
          const std::stop_token& stop, const Receiver& receive,
          httplib::Client& client, CallOutcome* outcome) {
  const std::stop_callback on_stop(stop, [&client] { client.stop(); });
  std::string error;
  int status = 0;
  httplib::Request request;
  request.method = "POST";
  request.path = path;
  request.headers = target.headers;
  request.headers.emplace("Content-Type", type);
  // A provider instead of request.body: it notices that the call was aborted
  // while there is no connection to close yet.
  request.content_length_ = body.size();
  request.content_provider_ = [&](size_t offset, size_t size,
                                  httplib::DataSink& sink) {
    return !stop.stop_requested() && sink.write(body.data() + offset, size);
  };
  request.response_handler = [&](const httplib::Response& response) {
    status = response.status;
    return true;
  };
  request.content_receiver = [&](const char* bytes, size_t size, uint64_t,
                                 uint64_t) {
    if (status == 200) {
      receive(bytes, size);
    } else {
      error.append(bytes, size);
    }
    return true;
  };
  const absl::Time begun = absl::Now();
  const httplib::Result result = client.send(request);
  if (stop.stop_requested()) {
    Fail(grpc::StatusCode::CANCELLED, "aborted", outcome);
    return false;
  }
  if (!result) {
    const bool late = absl::Now() - begun >= target.timeout;
    Fail(late ? grpc::StatusCode::DEADLINE_EXCEEDED
              : grpc::StatusCode::UNAVAILABLE,
         fmt::format("{}: {}", target.url, httplib::to_string(result.error())),
         outcome);
    return false;
  }
  if (status == 200) return true;
  const grpc::Status failure = ConnectError(status, error);
  Fail(failure.error_code(), failure.error_message(), outcome);
  return false;
}

// RequestMaker's transport for one HTTP call.
class HttpTransport {
 public:
  HttpTransport(const Workload::Options& workload, const HttpTarget& target,
                LoadConnections* connections, std::stop_token stop, Done done)
      : workload_(workload),
        target_(target),
        connections_(connections),
        stop_(std::move(stop)),
        done_(std::move(done)) {}

  template <typename Service, typename Request, typename Response>
  void Unary(UnaryMethod<Service, Request, Response>, Request request) {
    Do([request = std::move(request), &target = target_,
        stop = stop_](httplib::Client& client) {
      CallOutcome outcome;
      std::string body;
      Response response;
      if (Post(target, ConnectPath(*Request::descriptor()), "application/json",
               ToJson(request), stop, AppendTo(&body), client, &outcome)) {
        if (FromJson(body, &response)) {
          Examine(response, &outcome);
        } else {
          Fail(grpc::StatusCode::INTERNAL, NotAnAnswer(target), &outcome);
        }
      }
      return outcome;
    });
  }

  void Generate(v1::GenerateRequest request) {
    Do([request = std::move(request), &target = target_,
        stop = stop_](httplib::Client& client) {
      CallOutcome outcome;
      GenerateProgress progress;
      EnvelopeReader reader;
      bool understood = true;
      const auto take = [&](const std::string& message) {
        v1::GenerateResponse response;
        understood = understood && FromJson(message, &response);
        if (understood) progress.Add(response, &outcome);
      };
      if (Post(
              target, ConnectPath(*request.GetDescriptor()),
              "application/connect+json", Envelope(ToJson(request)), stop,
              [&](const char* bytes, size_t size) {
                reader.Add({bytes, size}, take);
              },
              client, &outcome)) {
        if (!understood) {
          Fail(grpc::StatusCode::INTERNAL, NotAnAnswer(target), &outcome);
        } else if (!reader.status().ok()) {
          Fail(reader.status().error_code(), reader.status().error_message(),
               &outcome);
        }
      }
      return outcome;
    });
  }

  template <typename Method, typename Request>
  void Stream(Method, std::vector<Request>) {
    CallOutcome outcome;
    Fail(grpc::StatusCode::UNIMPLEMENTED,
         "streams of requests are called over gRPC", &outcome);
    done_(std::move(outcome));
  }

  void OpenAiEmbeddings(const std::vector<v1::Input>& inputs) {
    nlohmann::json request = {{"input", nlohmann::json::array()}};
    if (!workload_.model.empty()) request["model"] = workload_.model;
    for (const v1::Input& input : inputs) {
      if (input.has_ids()) {
        request["input"].push_back(input.ids().ids());
      } else {
        request["input"].push_back(input.text());
      }
    }
    Do([body = request.dump(), &target = target_,
        stop = stop_](httplib::Client& client) {
      CallOutcome outcome;
      std::string answer;
      if (Post(target, "/v1/embeddings", "application/json", body, stop,
               AppendTo(&answer), client, &outcome)) {
        const auto json = nlohmann::json::parse(answer, nullptr,
                                                /*allow_exceptions=*/false);
        const auto tokens =
            nlohmann::json::json_pointer("/usage/prompt_tokens");
        if (json.is_object() && json.contains(tokens) &&
            json[tokens].is_number_integer()) {
          outcome.source_tokens = json[tokens].get<int64_t>();
        } else {
          Fail(grpc::StatusCode::INTERNAL, NotAnAnswer(target), &outcome);
        }
      }
      return outcome;
    });
  }

 private:
  static Receiver AppendTo(std::string* body) {
    return
        [body](const char* bytes, size_t size) { body->append(bytes, size); };
  }
  static std::string NotAnAnswer(const HttpTarget& target) {
    return fmt::format("the response of {} is not this call's answer",
                       target.url);
  }

  void Do(LoadConnections::Work work) {
    connections_->Do(std::move(work), std::move(done_));
  }

  const Workload::Options& workload_;
  const HttpTarget& target_;
  LoadConnections* const connections_;
  const std::stop_token stop_;
  Done done_;
};

class HttpCaller : public Caller {
 public:
  HttpCaller(const Workload::Options& workload, HttpTarget target)
      : workload_(workload),
        target_(std::move(target)),
        connections_(target_.url, target_.timeout) {}

  void Start(PlannedCall call, std::stop_token stop, Done done) override {
    HttpTransport transport(workload_, target_, &connections_, std::move(stop),
                            std::move(done));
    RequestMaker(workload_, &transport).Make(call);
  }

 private:
  const Workload::Options& workload_;
  const HttpTarget target_;
  LoadConnections connections_;  // last, since its work uses the other members
};

}  // namespace

absl::StatusOr<std::unique_ptr<Caller>> MakeHttpCaller(
    const Workload::Options& workload, const Client::Options& client,
    const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme) || url.size() == kScheme.size() ||
      url.find_first_of("/?#@", kScheme.size()) != std::string::npos ||
      !httplib::Client(url).is_valid()) {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' is not http://HOST:PORT; HTTP works without TLS only", url));
  }
  HttpTarget target = {url, client.timeout, {}};
  for (const auto& [name, value] : workload.metadata) {
    target.headers.emplace(name, value);
  }
  if (!client.priority.empty()) {
    target.headers.emplace("trivium-priority", client.priority);
  }
  target.headers.emplace("Connect-Protocol-Version", "1");
  target.headers.emplace(
      "Connect-Timeout-Ms",
      fmt::format("{}", absl::ToInt64Milliseconds(client.timeout)));
  return std::make_unique<HttpCaller>(workload, std::move(target));
}

}  // namespace trivium
