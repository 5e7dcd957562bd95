#include "server/handlers/stream_translation.h"

#include <utility>

#include "base/status.h"
#include "server/handlers/status.h"

namespace trivium {
namespace {

using v1::TranslateStreamRequest;

v1::TranslateStreamResponse ResultMessage(uint64_t id,
                                          v1::TranslateResult result) {
  v1::TranslateStreamResponse message;
  message.set_id(id);
  *message.mutable_result() = std::move(result);
  return message;
}

}  // namespace

StreamTranslation::Outcome StreamTranslation::Read(RequestStream* transport) {
  Outcome outcome;
  TranslateStreamRequest message;
  const absl::Status status = transport->Take(&message);
  if (!status.ok()) {
    if (message.has_item() && translation_) {
      outcome.response = Error(message.item().id(), status);
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
  TRIVIUM_RETURN_IF_ERROR(call_->FindModel(message.start().model()));
  TRIVIUM_ASSIGN_OR_RETURN(
      translation_,
      Translation::Create(call_->environment(), call_->model(),
                          message.start().options(), "start.options",
                          [this] { return call_->Wanted(); }));
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
    outcome.response = Error(in.id(), status);
  } else if (work->input.blank) {
    outcome.response = ResultMessage(in.id(), translation_->BlankResult());
  } else {
    outcome.item = Item{in.id(), *std::move(work)};
  }
  return outcome;
}

v1::TranslateStreamResponse StreamTranslation::Result(
    uint64_t id, const PreparedInput& input, RequestResult result) const {
  v1::TranslateStreamResponse message =
      ResultMessage(id, translation_->Result(input, std::move(result)));
  const absl::Status size =
      CheckResponseSize(message, call_->environment().limits);
  return size.ok() ? message : Error(id, size);
}

v1::TranslateStreamResponse StreamTranslation::Error(
    uint64_t id, const absl::Status& status) {
  v1::TranslateStreamResponse message;
  message.set_id(id);
  message.mutable_error()->set_code(static_cast<int>(status.code()));
  message.mutable_error()->set_message(Shorten(
      {status.message().data(), status.message().size()}, kMaxMessageBytes));
  return message;
}

}  // namespace trivium
