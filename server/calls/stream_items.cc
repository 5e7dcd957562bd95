// A message goes through Read, then through the `prepare` that Read returned.
// An item with requests then goes through HandleResults, as often as it asks
// for more. Read only parses and counts. All tokenizing is in `prepare`, which
// may run on another thread.
//
// Always:
// - work_ is set by the `prepare` of the start and does not change afterwards.
//   So items share it without a lock.
// - Read looks at an item's id before all else. An error with a good id is the
//   response to this item. With a bad id, without an item or before the start,
//   it ends the stream.
// - An item has its response as soon as TakeRequests returns nothing.
// - A result that is too large becomes an error of its item.
#include "server/calls/stream_items.h"

#include <optional>
#include <utility>

#include "base/status.h"
#include "server/calls/call_translation.h"
#include "server/calls/convert/stream_messages.h"
#include "server/calls/encode_work.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// Each of these two has what is particular to one of the calls: what its start
// says, and how an item becomes requests, in one round or several, and then a
// result. Only Translating has items without requests, which are blank texts.
struct Translating {
  using Message = v1::TranslateStreamRequest;
  using Response = v1::TranslateStreamResponse;
  using Work = CallTranslation;
  using Item = CallTranslation::Job;

  static absl::StatusOr<CallTranslation> Start(const Message::Start& start,
                                               Call* call) {
    TRIVIUM_RETURN_IF_ERROR(call->FindModel(start.model()));
    TRIVIUM_ASSIGN_OR_RETURN(
        CallTranslation translation,
        CallTranslation::Create(
            call, /*named=*/call->models().Names(start.model()),
            start.options(), "start.options", call->alive_check(),
            /*on_model=*/nullptr));
    TRIVIUM_RETURN_IF_ERROR(translation.Compose());
    return translation;
  }
  static int64_t StartBytes(const Message::Start& start) {
    return TextBytes(start.options());
  }
  static auto Prepare(Work& work, const Message::Item& item) {
    return work.Prepare(InputOf(item), "item.input");
  }
  static std::vector<Request> TakeRequests(Item* item) {
    return CallTranslation::NextRound(item);
  }
  static absl::Status HandleResult(const Work& work, RequestResult result,
                                   Item* item) {
    return work.AddResult(std::move(result), item);
  }
  static v1::TranslateResult Result(const Work& work, Item* item) {
    return work.Result(std::move(*item));
  }
};

struct Embedding {
  using Message = v1::EncodeStreamRequest;
  using Response = v1::EncodeStreamResponse;
  using Work = EncodeWork;
  struct Item : EncodeWork::Item {
    Item(EncodeWork::Item item) : EncodeWork::Item(std::move(item)) {}
    std::optional<v1::EncodeResult> result;
  };

  static absl::StatusOr<EncodeWork> Start(const v1::EncodeRequest& start,
                                          Call* call) {
    TRIVIUM_RETURN_IF_ERROR(call->FindModel(ModelName(start)));
    TRIVIUM_RETURN_IF_ERROR(CheckStart(start));
    return EncodeWork::Create(call->environment(), call->model(), start,
                              "start.", call->alive_check());
  }
  static int64_t StartBytes(const v1::EncodeRequest&) { return 0; }
  static auto Prepare(const Work& work, const Message::Item& item) {
    return work.Prepare(InputOf(item), "item.input", ChunksOf(item),
                        "item.chunks");
  }
  static std::vector<Request> TakeRequests(Item* item) {
    std::vector<Request> requests;
    if (!item->result) requests.push_back(std::move(item->request));
    return requests;
  }
  static absl::Status HandleResult(const EncodeWork& work, RequestResult result,
                                   Item* item) {
    TRIVIUM_ASSIGN_OR_RETURN(item->result,
                             work.Result(*item, std::move(result)));
    return absl::OkStatus();
  }
  static v1::EncodeResult Result(const EncodeWork&, Item* item) {
    return *std::move(item->result);
  }
};

template <typename Kind>
class TypedItems final : public StreamItems {
 public:
  explicit TypedItems(Call* call) : call_(call) {}

  Outcome Read(RequestStream* transport) override {
    Outcome outcome;
    typename Kind::Message message;
    const absl::Status status = transport->ParseRequest(&message);
    outcome.message_bytes = static_cast<int64_t>(message.ByteSizeLong());
    const auto* item = FindItem(message);
    if (item != nullptr) outcome.end = CheckItemId(IdOf(*item));
    if (!outcome.end.ok()) return outcome;
    if (!status.ok()) {
      if (item != nullptr && work_) {
        outcome.response = Error(IdOf(*item), status);
      } else {
        outcome.end = status;
      }
    } else if (!work_) {
      const auto* start = FindStart(message);
      outcome.text_bytes = start == nullptr ? 0 : Kind::StartBytes(*start);
      outcome.prepare = [this, message = std::move(message)] {
        Outcome started;
        started.end = Start(message);
        return started;
      };
    } else if (item == nullptr) {
      outcome.end =
          InvalidField(FindStart(message) != nullptr ? "start" : "message",
                       "every message after the first must be an item");
    } else {
      outcome.text_bytes = work_->TextBytes(InputOf(*item));
      outcome.prepare = [this, item = MoveItem(&message)] {
        return Prepare(item);
      };
    }
    return outcome;
  }

  Outcome HandleResults(Work work,
                        std::vector<RequestResult> results) const override {
    for (RequestResult& result : results) {
      const absl::Status status =
          Kind::HandleResult(*work_, std::move(result), &ItemOf(work));
      if (!status.ok()) return Failed(work.id, status);
    }
    work.again = true;
    return Next(std::move(work));
  }

  std::unique_ptr<Message> Error(const std::string& id,
                                 const absl::Status& status) const override {
    return MakeItemError<typename Kind::Response>(id, status);
  }

 private:
  Outcome Prepare(const typename Kind::Message::Item& item) {
    const std::string& id = IdOf(item);
    const Environment& environment = call_->environment();
    const absl::Time before = environment.clock->Now();
    auto prepared = Kind::Prepare(*work_, item);
    call_->AddTokenizing(before, environment.clock->Now());
    absl::Status status = prepared.status();
    if (status.ok()) {
      status = CheckResponseBytes(prepared->response_bytes, environment.limits);
    }
    if (!status.ok()) return Failed(id, status);
    Work work;
    work.id = id;
    work.response_bytes = prepared->response_bytes;
    work.state = std::make_shared<State>(*std::move(prepared));
    return Next(std::move(work));
  }

  struct State final : Work::State {
    explicit State(typename Kind::Item item) : item(std::move(item)) {}
    typename Kind::Item item;
  };
  static typename Kind::Item& ItemOf(const Work& work) {
    return static_cast<State&>(*work.state).item;
  }

  Outcome Failed(const std::string& id, const absl::Status& status) const {
    Outcome outcome;
    outcome.response = Error(id, status);
    return outcome;
  }

  // Returns the item's next requests, or else its response.
  Outcome Next(Work work) const {
    Outcome outcome;
    work.requests = Kind::TakeRequests(&ItemOf(work));
    if (!work.requests.empty()) {
      outcome.work = std::move(work);
      return outcome;
    }
    outcome.response = MakeItemResult<typename Kind::Response>(
        work.id, Kind::Result(*work_, &ItemOf(work)));
    const absl::Status size =
        CheckResponseSize(*outcome.response, call_->environment().limits);
    return size.ok() ? std::move(outcome) : Failed(work.id, size);
  }

  absl::Status Start(const typename Kind::Message& message) {
    const auto* start = FindStart(message);
    if (start == nullptr) {
      return InvalidField("start", "the first message must be the start");
    }
    TRIVIUM_ASSIGN_OR_RETURN(work_, Kind::Start(*start, call_));
    return absl::OkStatus();
  }

  Call* const call_;
  std::optional<typename Kind::Work> work_;  // set by the start
};

}  // namespace

std::unique_ptr<StreamItems> NewTranslateItems(Call* call) {
  return std::make_unique<TypedItems<Translating>>(call);
}

std::unique_ptr<StreamItems> NewEncodeItems(Call* call) {
  return std::make_unique<TypedItems<Embedding>>(call);
}

}  // namespace trivium
