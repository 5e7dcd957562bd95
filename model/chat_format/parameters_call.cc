#include <utility>

#include "model/chat_format/call_reader.h"
#include "model/chat_format/json_scanner.h"
#include "model/chat_format/text_units.h"

namespace trivium {

namespace {

// NAME name_end (parameter_begin KEY key_end VALUE parameter_end)* call_end
class ParametersCall : public CallReader {
 public:
  ParametersCall(const ToolCallFormat* format,
                 const std::vector<ChatTool>* tools, DeltaCollector* deltas)
      : CallReader(tools, deltas),
        name_end_(Trim(format->name_end)),
        begin_(Trim(format->parameter_begin)),
        string_end_(Trim(format->string_key_end)),
        other_end_(Trim(format->other_key_end)),
        end_(Trim(format->parameter_end)),
        call_end_(Trim(format->call_end)),
        line_before_(format->string_key_end.ends_with('\n')),
        line_behind_(format->parameter_end.starts_with('\n')) {}

  Result Feed(char c) override {
    switch (state_) {
      case State::kName:
        return Name(c);
      case State::kBetween:
        return Between(c);
      case State::kKey:
        return Key(c);
      case State::kValue:
        break;
    }
    return Value(c);
  }

 private:
  enum class State : uint8_t { kName, kBetween, kKey, kValue };

  Result Name(char c) {
    text_.push_back(c);
    if (text_.size() > kMostNameBytes) return Result::kMalformed;
    // Without a mark of its own a name ends where something else begins.
    const std::string& mark = !name_end_.empty()        ? name_end_
                              : text_.ends_with(begin_) ? begin_
                                                        : call_end_;
    if (!text_.ends_with(mark)) return Result::kMore;
    const std::string name(
        Trim(std::string_view(text_).substr(0, text_.size() - mark.size())));
    if (!Tell(name, "")) return Result::kMalformed;
    Arguments("{");
    text_.clear();
    if (!name_end_.empty()) {
      state_ = State::kBetween;
      return Result::kMore;
    }
    return &mark == &begin_ ? BeginKey() : End();
  }

  Result Between(char c) {
    if (text_.empty() && IsSpace(c)) return Result::kMore;
    text_.push_back(c);
    if (text_ == begin_) return BeginKey();
    if (text_ == call_end_) return End();
    return begin_.starts_with(text_) || call_end_.starts_with(text_)
               ? Result::kMore
               : Result::kMalformed;
  }

  Result BeginKey() {
    text_.clear();
    state_ = State::kKey;
    return Result::kMore;
  }

  Result End() {
    Arguments("}");
    return Result::kDone;
  }

  Result Key(char c) {
    text_.push_back(c);
    if (text_.size() > kMostNameBytes) return Result::kMalformed;
    const bool string = text_.ends_with(string_end_);
    if (!string && !text_.ends_with(other_end_)) return Result::kMore;
    text_.resize(text_.size() - (string ? string_end_ : other_end_).size());
    const std::string_view key = Trim(text_);
    if (string_end_ != other_end_) {
      kind_ = string ? BareValue::kString : BareValue::kJsonOrString;
    } else {
      kind_ = BareValueOf(tool(), key);
    }
    std::string json = parameters_++ == 0 ? "\"" : ", \"";
    AppendJsonEscaped(key, &json);
    json += "\": ";
    if (kind_ == BareValue::kString) json.push_back('"');
    Arguments(json);
    text_.clear();
    at_value_begin_ = true;
    state_ = State::kValue;
    return Result::kMore;
  }

  // A line end behind the key's mark or before the end mark is no part of the
  // value, if the template writes one there.
  Result Value(char c) {
    if (std::exchange(at_value_begin_, false) && line_before_ && c == '\n') {
      return Result::kMore;
    }
    text_.push_back(c);
    if (text_.ends_with(end_)) {
      text_.resize(text_.size() - end_.size());
      if (line_behind_ && text_.ends_with('\n')) text_.pop_back();
      std::string json;
      if (kind_ == BareValue::kString) {
        AppendJsonEscaped(text_, &json);
        json.push_back('"');
      } else {
        AppendBareValue(text_, kind_, &json);
      }
      Arguments(json);
      text_.clear();
      state_ = State::kBetween;
      return Result::kMore;
    }
    if (kind_ != BareValue::kString) return Result::kMore;
    size_t held = PartialMark(text_, end_);
    if (line_behind_ && held < text_.size() &&
        text_[text_.size() - held - 1] == '\n') {
      ++held;
    }
    std::string json;
    AppendJsonEscaped(std::string_view(text_).substr(0, text_.size() - held),
                      &json);
    Arguments(json);
    text_.erase(0, text_.size() - held);
    return Result::kMore;
  }

  const std::string name_end_, begin_, string_end_, other_end_, end_, call_end_;
  const bool line_before_, line_behind_;
  State state_ = State::kName;
  std::string text_;
  BareValue kind_ = BareValue::kString;
  bool at_value_begin_ = false;
  int parameters_ = 0;
};

}  // namespace

std::unique_ptr<CallReader> MakeParametersCall(
    const ToolCallFormat* format, const std::vector<ChatTool>* tools,
    DeltaCollector* deltas) {
  return std::make_unique<ParametersCall>(format, tools, deltas);
}

}  // namespace trivium
