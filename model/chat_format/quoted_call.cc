#include "model/chat_format/call_reader.h"
#include "model/chat_format/json_scanner.h"
#include "model/chat_format/text_units.h"

namespace trivium {

namespace {

// NAME {KEY:value,...}; a value is quote TEXT quote, a JSON literal or number,
// [value,...] or {KEY:value,...}. A key may be quoted, too.
class QuotedCall : public CallReader {
 public:
  QuotedCall(const ToolCallFormat* format, const std::vector<ChatTool>* tools,
             DeltaCollector* deltas)
      : CallReader(tools, deltas), quote_(format->quote) {}

  Result Feed(char c) override {
    switch (state_) {
      case State::kName:
        if (c != '{') {
          text_.push_back(c);
          return text_.size() > kMostNameBytes ? Result::kMalformed
                                               : Result::kMore;
        }
        if (!Tell(Trim(text_), "")) return Result::kMalformed;
        return Open(c);
      case State::kString:
        return String(c);
      case State::kKey:
        return Key(c);
      case State::kValue:
        return Value(c);
      case State::kComma:
        break;
    }
    return Comma(c);
  }

 private:
  enum class State : uint8_t { kName, kKey, kValue, kString, kComma };

  Result Open(char c) {
    if (stack_.size() == JsonScanner::kMostDepth) return Result::kMalformed;
    stack_.push_back(c);
    text_.clear();
    state_ = c == '{' ? State::kKey : State::kValue;
    first_ = true;
    Arguments({&c, 1});
    return Result::kMore;
  }

  Result Close(char c) {
    if (c != (stack_.back() == '{' ? '}' : ']')) return Result::kMalformed;
    stack_.pop_back();
    Arguments({&c, 1});
    state_ = State::kComma;
    return stack_.empty() ? Result::kDone : Result::kMore;
  }

  Result Comma(char c) {
    if (IsSpace(c)) return Result::kMore;
    if (c != ',') return Close(c);
    Arguments(", ");
    text_.clear();
    first_ = false;
    state_ = stack_.back() == '{' ? State::kKey : State::kValue;
    return Result::kMore;
  }

  Result Key(char c) {
    if (first_ && c == '}' && Trim(text_).empty()) return Close(c);
    if (c != ':') {
      text_.push_back(c);
      return text_.size() > kMostNameBytes ? Result::kMalformed : Result::kMore;
    }
    std::string_view key = Trim(text_);
    if (key.size() >= 2 * quote_.size() && key.starts_with(quote_) &&
        key.ends_with(quote_)) {
      key.remove_prefix(quote_.size());
      key.remove_suffix(quote_.size());
    }
    std::string json = "\"";
    AppendJsonEscaped(key, &json);
    Arguments(json + "\": ");
    text_.clear();
    first_ = false;
    state_ = State::kValue;
    return Result::kMore;
  }

  Result Value(char c) {
    if (text_.empty()) {
      if (IsSpace(c)) return Result::kMore;
      if (c == '{' || c == '[') return Open(c);
      if (c == ']' && first_) return Close(c);
    }
    if (c == ',' || c == '}' || c == ']') {
      std::string_view literal = Trim(text_);
      if (literal == "None") literal = "null";
      if (literal.empty() || literal.front() == '"' ||
          JsonValueSize(literal) != literal.size()) {
        return Result::kMalformed;
      }
      Arguments(literal);
      text_.clear();
      return Comma(c);
    }
    text_.push_back(c);
    if (text_ == quote_) {
      Arguments("\"");
      text_.clear();
      state_ = State::kString;
    }
    // A number or literal is short, unless it is a quote.
    return text_.size() > kMostNameBytes ? Result::kMalformed : Result::kMore;
  }

  Result String(char c) {
    text_.push_back(c);
    const bool ends = text_.ends_with(quote_);
    const size_t held = ends ? quote_.size() : PartialMark(text_, quote_);
    std::string json;
    AppendJsonEscaped(std::string_view(text_).substr(0, text_.size() - held),
                      &json);
    text_.erase(0, text_.size() - held);
    if (ends) {
      json.push_back('"');
      text_.clear();
      state_ = State::kComma;
    }
    Arguments(json);
    return Result::kMore;
  }

  const std::string quote_;
  State state_ = State::kName;
  std::string text_;
  std::string stack_;   // `{` and `[` that are open
  bool first_ = false;  // nothing yet behind the last of them
};

}  // namespace

std::unique_ptr<CallReader> MakeQuotedCall(const ToolCallFormat* format,
                                           const std::vector<ChatTool>* tools,
                                           DeltaCollector* deltas) {
  return std::make_unique<QuotedCall>(format, tools, deltas);
}

}  // namespace trivium
