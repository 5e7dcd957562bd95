// The body of a unary call is the message alone, and the HTTP status is that of
// the error. A stream is a row of envelopes:
//
//   flags (1 byte), length (4 bytes, big-endian), message
//
// The last one has kEndOfStream in its flags. Its message is JSON: the
// metadata, and the error if there is one, since the HTTP status of a stream is
// 200 however it ends.
#include "server/adapters/connect.h"

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <string>

#include "absl/strings/escaping.h"
#include "base/status.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/calls/convert/message_checks.h"
#include "server/errors/rpc_status.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::ordered_json;

constexpr size_t kEnvelopeBytes = 5;  // flags, and a big-endian length
constexpr char kCompressed = 1;
constexpr char kEndOfStream = 2;

ordered_json ErrorOf(const Ending& ending) {
  ordered_json error = {
      {"code", std::string(ConnectCodeOf(ending.status.code()))},
      {"message", MessageOf(ending)}};
  const google::rpc::Status status = ToRpcStatus(ending.status);
  for (const auto& detail : status.details()) {
    // Connect wants the type without its host and the value without padding.
    const std::string& url = detail.type_url();
    std::string value;
    absl::Base64Escape(detail.value(), &value);
    value.erase(value.find_last_not_of('=') + 1);
    error["details"].push_back(
        {{"type", url.substr(url.rfind('/') + 1)}, {"value", value}});
  }
  return error;
}

absl::Status CheckVersion(const RequestHead& head) {
  const std::string version = head.header("Connect-Protocol-Version");
  if (version.empty() || version == "1") return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "Connect-Protocol-Version is '{}'; this server speaks version 1",
      version));
}

// Reads and writes messages as JSON or bytes, as the content type says:
// `prefix` and json or proto.
class MessageText {
 public:
  MessageText(const char* prefix, const Environment& environment)
      : prefix_(prefix), environment_(environment) {}

  absl::Status Check(const RequestHead& head) {
    type_ = TypeOf(head);
    json_ = type_ == std::string(prefix_) + "json";
    if (json_ || type_ == std::string(prefix_) + "proto") {
      return CheckVersion(head);
    }
    return absl::UnimplementedError(
        fmt::format("Content-Type is '{}'; send {}json or {}proto", type_,
                    prefix_, prefix_));
  }
  const std::string& type() const { return type_; }

  absl::Status Read(std::string_view body, Message* request) const {
    const std::string bytes(body);
    if (!json_) {
      google::protobuf::io::ArrayInputStream stream(
          body.data(), static_cast<int>(body.size()));
      TRIVIUM_RETURN_IF_ERROR(
          CheckFieldCount(&stream, *request->GetDescriptor(),
                          environment_.limits.max_request_bytes));
      if (request->ParseFromString(bytes)) return absl::OkStatus();
      return WhyNoMessage(bytes, *request->GetDescriptor());
    }
    TRIVIUM_RETURN_IF_ERROR(CheckJsonBody(body));
    const auto status =
        google::protobuf::util::JsonStringToMessage(bytes, request);
    if (status.ok()) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format(
        "the body is not a {} in JSON: {}",
        request->GetDescriptor()->full_name(), status.message().ToString()));
  }

  std::string Write(const Message& message) const {
    if (!json_) return message.SerializeAsString();
    std::string text;
    const auto status =
        google::protobuf::util::MessageToJsonString(message, &text);
    return status.ok() ? text : "{}";
  }

 private:
  const char* const prefix_;
  const Environment& environment_;
  std::string type_;
  bool json_ = true;
};

class ConnectCodec : public Codec {
 public:
  explicit ConnectCodec(const Environment& environment)
      : text_("application/", environment) {}

  absl::Status Check(const RequestHead& head) override {
    return text_.Check(head);
  }
  absl::Status Read(std::string_view body, Message* request) override {
    return text_.Read(body, request);
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    HttpAnswer answer;
    if (ending.status.ok()) {
      answer.type = text_.type();
      if (last != nullptr) answer.body = text_.Write(*last);
    } else {
      answer.status = HttpStatusOf(ending.status.code());
      answer.body = ToJsonText(ErrorOf(ending));
    }
    return answer;
  }

 private:
  MessageText text_;
};

class ConnectStreamCodec : public Codec {
 public:
  explicit ConnectStreamCodec(const Environment& environment)
      : text_("application/connect+", environment) {}

  absl::Status Check(const RequestHead& head) override {
    TRIVIUM_RETURN_IF_ERROR(text_.Check(head));
    const std::string encoding = head.header("Connect-Content-Encoding");
    if (encoding.empty() || encoding == "identity") return absl::OkStatus();
    return absl::UnimplementedError(
        fmt::format("Connect-Content-Encoding is '{}'; send messages that are "
                    "not compressed",
                    Shorten(encoding)));
  }
  absl::Status Read(std::string_view body, Message* request) override {
    uint32_t length = 0;
    for (size_t i = 1; i < std::min(kEnvelopeBytes, body.size()); ++i) {
      length = length << 8 | static_cast<uint8_t>(body[i]);
    }
    if (body.size() < kEnvelopeBytes ||
        length != body.size() - kEnvelopeBytes) {
      return absl::InvalidArgumentError(
          fmt::format("the body has {} bytes and is not one enveloped message",
                      body.size()));
    }
    if ((body[0] & kCompressed) != 0) {
      return absl::UnimplementedError(
          "the message is compressed; send one that is not");
    }
    return text_.Read(body.substr(kEnvelopeBytes), request);
  }
  bool streams() const override { return true; }
  std::string stream_type() const override { return text_.type(); }
  std::string Write(const Message& response) override {
    return Envelope(0, text_.Write(response));
  }
  // The HTTP status of a stream is 200, however it ends.
  int StatusOf(absl::StatusCode code) const override {
    return IsConnects() ? 200 : HttpStatusOf(code);
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    HttpAnswer answer;
    answer.status = StatusOf(ending.status.code());
    if (!IsConnects()) {
      answer.body = ToJsonText(ErrorOf(ending));
      return answer;
    }
    answer.type = text_.type();
    answer.body = EndStream(ending, last);
    return answer;
  }
  std::string EndStream(const Ending& ending, const Message* last) override {
    ordered_json end = ordered_json::object();
    if (!ending.status.ok()) end["error"] = ErrorOf(ending);
    end["metadata"] = {{"x-request-id", {ending.request_id}}};
    return (last != nullptr ? Write(*last) : "") +
           Envelope(kEndOfStream, ToJsonText(end));
  }

 private:
  static std::string Envelope(char flags, const std::string& message) {
    std::string bytes(1, flags);
    const auto size = static_cast<uint32_t>(message.size());
    for (const int shift : {24, 16, 8, 0}) {
      bytes += static_cast<char>(size >> shift & 0xff);
    }
    return bytes + message;
  }

  bool IsConnects() const {
    return text_.type().starts_with("application/connect+");
  }

  MessageText text_;
};

}  // namespace

std::unique_ptr<Codec> NewConnectCodec(const Environment& environment,
                                       const RequestHead&) {
  return std::make_unique<ConnectCodec>(environment);
}

std::unique_ptr<Codec> NewConnectStreamCodec(const Environment& environment,
                                             const RequestHead&) {
  return std::make_unique<ConnectStreamCodec>(environment);
}

}  // namespace trivium
