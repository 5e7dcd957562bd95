// The relay's view of gRPC's protocol over HTTP/2:
// github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
#include "server/transports/grpc/relayed_refusal.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "absl/strings/escaping.h"
#include "server/calls/call.h"
#include "server/errors/status.h"
#include "server/limits/client_id.h"
#include "server/limits/early_refusal.h"
#include "server/limits/priority.h"
#include "server/transports/grpc/grpc_status.h"

namespace trivium {
namespace {

constexpr std::string_view kContentType = "application/grpc";
constexpr size_t kMaxTimeoutDigits = 8;
constexpr absl::Duration kComeBack = absl::Seconds(1);

std::optional<Rpc> FindRpc(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  path.remove_prefix(1);
  for (int i = 0; i < kRpcs; ++i) {
    const Rpc rpc = static_cast<Rpc>(i);
    if (path == RpcMethod(rpc)) return rpc;
  }
  return std::nullopt;
}

// True if a call begins with its only request. The handler of a stream begins
// before anything of it has come.
bool BeginsWithItsRequest(Rpc rpc) {
  return rpc != Rpc::kTranslateStream && rpc != Rpc::kTranslateDocument &&
         rpc != Rpc::kEncodeStream;
}

// Encodes grpc-message: escapes '%' and everything but printable ASCII.
std::string PercentEncoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    }
  }
  return out;
}

// Returns the header block that ends a call. `load_asked` is the format in
// which the call asks for the server's load.
std::string ToBlock(const Environment& environment,
                    const std::string& load_asked, const Ending& ending) {
  const grpc::Status status = ToGrpcStatus(ending.status, ending.request_id);
  HeaderFields fields = {
      {":status", "200"},
      {"content-type", std::string(kContentType)},
      {"grpc-status", fmt::format("{}", static_cast<int>(status.error_code()))},
      {"grpc-message", PercentEncoded(status.error_message())},
  };
  if (!status.error_details().empty()) {
    fields.push_back({"grpc-status-details-bin",
                      absl::Base64Escape(status.error_details())});
  }
  for (auto& [name, value] : TrailersOf(ending)) {
    fields.push_back({std::move(name), std::move(value)});
  }
  if (environment.loads != nullptr) {
    if (const auto load = environment.loads->ForGrpc(load_asked)) {
      fields.push_back({load->first, absl::Base64Escape(load->second)});
    }
  }
  return WriteFields(fields);
}

}  // namespace

std::optional<absl::Duration> ParseTimeout(std::string_view value) {
  if (value.size() < 2 || value.size() > kMaxTimeoutDigits + 1) {
    return std::nullopt;
  }
  const std::string_view digits = value.substr(0, value.size() - 1);
  int64_t number = 0;
  if (digits.find_first_not_of("0123456789") != std::string_view::npos ||
      std::from_chars(digits.data(), digits.data() + digits.size(), number)
              .ec != std::errc()) {
    return std::nullopt;
  }
  switch (value.back()) {
    case 'H':
      return absl::Hours(number);
    case 'M':
      return absl::Minutes(number);
    case 'S':
      return absl::Seconds(number);
    case 'm':
      return absl::Milliseconds(number);
    case 'u':
      return absl::Microseconds(number);
    case 'n':
      return absl::Nanoseconds(number);
    default:
      return std::nullopt;
  }
}

std::string NoRoomRefusal(const Environment& environment) {
  return ToBlock(
      environment, /*load_asked=*/"",
      {WithRetry(absl::ResourceExhaustedError(
                     "the server has no memory for a request of this size now; "
                     "send it again later"),
                 kComeBack),
       ""});
}

Http2Guard::Judgement JudgeRelayed(const Environment& environment,
                                   OpenCalls* open_calls, CallTurns* turns,
                                   const Relay::Origin& origin, bool may_refuse,
                                   HeaderFields* fields) {
  std::erase_if(*fields, [](const HeaderField& field) {
    return field.name == kInTransitField;
  });
  const auto field = [fields](std::string_view name) {
    return std::string(FindField(*fields, name));
  };
  CallContext context;
  context.request_id = field("x-request-id");
  context.traceparent = field("traceparent");
  context.peer = origin.peer;
  context.priority = field(kPriorityKey);
  const std::string& client_key = environment.limits.client_key_header;
  if (!client_key.empty()) context.client_key = field(client_key);
  // The handler counts the call against its token's rate.
  Identify(environment.access, field("authorization"), &context);
  const std::optional<Rpc> rpc = FindRpc(FindField(*fields, ":path"));
  const auto to_block = [&environment, &field](const Ending& ending) {
    return ToBlock(environment, field(kLoadFormatKey), ending);
  };
  Http2Guard::Judgement judgement;
  judgement.client = ClientOf(context);
  judgement.named = !context.client_key.empty();
  auto place = open_calls->Admit(judgement.client);
  if (!place.ok()) {
    judgement.reset = true;
    if (may_refuse) {
      judgement.refusal =
          to_block(rpc ? EndEarly(environment, *rpc, context, place.status())
                       : Ending{place.status(), ""});
    }
    return judgement;
  }
  judgement.place = *std::move(place);
  if (!rpc || FindField(*fields, ":method") != "POST" ||
      !FindField(*fields, "content-type").starts_with(kContentType)) {
    return judgement;
  }
  if (const std::string_view timeout = FindField(*fields, "grpc-timeout");
      !timeout.empty()) {
    const std::optional<absl::Duration> left = ParseTimeout(timeout);
    if (!left) return judgement;
    context.deadline = environment.clock->Now() + *left;
  }
  if (may_refuse) {
    const absl::Status status =
        CheckEarly(environment.batcher, environment.limits, *rpc, context,
                   environment.clock->Now());
    if (!status.ok()) {
      judgement.refusal =
          to_block(EndEarly(environment, *rpc, context, status));
      return judgement;
    }
  }
  if (!context.access.ok()) return judgement;  // its handler refuses it
  judgement.call = TrackCallInTransit(environment.batcher, *rpc, context);
  const CallId id = judgement.call != nullptr ? judgement.call->id()
                                              : environment.batcher->NewCall();
  fields->push_back({std::string(kInTransitField), fmt::format("{}", id)});
  if (BeginsWithItsRequest(*rpc)) {
    judgement.turn = std::make_unique<CallTurns::Turn>(
        turns, id, judgement.client, origin.connection);
  }
  return judgement;
}

}  // namespace trivium
