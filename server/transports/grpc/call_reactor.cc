#include "server/transports/grpc/call_reactor.h"

#include <grpc/support/time.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/exceptions.h"
#include "server/limits/overload_manager.h"
#include "server/limits/priority.h"
#include "server/transports/grpc/grpc_status.h"
#include "server/transports/grpc/relayed_peer.h"
#include "server/transports/grpc/relayed_refusal.h"

namespace trivium {
namespace {

using Context = grpc::CallbackServerContext;

std::string Metadata(const Context& context, std::string_view key) {
  const auto& metadata = context.client_metadata();
  const auto entry = metadata.find({key.data(), key.size()});
  if (entry == metadata.end()) return "";
  return {entry->second.data(), entry->second.size()};
}

// Joins all values of a key with commas.
std::string AllMetadata(const Context& context, std::string_view key) {
  std::string out;
  const auto [begin, end] =
      context.client_metadata().equal_range({key.data(), key.size()});
  for (auto entry = begin; entry != end; ++entry) {
    if (entry != begin) out += ',';
    out.append(entry->second.data(), entry->second.size());
  }
  return out;
}

}  // namespace

CallContext ToCallContext(const Environment& environment,
                          const Context& context) {
  CallContext out;
  out.request_id = Metadata(context, "x-request-id");
  out.traceparent = Metadata(context, "traceparent");
  out.tracestate = AllMetadata(context, "tracestate");
  out.peer = PeerOfRelayed(context.peer());
  out.priority = Metadata(context, kPriorityKey);
  const std::string& client_key = environment.limits.client_key_header;
  if (!client_key.empty()) {
    out.client_key = Metadata(context, client_key);
  }
  Admit(environment.access, Metadata(context, "authorization"), &out);
  if (!absl::SimpleAtoi(Metadata(context, kInTransitField), &out.in_transit)) {
    out.in_transit = 0;
  }
  // By a clock of gRPC's that nobody sets.
  const gpr_timespec deadline = context.raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) != 0) {
    const gpr_timespec left =
        gpr_time_sub(deadline, gpr_now(deadline.clock_type));
    out.deadline = environment.clock->Now() + absl::Seconds(left.tv_sec) +
                   absl::Nanoseconds(left.tv_nsec);
  }
  return out;
}

namespace {

grpc::Status CloseIfMemory(const Environment& environment, const Ending& ending,
                           bool shed, Context* context) {
  Ending told = ending;
  if (shed) told.status = AsShed(std::move(told.status));
  for (auto& [name, value] : TrailersOf(told)) {
    context->AddTrailingMetadata(name, value);
  }
  if (environment.loads != nullptr) {
    if (const auto load =
            environment.loads->ForGrpc(Metadata(*context, kLoadFormatKey))) {
      context->AddTrailingMetadata(load->first, load->second);
    }
  }
  return ToGrpcStatus(told.status, told.request_id);
}

}  // namespace

grpc::Status Close(const Environment& environment, const Ending& ending,
                   bool shed, Context* context) {
  grpc::Status status;
  absl::Status told = CatchExceptions(
      [&] { status = CloseIfMemory(environment, ending, shed, context); });
  if (told.ok()) return status;
  if (!ending.status.ok()) told = ending.status;
  told = CatchExceptions([&] { status = ToGrpcStatus(told, ""); });
  if (told.ok()) return status;
  return {grpc::StatusCode::RESOURCE_EXHAUSTED, ""};
}

}  // namespace trivium
