// gpt-oss writes a turn as messages in channels (OpenAI's harmony format,
// https://cookbook.openai.com/articles/openai-harmony):
//
//   <|channel|>analysis<|message|>a thought<|end|>
//   <|start|>assistant<|channel|>commentary to=functions.NAME
//     <|constrain|>json<|message|>{...}<|call|>
//   <|start|>assistant<|channel|>final<|message|>content<|return|>
//
// The first header begins behind the prompt's "<|start|>assistant". A recipient
// may stand before or behind the channel. Templates show one order of several,
// so the form is written down here. A header that is none is content.
#include <cstdint>
#include <string>
#include <string_view>

#include "model/chat_format/answer_reader.h"
#include "model/chat_format/call_reader.h"
#include "model/chat_format/text_units.h"

namespace trivium {

namespace {

constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kFunctions = "to=functions.";
constexpr std::string_view kEnds[] = {"<|end|>", "<|return|>", "<|call|>",
                                      kStart};
constexpr size_t kMostHeaderBytes = 512;

bool AgreesWith(std::string_view text, std::string_view mark) {
  return text.starts_with(mark) || mark.starts_with(text);
}

class HarmonyReader : public AnswerReader {
 public:
  HarmonyReader(const std::vector<ChatTool>* tools, DeltaCollector* deltas)
      : tools_(tools), deltas_(deltas) {}

  bool thinking() const override {
    return state_ == State::kBody && kind_ == ChatDelta::Kind::kReasoning;
  }

  void Feed(char c) override {
    switch (state_) {
      case State::kHeader:
        Header(c);
        return;
      case State::kBody:
        Body(c);
        return;
      case State::kArguments:
        Arguments(c);
        return;
      case State::kBetween:
        Between(c);
    }
  }

  void Finish() override {
    if (state_ == State::kArguments && call_->told()) return;
    if (state_ == State::kArguments) kind_ = ChatDelta::Kind::kContent;
    if (state_ == State::kBetween && Trim(text_).empty()) return;
    if (state_ != State::kBody) kind_ = ChatDelta::Kind::kContent;
    deltas_->Text(kind_, text_);
  }

 private:
  enum class State : uint8_t { kHeader, kBody, kArguments, kBetween };

  // Makes what is held content, and goes on with content.
  void GiveUp() {
    kind_ = ChatDelta::Kind::kContent;
    state_ = State::kBody;
    deltas_->Text(kind_, text_);
    text_.clear();
  }

  void Header(char c) {
    text_.push_back(c);
    if (text_.ends_with(kMessage)) return EndHeader();
    const std::string_view header = TrimStart(text_);
    if (text_.size() > kMostHeaderBytes ||
        !(header.empty() || AgreesWith(header, kStart) ||
          AgreesWith(header, kChannel) || AgreesWith(header, "to=") ||
          AgreesWith(header, "assistant"))) {
      GiveUp();
    }
  }

  void EndHeader() {
    const std::string_view header = text_;
    const size_t channel = header.find(kChannel);
    const size_t to = header.find("to=");
    kind_ = ChatDelta::Kind::kContent;
    state_ = State::kBody;
    if (to == std::string_view::npos) {
      if (channel != std::string_view::npos &&
          TrimStart(header.substr(channel + kChannel.size()))
              .starts_with("analysis")) {
        kind_ = ChatDelta::Kind::kReasoning;
      }
      text_.clear();
      return;
    }
    const std::string_view recipient = header.substr(to);
    const std::string_view name =
        recipient.starts_with(kFunctions)
            ? recipient.substr(
                  kFunctions.size(),
                  recipient.find_first_of(" \n\t<", kFunctions.size()) -
                      kFunctions.size())
            : "";
    if (FindTool(*tools_, name) == nullptr) return GiveUp();
    call_ = MakeArgumentsReader(std::string(name), tools_, deltas_);
    state_ = State::kArguments;
  }

  void Arguments(char c) {
    const bool told = call_->told();
    switch (call_->Feed(c)) {
      case CallReader::Result::kMalformed:
        if (told) text_.clear();
        text_.push_back(c);
        GiveUp();
        return;
      case CallReader::Result::kDone:
        deltas_->EndCall();
        text_.clear();
        state_ = State::kBetween;
        return;
      case CallReader::Result::kMore:
        if (!told) text_.push_back(c);
    }
  }

  // Holds back what may become an end mark, from its `<` on.
  void Body(char c) {
    text_.push_back(c);
    for (const std::string_view end : kEnds) {
      if (text_ == end) return EndMessage(end);
      if (end.starts_with(text_)) return;
    }
    text_.pop_back();
    deltas_->Text(kind_, text_);
    text_.clear();
    if (c == '<') {
      text_ = c;
    } else {
      deltas_->Text(kind_, {&c, 1});
    }
  }

  void EndMessage(std::string_view mark) {
    text_.clear();
    state_ = mark == kStart ? State::kHeader : State::kBetween;
  }

  void Between(char c) {
    if (text_.empty() && IsSpace(c)) return;
    text_.push_back(c);
    for (const std::string_view end : kEnds) {
      if (text_ == end) return EndMessage(end);
      if (end.starts_with(text_)) return;
    }
    if (AgreesWith(text_, kChannel)) {
      if (text_ == kChannel) state_ = State::kHeader;
      return;
    }
    GiveUp();
  }

  const std::vector<ChatTool>* tools_;
  DeltaCollector* deltas_;
  State state_ = State::kHeader;
  ChatDelta::Kind kind_ = ChatDelta::Kind::kContent;  // of the body
  std::string text_;  // held back: the header, or the beginning of a mark
  std::unique_ptr<CallReader> call_;
};

}  // namespace

std::unique_ptr<AnswerReader> MakeHarmonyReader(
    const std::vector<ChatTool>* tools, DeltaCollector* deltas) {
  return std::make_unique<HarmonyReader>(tools, deltas);
}

}  // namespace trivium
