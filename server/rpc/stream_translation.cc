#include "server/rpc/stream_translation.h"

#include <utility>

#include "base/status.h"
#include "server/rpc/status.h"
#include "server/rpc/wire.h"

namespace trivium {
namespace {

using v1::TranslateStreamRequest;

grpc::ByteBuffer ResultMessage(uint64_t id, int64_t max_bytes,
                               v1::TranslateResult result) {
  v1::TranslateStreamResponse message;
  message.set_id(id);
  *message.mutable_result() = std::move(result);
  grpc::ByteBuffer bytes;
  const absl::Status status = SerializeMessage(message, max_bytes, &bytes);
  return status.ok() ? bytes : StreamTranslation::Error(id, status);
}

}  // namespace

StreamTranslation::Outcome StreamTranslation::Read(
    const grpc::ByteBuffer& bytes) {
  Outcome outcome;
  TranslateStreamRequest message;
  const absl::Status status = ParseMessage(
      bytes, call_->environment().limits.max_request_bytes, &message);
  if (!status.ok()) {
    const std::optional<uint64_t> id = FindItemId(bytes);
    if (id && translation_) {
      outcome.answer = Error(*id, status);
    } else {
      outcome.end = status;
    }
  } else if (!translation_) {
    outcome.end = Start(message);
  } else if (!message.has_item()) {
    outcome.end = InvalidField(message.has_start() ? "start" : "message",
                               "every message after the first must be an item");
  } else {
    outcome.text = std::move(*message.mutable_item());
  }
  return outcome;
}

absl::Status StreamTranslation::Start(const TranslateStreamRequest& message) {
  if (!message.has_start()) {
    return InvalidField("start", "the first message must be the start");
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      const ServedModel* model,
      FindModel(call_->environment(), message.start().model()));
  call_->set_model(model);
  TRIVIUM_ASSIGN_OR_RETURN(
      translation_,
      Translation::Create(call_->environment(), *model,
                          message.start().options(), "start.options"));
  return absl::OkStatus();
}

StreamTranslation::Outcome StreamTranslation::Prepare(
    const TranslateStreamRequest::Item& in) {
  const Environment& environment = call_->environment();
  const absl::Time before = environment.clock->Now();
  absl::StatusOr<Translation::Item> work =
      translation_->Prepare(in.input(), "item.input");
  call_->AddTokenizeTime(environment.clock->Now() - before);
  absl::Status status = work.status();
  if (status.ok()) {
    status = CheckResponseBytes(work->response_bytes, environment.limits);
  }
  Outcome outcome;
  if (!status.ok()) {
    outcome.answer = Error(in.id(), status);
  } else if (work->input.blank) {
    outcome.answer =
        ResultMessage(in.id(), INT64_MAX, translation_->BlankResult());
  } else {
    outcome.item = Item{in.id(), *std::move(work)};
  }
  return outcome;
}

grpc::ByteBuffer StreamTranslation::Answer(uint64_t id,
                                           const PreparedInput& input,
                                           RequestResult result) const {
  return ResultMessage(id, call_->environment().limits.max_response_bytes,
                       translation_->Result(input, std::move(result)));
}

grpc::ByteBuffer StreamTranslation::Error(uint64_t id,
                                          const absl::Status& status) {
  v1::TranslateStreamResponse message;
  message.set_id(id);
  message.mutable_error()->set_code(static_cast<int>(status.code()));
  message.mutable_error()->set_message(
      Shorten({status.message().data(), status.message().size()}, 1500));
  grpc::ByteBuffer bytes;
  SerializeMessage(message, INT64_MAX, &bytes).IgnoreError();
  return bytes;
}

}  // namespace trivium
