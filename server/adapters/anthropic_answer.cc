#include "server/adapters/anthropic_answer.h"

#include <utility>

#include "server/adapters/answers.h"
#include "server/adapters/json_body.h"

namespace trivium {
namespace {

using nlohmann::ordered_json;

// Clients drop or refuse thoughts without a signature.
constexpr char kNoSignature[] = "unsigned";

}  // namespace

std::string AnthropicEvent(const ordered_json& data) {
  return ServerSentEvent(data.at("type").get_ref<const std::string&>(),
                         ToJsonText(data));
}

std::string AnthropicAnswer::Add(const v1::GenerateResponse::Piece& piece) {
  AddText(Kind::kThinking, piece.reasoning());
  AddText(Kind::kText, piece.text());
  for (const auto& call : piece.tool_calls()) AddCall(call);
  return std::exchange(events_, std::string());
}

std::string AnthropicAnswer::End() {
  EndBlock();
  return std::exchange(events_, std::string());
}

void AnthropicAnswer::AddText(Kind kind, const std::string& text) {
  if (text.empty()) return;
  if (open_ != kind) {
    Begin(kind, kind == Kind::kThinking
                    ? ordered_json{{"type", "thinking"},
                                   {"thinking", ""},
                                   {"signature", ""}}
                    : ordered_json{{"type", "text"}, {"text", ""}});
  }
  if (kind != Kind::kThinking || !omits_thoughts_) Append(text);
}

void AnthropicAnswer::AddCall(
    const v1::GenerateResponse::ToolCallPiece& piece) {
  if (open_ != Kind::kToolUse || call_ != piece.index()) {
    calls_ = true;
    call_ = piece.index();
    Begin(Kind::kToolUse,
          {{"type", "tool_use"},
           {"id", piece.id().empty() ? NewAnswerId("toolu_") : piece.id()},
           {"name", piece.name()},
           {"input", ordered_json::object()}});
  }
  if (!piece.arguments().empty()) Append(piece.arguments());
}

void AnthropicAnswer::Begin(Kind kind, ordered_json block) {
  EndBlock();
  open_ = kind;
  ++index_;
  block_ = std::move(block);
  Send({{"type", "content_block_start"},
        {"index", index_},
        {"content_block", block_}});
}

void AnthropicAnswer::Append(const std::string& text) {
  if (!streams_) {
    text_ += text;
    return;
  }
  ordered_json delta;
  switch (open_) {
    case Kind::kThinking:
      delta = {{"type", "thinking_delta"}, {"thinking", text}};
      break;
    case Kind::kToolUse:
      delta = {{"type", "input_json_delta"}, {"partial_json", text}};
      break;
    default:
      delta = {{"type", "text_delta"}, {"text", text}};
  }
  Send({{"type", "content_block_delta"}, {"index", index_}, {"delta", delta}});
}

void AnthropicAnswer::EndBlock() {
  const Kind kind = std::exchange(open_, Kind::kNone);
  if (kind == Kind::kNone) return;
  if (streams_) {
    if (kind == Kind::kThinking) {
      Send({{"type", "content_block_delta"},
            {"index", index_},
            {"delta",
             {{"type", "signature_delta"}, {"signature", kNoSignature}}}});
    }
    return Send({{"type", "content_block_stop"}, {"index", index_}});
  }
  const std::string text = std::exchange(text_, std::string());
  if (kind == Kind::kThinking) {
    block_["thinking"] = text;
    block_["signature"] = kNoSignature;
  } else if (kind == Kind::kText) {
    block_["text"] = text;
  } else {
    ordered_json input =
        ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (input.is_object()) block_["input"] = std::move(input);
  }
  blocks_.push_back(std::move(block_));
}

void AnthropicAnswer::Send(ordered_json event) {
  if (streams_) events_ += AnthropicEvent(event);
}

}  // namespace trivium
