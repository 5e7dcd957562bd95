#include "server/calls/prepared_call.h"

#include <fmt/format.h>

#include <utility>

#include "server/calls/convert/convert.h"

namespace trivium {

void PreparedCall::Start() {
  Advance([this] { Begin(); });
}

void PreparedCall::Begin() {
  if (!call_.admitted().ok()) return Finish(call_.admitted());
  if (absl::Status status = Open(); !status.ok()) return Finish(status);
  if (NeedsBatcher()) {
    if (absl::Status status = call_.CheckAdmission(); !status.ok()) {
      return Finish(status);
    }
  }
  RunNextParts();
}

// Queues one piece of work for the pool: as many parts as fit, at least one.
void PreparedCall::RunNextParts() {
  int64_t bytes = 0;
  int end = prepared_;
  do {
    bytes += TextBytes(end++);
  } while (end < parts() && bytes + TextBytes(end) <= WorkPool::kPieceBytes);
  call_.RunTokenizing(
      bytes, [this, end] { Advance([this, end] { PrepareParts(end); }); });
}

void PreparedCall::PrepareParts(int end) {
  const absl::Time before = environment().clock->Now();
  absl::Status status;
  while (status.ok() && prepared_ < end) {
    status = call_.CheckAlive();
    if (status.ok()) status = Prepare(prepared_++, &requests_);
    if (status.ok()) {
      status = CheckResponseBytes(response_bytes_, environment().limits);
    }
  }
  call_.AddTokenizing(before, environment().clock->Now());
  if (!status.ok()) return Finish(status);
  if (prepared_ < parts()) return RunNextParts();
  if (requests_.empty()) return AnswerAtOnce();
  Submit(std::move(requests_));
}

void PreparedCall::Submit(std::vector<Request> requests) {
  Observe(&requests);
  const bool awaits = awaits_admission();
  const absl::Status status = call_.Submit(
      std::move(requests), [this](int request) { return FieldOf(request); });
  if (!status.ok()) return Finish(status);
  // Once the batcher has accepted the requests, this may be deleted already,
  // unless it waits for this.
  if (awaits) OnAdmitted();
}

std::string PreparedCall::FieldOf(int request) const {
  return fmt::format("inputs[{}]", request);
}

}  // namespace trivium
