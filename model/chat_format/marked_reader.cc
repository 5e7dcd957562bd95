// A message is read in modes, each with marks of its own:
//
//   kStart      nothing yet, or only thoughts    thinking, content_begin, calls
//   kThinking   inside of a thought              its end
//   kText       content                          calls
//   kSection    behind section_begin             a call's begin, `[` of a list
//   kList       behind `[`                       a call's begin
//   kCall       inside of a call                 (CallReader)
//   kAfterCall  behind a call                    ends, separators, calls
//
// What always holds:
// - held_ is white space and then the beginning of a mark of the mode. A byte
//   that fits no mark frees the first of them; the rest is read again.
// - lead_ is a mark that counts only if a call follows, else it is content.
// - Until a call is told, lead_ and body_ are all bytes since its begin mark.
//   If it turns out to be none, they are read again as text, save the mark.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "model/chat_format/answer_reader.h"
#include "model/chat_format/call_reader.h"
#include "model/chat_format/text_units.h"

namespace trivium {

namespace {

using Form = ToolCallFormat::Form;

// True if the text is one tag, as special tokens are written.
bool IsTag(std::string_view text) {
  return text.size() > 2 && text.front() == '<' && TextUnits(text).size() == 1;
}

class MarkedReader : public AnswerReader {
 public:
  MarkedReader(const ChatFormat* format, const std::vector<ChatTool>* tools,
               bool thinking, bool calls_first, DeltaCollector* deltas)
      : format_(format->calls()),
        tools_(tools),
        deltas_(deltas),
        mode_(thinking ? Mode::kThinking : Mode::kStart) {
    AddThinkingMarks(*format);
    if (format_.form != Form::kUnknown && !tools_->empty()) AddCallMarks();
    if (calls_first) marks_[static_cast<size_t>(Mode::kText)].clear();
  }

  bool thinking() const override { return mode_ == Mode::kThinking; }

  void Feed(char c) override {
    pending_.push_back(c);
    ReadPending();
  }

  void Finish() override {
    // An unfinished call is text, in which another call may begin.
    while (mode_ == Mode::kCall && !call_->told()) {
      GiveUpCall();
      ReadPending();
    }
    if (mode_ == Mode::kCall || mode_ == Mode::kAfterCall) return;
    if (mode_ == Mode::kThinking) {
      if (!Trim(held_).empty()) EmitReasoning(held_);
    } else if (!(trim_content_ && Trim(held_).empty() && lead_.empty())) {
      EmitContent(std::exchange(lead_, "") + held_);
    }
  }

 private:
  enum class Mode : uint8_t {
    kStart,
    kThinking,
    kText,
    kSection,
    kList,
    kCall,
    kAfterCall
  };
  enum class Action : uint8_t {
    kBeginThinking,
    kEndThinking,
    kDrop,  // a mark that says nothing
    kBeginContent,
    kSection,
    kList,
    kCall,          // the call begins behind the mark
    kCallFromMark,  // the mark is the beginning of the call itself
    kRestart,       // another message begins, if a call follows
    kSeparator,
  };
  struct Mark {
    std::string text;
    Action action;
  };

  void Add(std::initializer_list<Mode> modes, std::string_view mark,
           Action action) {
    const std::string text(Trim(mark));
    if (text.empty()) return;
    for (const Mode mode : modes) {
      marks_[static_cast<size_t>(mode)].push_back({text, action});
    }
  }

  void AddThinkingMarks(const ChatFormat& format) {
    const ThinkingFormat& thinking = format.thinking();
    Add({Mode::kStart}, thinking.begin, Action::kBeginThinking);
    Add({Mode::kThinking}, thinking.end, Action::kEndThinking);
    // Some models close a thought that they never began.
    Add({Mode::kStart}, thinking.end, Action::kDrop);
    Add({Mode::kStart}, format.content_begin(), Action::kBeginContent);
    const std::string& end = format.content_end();
    if (IsTag(end)) {
      Add({Mode::kText, Mode::kAfterCall}, end, Action::kDrop);
    }
  }

  void AddCallMarks() {
    const bool has_begin = !Trim(format_.call_begin).empty();
    const bool has_section = !Trim(format_.section_begin).empty();
    Add({Mode::kStart, Mode::kText, Mode::kAfterCall}, format_.section_begin,
        Action::kSection);
    if (has_begin) {
      Add({Mode::kStart, Mode::kText, Mode::kSection, Mode::kList,
           Mode::kAfterCall},
          format_.call_begin, Action::kCall);
    }
    if (format_.in_list) {
      Add({Mode::kSection}, "[", Action::kList);
      if (!has_section) Add({Mode::kStart}, "[", Action::kList);
      Add({Mode::kList, Mode::kAfterCall}, "{", Action::kCallFromMark);
      Add({Mode::kAfterCall}, ",", Action::kSeparator);
      Add({Mode::kAfterCall}, "]", Action::kDrop);
    } else if (!has_begin && format_.form == Form::kJson) {
      Add({Mode::kSection, Mode::kAfterCall}, "{", Action::kCallFromMark);
      if (!has_section) Add({Mode::kStart}, "{", Action::kCallFromMark);
    } else if (!has_begin && !has_section) {
      // A call is a message that begins with the name of a tool.
      for (const ChatTool& tool : *tools_) {
        marks_[static_cast<size_t>(Mode::kStart)].push_back(
            {tool.name + format_.name_end, Action::kCallFromMark});
      }
      Add({Mode::kText, Mode::kAfterCall}, format_.separator, Action::kRestart);
    }
    Add({Mode::kAfterCall}, format_.call_end, Action::kDrop);
    Add({Mode::kAfterCall}, format_.section_end, Action::kDrop);
    // Gemma's templates write content between the calls and this mark.
    if (IsTag(Trim(format_.section_end))) {
      Add({Mode::kText}, format_.section_end, Action::kDrop);
    }
    Add({Mode::kAfterCall}, format_.separator, Action::kSeparator);
  }

  void ReadPending() {
    for (size_t i = 0; i < pending_.size(); ++i) {
      const char c = pending_[i];
      read_again_.clear();
      if (mode_ == Mode::kCall) {
        CallByte(c);
      } else {
        TextByte(c);
      }
      if (read_again_.empty()) continue;
      pending_.replace(0, i + 1, read_again_);
      i = static_cast<size_t>(-1);
    }
    pending_.clear();
  }

  void TextByte(char c) {
    if (held_.empty()) held_space_ = 0;
    if (held_.size() == held_space_ && IsSpace(c)) {
      held_.push_back(c);
      ++held_space_;
      return;
    }
    held_.push_back(c);
    const size_t space = held_space_;
    const std::string_view text = std::string_view(held_).substr(space);
    for (const Mark& mark : marks_[static_cast<size_t>(mode_)]) {
      if (mark.text == text) return Take(mark, held_.substr(0, space));
    }
    for (const Mark& mark : marks_[static_cast<size_t>(mode_)]) {
      if (mark.text.starts_with(text)) return;
    }
    const std::string freed = held_.substr(0, space + 1);
    read_again_ = held_.substr(space + 1);
    held_.clear();
    if (mode_ == Mode::kThinking) {
      EmitReasoning(freed);
      return;
    }
    mode_ = Mode::kText;
    EmitContent(std::exchange(lead_, "") + freed);
  }

  void Take(const Mark& mark, std::string space) {
    held_.clear();
    switch (mark.action) {
      case Action::kBeginThinking:
        has_reasoning_ = false;
        mode_ = Mode::kThinking;
        break;
      case Action::kEndThinking:
        mode_ = Mode::kStart;
        trim_content_ = true;
        break;
      case Action::kDrop:
        trim_content_ = true;
        lead_.clear();
        break;
      case Action::kBeginContent:
        trim_content_ = true;
        mode_ = Mode::kText;
        break;
      case Action::kSection:
      case Action::kList:
        lead_ += space + mark.text;
        mode_ = mark.action == Action::kList ? Mode::kList : Mode::kSection;
        break;
      case Action::kSeparator:
        lead_ = space + mark.text;
        break;
      case Action::kRestart:
        lead_ = space + mark.text;
        mode_ = Mode::kStart;
        break;
      case Action::kCall:
      case Action::kCallFromMark:
        lead_ += space;
        body_.clear();
        if (mark.action == Action::kCall) {
          lead_ += mark.text;
          call_mark_ = 0;
        } else {
          read_again_ = mark.text;
          call_mark_ = mark.text.size();
        }
        call_ = MakeCallReader(&format_, tools_, deltas_);
        mode_ = Mode::kCall;
        break;
    }
  }

  void CallByte(char c) {
    const bool told = call_->told();
    const CallReader::Result result = call_->Feed(c);
    if (result == CallReader::Result::kMalformed) {
      if (told) {
        mode_ = Mode::kText;
        read_again_ = c;
      } else {
        body_.push_back(c);
        GiveUpCall();
      }
      return;
    }
    if (!call_->told()) body_.push_back(c);
    if (!told && call_->told()) {
      lead_.clear();
      body_.clear();
    }
    if (result == CallReader::Result::kDone) {
      deltas_->EndCall();
      mode_ = Mode::kAfterCall;
    }
  }

  // Makes the mark content, and reads the rest again.
  void GiveUpCall() {
    mode_ = Mode::kText;
    const size_t mark = std::min(call_mark_, body_.size());
    EmitContent(std::exchange(lead_, "") + body_.substr(0, mark));
    read_again_ = body_.substr(mark);
    body_.clear();
    if (pending_.empty()) pending_ = std::exchange(read_again_, "");
  }

  void EmitContent(std::string_view text) {
    if (trim_content_ && !has_content_) text = TrimStart(text);
    has_content_ |= !text.empty();
    deltas_->Text(ChatDelta::Kind::kContent, text);
  }

  void EmitReasoning(std::string_view text) {
    if (!has_reasoning_) text = TrimStart(text);
    has_reasoning_ |= !text.empty();
    deltas_->Text(ChatDelta::Kind::kReasoning, text);
  }

  const ToolCallFormat& format_;
  const std::vector<ChatTool>* tools_;
  DeltaCollector* deltas_;
  std::vector<Mark> marks_[7];  // by mode
  Mode mode_;
  std::string pending_;     // bytes to be read
  std::string read_again_;  // bytes to be read before the rest of pending_
  std::string held_, lead_, body_;
  size_t held_space_ = 0;  // bytes of white space that held_ begins with
  size_t call_mark_ = 0;   // bytes of body_ that are the begin mark
  std::unique_ptr<CallReader> call_;
  bool has_content_ = false;
  bool has_reasoning_ = false;
  bool trim_content_ = false;  // white space before the content is dropped
};

}  // namespace

std::unique_ptr<AnswerReader> MakeMarkedReader(
    const ChatFormat* format, const std::vector<ChatTool>* tools, bool thinking,
    bool calls_first, DeltaCollector* deltas) {
  return std::make_unique<MarkedReader>(format, tools, thinking, calls_first,
                                        deltas);
}

}  // namespace trivium
