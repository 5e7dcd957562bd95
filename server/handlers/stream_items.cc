#include "server/handlers/stream_items.h"

#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/handlers/encode_work.h"
#include "server/handlers/status.h"
#include "server/handlers/translation.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

// Ids come back with results, so they are kept while an item waits.
constexpr size_t kMaxIdBytes = 256;

// What is different of the two calls: how the start says what is wanted, and
// what an item gives; without requests, which only Translating knows, of a
// blank text.
struct Translating {
  using Request = v1::TranslateStreamRequest;
  using Response = v1::TranslateStreamResponse;
  using Work = Translation;

  static absl::StatusOr<Translation> Start(const Request::Start& start,
                                           const Call& call) {
    return Translation::Create(call.environment(), call.model(),
                               start.options(), "start.options",
                               [&call] { return call.Wanted(); });
  }
  static v1::TranslateResult Result(const Translation& work,
                                    const TextParts& text,
                                    std::vector<RequestResult> results) {
    std::vector<v1::TranslateResult> parts;
    for (size_t i = 0; i < results.size(); ++i) {
      parts.push_back(
          work.PartResult(text.parts[i].input, std::move(results[i])));
    }
    return work.Result(text, std::move(parts));
  }
  static void Move(Translation::Item item, StreamItems::Work* work) {
    work->text = std::make_shared<const TextParts>(std::move(item.text));
    work->requests = std::move(item.requests);
  }
};

struct Embedding {
  using Request = v1::EncodeStreamRequest;
  using Response = v1::EncodeStreamResponse;
  using Work = EncodeWork;

  static absl::StatusOr<EncodeWork> Start(const v1::EncodeRequest& start,
                                          const Call& call) {
    if (!start.inputs().empty()) {
      return InvalidField("start.inputs", "are for items; leave them out here");
    }
    return EncodeWork::Create(call.environment(), call.model(), start, "start.",
                              [&call] { return call.Wanted(); });
  }
  static v1::EncodeResult Result(const EncodeWork& work, const TextParts& text,
                                 std::vector<RequestResult> results) {
    return work.Result(text.parts[0].input, std::move(results[0]));
  }
  static void Move(EncodeWork::Item item, StreamItems::Work* work) {
    TextParts text;
    text.parts.emplace_back().input = std::move(item.input);
    work->text = std::make_shared<const TextParts>(std::move(text));
    work->requests.push_back(std::move(item.request));
  }
};

template <typename Kind>
class TypedItems final : public StreamItems {
 public:
  explicit TypedItems(Call* call) : call_(call) {}

  Outcome Read(RequestStream* transport) override {
    Outcome outcome;
    typename Kind::Request message;
    const absl::Status status = transport->Take(&message);
    if (message.item().id().size() > kMaxIdBytes) {
      outcome.end = InvalidField(
          "item.id", fmt::format("has {} bytes; an id has at most {}",
                                 message.item().id().size(), kMaxIdBytes));
    } else if (!status.ok()) {
      if (message.has_item() && work_) {
        outcome.response = Error(message.item().id(), status);
      } else {
        outcome.end = status;
      }
    } else if (!work_) {
      outcome.end = Start(message);
    } else if (!message.has_item()) {
      outcome.end =
          InvalidField(message.has_start() ? "start" : "message",
                       "every message after the first must be an item");
    } else {
      auto* item = message.mutable_item();
      outcome.item = Item{std::move(*item->mutable_id()),
                          std::move(*item->mutable_input())};
    }
    return outcome;
  }

  Outcome Prepare(const Item& in) override {
    const Environment& environment = call_->environment();
    const absl::Time before = environment.clock->Now();
    auto prepared = work_->Prepare(in.input, "item.input");
    call_->AddTokenizeTime(environment.clock->Now() - before);
    absl::Status status = prepared.status();
    if (status.ok()) {
      status = CheckResponseBytes(prepared->response_bytes, environment.limits);
    }
    Outcome outcome;
    if (!status.ok()) {
      outcome.response = Error(in.id, status);
      return outcome;
    }
    Work work;
    work.id = in.id;
    work.response_bytes = prepared->response_bytes;
    Kind::Move(*std::move(prepared), &work);
    if (work.requests.empty()) {
      outcome.response = Result(in.id, *work.text, {});
    } else {
      outcome.work = std::move(work);
    }
    return outcome;
  }

  std::unique_ptr<Message> Result(
      const std::string& id, const TextParts& text,
      std::vector<RequestResult> results) const override {
    std::unique_ptr<Message> message =
        Response(id, Kind::Result(*work_, text, std::move(results)));
    const absl::Status size =
        CheckResponseSize(*message, call_->environment().limits);
    return size.ok() ? std::move(message) : Error(id, size);
  }

  std::unique_ptr<Message> Error(const std::string& id,
                                 const absl::Status& status) const override {
    auto message = std::make_unique<typename Kind::Response>();
    message->set_id(id);
    *message->mutable_error() = ToRpcStatus(status);
    return message;
  }

 private:
  absl::Status Start(const typename Kind::Request& message) {
    if (!message.has_start()) {
      return InvalidField("start", "the first message must be the start");
    }
    TRIVIUM_RETURN_IF_ERROR(call_->FindModel(message.start().model()));
    TRIVIUM_ASSIGN_OR_RETURN(work_, Kind::Start(message.start(), *call_));
    return absl::OkStatus();
  }

  template <typename ResultMessage>
  static std::unique_ptr<Message> Response(const std::string& id,
                                           ResultMessage result) {
    auto message = std::make_unique<typename Kind::Response>();
    message->set_id(id);
    *message->mutable_result() = std::move(result);
    return message;
  }

  Call* const call_;
  std::optional<typename Kind::Work> work_;  // once the start was read
};

}  // namespace

std::unique_ptr<StreamItems> NewTranslateItems(Call* call) {
  return std::make_unique<TypedItems<Translating>>(call);
}

std::unique_ptr<StreamItems> NewEncodeItems(Call* call) {
  return std::make_unique<TypedItems<Embedding>>(call);
}

}  // namespace trivium
