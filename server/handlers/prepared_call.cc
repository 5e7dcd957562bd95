#include "server/handlers/prepared_call.h"

#include <fmt/format.h>

#include <utility>

namespace trivium {

void PreparedCall::Start() {
  if (!call_.admitted().ok()) return Finish(call_.admitted());
  if (absl::Status status = Open(); !status.ok()) return Finish(status);
  call_.RunTokenizing(TextBytes(), [this] { PrepareAndSubmit(); });
}

void PreparedCall::PrepareAndSubmit() {
  if (absl::Status status = call_.Wanted(); !status.ok()) return Finish(status);
  const absl::Time before = environment().clock->Now();
  absl::StatusOr<std::vector<Request>> requests = Prepare();
  call_.AddTokenizeTime(environment().clock->Now() - before);
  if (!requests.ok()) return Finish(requests.status());
  if (requests->empty()) return AnswerAtOnce();
  Observe(&*requests);
  const absl::Status status = call_.Submit(
      *std::move(requests), [this](int request) { return FieldOf(request); });
  // Once the batcher has taken the requests, this may be deleted already.
  if (!status.ok()) Finish(status);
}

std::string PreparedCall::FieldOf(int request) const {
  return fmt::format("inputs[{}]", request);
}

}  // namespace trivium
