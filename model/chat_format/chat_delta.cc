#include "model/chat_format/chat_delta.h"

#include <utility>

#include "base/utf8.h"

namespace trivium {

void ReadMessage::Add(const ChatDelta& delta) {
  switch (delta.kind) {
    case ChatDelta::Kind::kContent:
      content += delta.text;
      break;
    case ChatDelta::Kind::kReasoning:
      reasoning += delta.text;
      break;
    case ChatDelta::Kind::kCallBegin:
      calls.push_back({.id = delta.id, .name = delta.text});
      break;
    case ChatDelta::Kind::kArguments:
      calls[delta.index].arguments += delta.text;
      break;
    case ChatDelta::Kind::kCallEnd:
      calls[delta.index].complete = true;
      break;
  }
}

void DeltaCollector::Text(ChatDelta::Kind kind, std::string_view text) {
  if (text.empty()) return;
  if (deltas_.empty() || deltas_.back().kind != kind) {
    deltas_.push_back({.kind = kind});
    if (kind == ChatDelta::Kind::kArguments) deltas_.back().index = calls_ - 1;
  }
  deltas_.back().text += text;
}

void DeltaCollector::BeginCall(std::string name, std::string id) {
  deltas_.push_back({.kind = ChatDelta::Kind::kCallBegin,
                     .text = std::move(name),
                     .index = calls_++,
                     .id = std::move(id)});
}

void DeltaCollector::EndCall() {
  deltas_.push_back({.kind = ChatDelta::Kind::kCallEnd, .index = calls_ - 1});
}

std::vector<ChatDelta> DeltaCollector::Take(bool at_end) {
  std::vector<ChatDelta> taken = std::exchange(deltas_, {});
  if (at_end || taken.empty()) return taken;
  ChatDelta& last = taken.back();
  const size_t whole = WholeSize(last.text);
  if (whole == last.text.size()) return taken;
  deltas_.push_back(last);
  deltas_.back().text.erase(0, whole);
  last.text.resize(whole);
  if (whole == 0) taken.pop_back();
  return taken;
}

}  // namespace trivium
