#include "server/adapters/openai_responses_output.h"

#include <algorithm>
#include <string_view>

#include "server/adapters/answers.h"
#include "server/adapters/json_body.h"

namespace trivium {

using nlohmann::ordered_json;

namespace {

constexpr std::string_view kItemGrowing = "in_progress";
constexpr std::string_view kItemWhole = "completed";
constexpr std::string_view kItemCut = "incomplete";

}  // namespace

void ResponsesEvents::Add(const char* type, const ordered_json& members) {
  ordered_json event = {{"type", type}, {"sequence_number", count_++}};
  event.update(members);
  text_ += ServerSentEvent(type, ToJsonText(event));
}

void ResponsesOutput::Add(const v1::GenerateResponse::Piece& piece) {
  if (!piece.reasoning().empty()) {
    Open(Kind::kReasoning);
    thoughts_ += piece.reasoning();
    AddText(piece.reasoning());
  }
  AddLogprobs(piece);
  if (!piece.text().empty()) {
    Open(Kind::kMessage);
    AddText(piece.text());
  }
  for (const auto& call : piece.tool_calls()) AddCallPiece(call);
}

void ResponsesOutput::Finish(bool complete) {
  // A call that never became whole is cut, whatever ended the answer.
  Close(complete && kind_ != Kind::kCall ? kItemWhole : kItemCut);
  if (answered_ || (!complete && new_logprobs_.empty())) return;
  Open(Kind::kMessage);
  Close(complete ? kItemWhole : kItemCut);
}

void ResponsesOutput::Open(Kind kind) {
  if (kind_ == kind) return;
  Begin(kind);
  id_ = NewAnswerId(kind == Kind::kReasoning ? "rs_" : "msg_");
  ordered_json item = Item(kItemGrowing);
  item["content"] = ordered_json::array();
  Tell("response.output_item.added", {{"item", item}});
  TellContent("response.content_part.added", {{"part", Part()}});
}

void ResponsesOutput::Begin(Kind kind) {
  // A call that something follows went wrong.
  Close(kind_ == Kind::kCall ? kItemCut : kItemWhole);
  kind_ = kind;
}

void ResponsesOutput::OpenCall(
    const v1::GenerateResponse::ToolCallPiece& call) {
  Begin(Kind::kCall);
  id_ = NewAnswerId("fc_");
  // Ids that a model writes may come twice; clients tell calls by theirs.
  const bool taken =
      std::any_of(items_.begin(), items_.end(), [&](const ordered_json& item) {
        return item.value("call_id", "") == call.id();
      });
  call_id_ = call.id().empty() || taken ? NewAnswerId("call_") : call.id();
  name_ = call.name();
  Tell("response.output_item.added", {{"item", Item(kItemGrowing)}});
}

void ResponsesOutput::Close(std::string_view status) {
  switch (kind_) {
    case Kind::kNone:
      return;
    case Kind::kReasoning:
      TellContent("response.reasoning_text.done", {{"text", text_}});
      TellContent("response.content_part.done", {{"part", Part()}});
      break;
    case Kind::kMessage:
      if (!new_logprobs_.empty()) AddText("");
      TellContent("response.output_text.done",
                  {{"text", text_}, {"logprobs", text_logprobs_}});
      TellContent("response.content_part.done", {{"part", Part()}});
      answered_ = true;
      break;
    case Kind::kCall:
      answered_ = true;
      if (status == kItemCut) break;
      Tell("response.function_call_arguments.done",
           {{"item_id", id_}, {"name", name_}, {"arguments", text_}});
      break;
  }
  const ordered_json item = Item(status);
  Tell("response.output_item.done", {{"item", item}});
  items_.push_back(item);
  kind_ = Kind::kNone;
  text_.clear();
  text_logprobs_ = new_logprobs_ = ordered_json::array();
}

void ResponsesOutput::AddText(const std::string& text) {
  text_ += text;
  switch (kind_) {
    case Kind::kReasoning:
      return TellContent("response.reasoning_text.delta", {{"delta", text}});
    case Kind::kMessage:
      TellContent("response.output_text.delta",
                  {{"delta", text}, {"logprobs", new_logprobs_}});
      text_logprobs_.insert(text_logprobs_.end(), new_logprobs_.begin(),
                            new_logprobs_.end());
      new_logprobs_ = ordered_json::array();
      return;
    case Kind::kCall:
      return Tell("response.function_call_arguments.delta",
                  {{"item_id", id_}, {"delta", text}});
    case Kind::kNone:
      return;
  }
}

void ResponsesOutput::AddLogprobs(const v1::GenerateResponse::Piece& piece) {
  if (logprobs_ == nullptr) return;
  const std::vector<v1::TokenLogprobs> tokens(piece.logprobs().begin(),
                                              piece.logprobs().end());
  const ordered_json entries = logprobs_->OfChat(tokens);
  for (const ordered_json& entry : entries["content"]) {
    new_logprobs_.push_back(entry);
  }
}

void ResponsesOutput::AddCallPiece(
    const v1::GenerateResponse::ToolCallPiece& call) {
  if (!call.name().empty()) OpenCall(call);
  if (kind_ != Kind::kCall) return;
  if (!call.arguments().empty()) AddText(call.arguments());
  if (call.complete()) Close(kItemWhole);
}

ordered_json ResponsesOutput::Item(std::string_view status) const {
  if (kind_ == Kind::kCall) {
    return {{"id", id_},        {"type", "function_call"},
            {"status", status}, {"call_id", call_id_},
            {"name", name_},    {"arguments", text_}};
  }
  const ordered_json content = ordered_json::array({Part()});
  if (kind_ == Kind::kReasoning) {
    return {{"id", id_},
            {"type", "reasoning"},
            {"status", status},
            {"summary", ordered_json::array()},
            {"content", content}};
  }
  return {{"id", id_},
          {"type", "message"},
          {"status", status},
          {"role", "assistant"},
          {"content", content}};
}

ordered_json ResponsesOutput::Part() const {
  if (kind_ == Kind::kReasoning) {
    return {{"type", "reasoning_text"}, {"text", text_}};
  }
  return {{"type", "output_text"},
          {"annotations", ordered_json::array()},
          {"logprobs", text_logprobs_},
          {"text", text_}};
}

void ResponsesOutput::Tell(const char* type, ordered_json members) {
  if (events_ == nullptr) return;
  ordered_json all = {{"output_index", items_.size()}};
  all.update(members);
  events_->Add(type, all);
}

void ResponsesOutput::TellContent(const char* type, ordered_json members) {
  if (events_ == nullptr) return;
  ordered_json all = {{"item_id", id_}, {"content_index", 0}};
  all.update(members);
  Tell(type, std::move(all));
}

}  // namespace trivium
