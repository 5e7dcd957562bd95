#include "server/adapters/openai_answer.h"

#include <algorithm>
#include <map>

#include "server/adapters/answers.h"

namespace trivium {

using nlohmann::ordered_json;

bool OpenAiAnswer::Begin(const v1::GenerateResponse::ToolCallPiece& piece) {
  if (piece.index() < calls_.size()) return false;
  const bool taken =
      std::any_of(calls_.begin(), calls_.end(),
                  [&piece](const Call& call) { return call.id == piece.id(); });
  Call& call = calls_.emplace_back();
  call.name = piece.name();
  call.id = piece.id().empty() || taken ? NewAnswerId("call_") : piece.id();
  return true;
}

ordered_json OpenAiAnswer::Delta(const v1::GenerateResponse::Piece& piece) {
  ordered_json delta = ordered_json::object();
  if (!piece.reasoning().empty())
    delta["reasoning_content"] = piece.reasoning();
  if (!piece.text().empty()) delta["content"] = piece.text();
  // Clients take two items of one call in a delta for two calls.
  std::map<uint32_t, ordered_json> items;
  for (const auto& part : piece.tool_calls()) {
    const bool begins = Begin(part);
    if (!begins && part.arguments().empty()) continue;
    ordered_json& item = items[part.index()];
    if (begins) {
      const Call& call = calls_.back();
      item = {{"index", part.index()},
              {"id", call.id},
              {"type", "function"},
              {"function", {{"name", call.name}, {"arguments", ""}}}};
    } else if (item.is_null()) {
      item = {{"index", part.index()}, {"function", {{"arguments", ""}}}};
    }
    item["function"]["arguments"].get_ref<std::string&>() += part.arguments();
  }
  for (auto& [index, item] : items) {
    delta["tool_calls"].push_back(std::move(item));
  }
  return delta;
}

void OpenAiAnswer::Add(const v1::GenerateResponse::Piece& piece) {
  content_ += piece.text();
  reasoning_ += piece.reasoning();
  for (const auto& part : piece.tool_calls()) {
    Begin(part);
    calls_[part.index()].arguments += part.arguments();
  }
}

ordered_json OpenAiAnswer::Message() const {
  ordered_json message = {
      {"role", "assistant"}, {"content", content_}, {"refusal", nullptr}};
  if (content_.empty() && calls()) message["content"] = nullptr;
  if (!reasoning_.empty()) message["reasoning_content"] = reasoning_;
  for (const Call& call : calls_) {
    message["tool_calls"].push_back(
        {{"id", call.id},
         {"type", "function"},
         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  return message;
}

}  // namespace trivium
