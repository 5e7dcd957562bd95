#include "model/chat_format/call_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/chat_format/json_scanner.h"
#include "model/chat_format/text_units.h"
#include "nlohmann/json.hpp"

namespace trivium {

namespace {

using Form = ToolCallFormat::Form;
using Role = CallMember::Role;

// Returns the size of the longest end of `text` that `mark` begins with.
size_t PartialMark(std::string_view text, std::string_view mark) {
  for (size_t size = std::min(text.size(), mark.size()); size > 0; --size) {
    if (mark.starts_with(text.substr(text.size() - size))) return size;
  }
  return 0;
}

// Returns the string that a JSON text is; nullopt if it is none.
std::optional<std::string> StringOf(std::string_view json) {
  const auto value = nlohmann::json::parse(json, nullptr, /*exceptions=*/false);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

// {"name": NAME, "arguments": {...}} with members in any order, or {NAME:
// {...}}. Other members than the template's make it no call.
class JsonCall : public CallReader {
 public:
  JsonCall(const ToolCallFormat* format, const std::vector<ChatTool>* tools,
           DeltaCollector* deltas)
      : CallReader(tools, deltas), format_(format) {}

  Result Feed(char c) override {
    if (state_ == State::kInValue) return Value(c);
    if (state_ == State::kInKey) return Key(c);
    if (IsSpace(c)) return Result::kMore;
    switch (state_) {
      case State::kOpen:
        if (c != '{') return Result::kMalformed;
        state_ = State::kFirstKey;
        return Result::kMore;
      case State::kComma:
        if (c == '}')
          return has_arguments_ ? Result::kDone : Result::kMalformed;
        if (c != ',') return Result::kMalformed;
        state_ = State::kFirstKey;
        return Result::kMore;
      case State::kFirstKey:
        if (c != '"') return Result::kMalformed;
        BeginText(State::kInKey);
        return Key(c);
      case State::kColon:
        if (c != ':') return Result::kMalformed;
        state_ = State::kValue;
        return Result::kMore;
      default:  // kValue
        return BeginValue(c);
    }
  }

 private:
  enum class State : uint8_t {
    kOpen,
    kFirstKey,
    kInKey,
    kColon,
    kValue,
    kInValue,
    kComma
  };

  void BeginText(State state) {
    scanner_ = JsonScanner();
    text_.clear();
    state_ = state;
  }

  Result Key(char c) {
    text_.push_back(c);
    const JsonScanner::Result result = scanner_.Feed(c);
    if (result == JsonScanner::Result::kError ||
        text_.size() > kMostNameBytes) {
      return Result::kMalformed;
    }
    if (result != JsonScanner::Result::kLast) return Result::kMore;
    const std::optional<std::string> read = StringOf(text_);
    if (!read) return Result::kMalformed;
    const std::string& key = *read;
    state_ = State::kColon;
    if (format_->name_is_key) {
      if (has_arguments_) return Result::kMalformed;
      name_ = key;
      role_ = Role::kArguments;
      return Result::kMore;
    }
    for (const CallMember& member : format_->members) {
      if (member.key != key) continue;
      role_ = member.role;
      return Result::kMore;
    }
    return Result::kMalformed;
  }

  Result BeginValue(char c) {
    BeginText(State::kInValue);
    is_text_ = c == '"';
    if (role_ == Role::kArguments) {
      if (has_arguments_ || (c != '{' && !is_text_)) return Result::kMalformed;
      // A call whose arguments stand before its name is told later.
      if (!is_text_ && !name_.empty() && !Tell(name_, id_)) {
        return Result::kMalformed;
      }
    } else if (c == '{' || c == '[') {
      return Result::kMalformed;
    }
    return Value(c);
  }

  Result Value(char c) {
    const JsonScanner::Result result = scanner_.Feed(c);
    if (result == JsonScanner::Result::kError) return Result::kMalformed;
    if (result != JsonScanner::Result::kBehind) {
      if (told() && role_ == Role::kArguments) {
        Arguments({&c, 1});
      } else {
        text_.push_back(c);
      }
    }
    if (role_ != Role::kArguments && text_.size() > kMostNameBytes) {
      return Result::kMalformed;
    }
    if (result == JsonScanner::Result::kMore) return Result::kMore;
    state_ = State::kComma;
    if (!EndValue()) return Result::kMalformed;
    return result == JsonScanner::Result::kBehind ? Feed(c) : Result::kMore;
  }

  bool EndValue() {
    if (role_ == Role::kArguments) {
      has_arguments_ = true;
      if (told()) return true;
      if (is_text_) {
        std::optional<std::string> value = StringOf(text_);
        if (!value) return false;
        text_ = *std::move(value);
        if (!Trim(text_).starts_with('{') ||
            JsonValueSize(Trim(text_)) != Trim(text_).size()) {
          return false;
        }
      }
      waiting_ = text_;
    } else if (role_ == Role::kName || role_ == Role::kId) {
      std::optional<std::string> value = StringOf(text_);
      if (!value) return role_ == Role::kId;
      (role_ == Role::kName ? name_ : id_) = *std::move(value);
    }
    if (!has_arguments_ || name_.empty() || told()) return true;
    if (!Tell(name_, id_)) return false;
    Arguments(waiting_);
    return true;
  }

  const ToolCallFormat* format_;
  State state_ = State::kOpen;
  JsonScanner scanner_;
  std::string text_;  // of the key or value
  Role role_ = Role::kConstant;
  bool is_text_ = false;  // the value is a string
  bool has_arguments_ = false;
  std::string name_, id_;
  std::string waiting_;  // arguments that came before the name
};

// NAME name_end [ID id_end] {...}
class NamedJsonCall : public CallReader {
 public:
  NamedJsonCall(const ToolCallFormat* format,
                const std::vector<ChatTool>* tools, DeltaCollector* deltas)
      : CallReader(tools, deltas),
        name_end_(Trim(format->name_end)),
        id_end_(Trim(format->id_end)),
        has_id_(format->has_id) {}
  // Begins behind the name.
  NamedJsonCall(std::string name, const std::vector<ChatTool>* tools,
                DeltaCollector* deltas)
      : CallReader(tools, deltas), has_id_(false), state_(State::kOpen) {
    name_ = std::move(name);
  }

  Result Feed(char c) override {
    switch (state_) {
      case State::kName:
        if (name_end_.empty() && c == '{') {
          name_ = Trim(text_);
          state_ = State::kOpen;
          return Open(c);
        }
        if (!Add(c)) return Result::kMalformed;
        if (!name_end_.empty() && text_.ends_with(name_end_)) {
          name_ = TakeText(name_end_.size());
          state_ = id_end_.empty() ? State::kOpen : State::kId;
        }
        return Result::kMore;
      case State::kId:
        if (!Add(c)) return Result::kMalformed;
        if (text_.ends_with(id_end_)) {
          id_ = TakeText(id_end_.size());
          if (!has_id_) id_.clear();
          state_ = State::kOpen;
        }
        return Result::kMore;
      case State::kOpen:
        return Open(c);
      case State::kArguments:
        break;
    }
    const JsonScanner::Result result = scanner_.Feed(c);
    if (result == JsonScanner::Result::kError) return Result::kMalformed;
    Arguments({&c, 1});
    return result == JsonScanner::Result::kLast ? Result::kDone : Result::kMore;
  }

 private:
  enum class State : uint8_t { kName, kId, kOpen, kArguments };

  bool Add(char c) {
    text_.push_back(c);
    return text_.size() <= kMostNameBytes;
  }

  std::string TakeText(size_t mark) {
    text_.resize(text_.size() - mark);
    std::string taken(Trim(text_));
    text_.clear();
    return taken;
  }

  Result Open(char c) {
    if (IsSpace(c)) return Result::kMore;
    if (c != '{' || !Tell(name_, id_)) return Result::kMalformed;
    state_ = State::kArguments;
    return Feed(c);
  }

  const std::string name_end_, id_end_;
  const bool has_id_;
  State state_ = State::kName;
  JsonScanner scanner_;
  std::string text_, name_, id_;
};

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
    if (key.empty()) return Result::kMalformed;
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

bool CallReader::Tell(std::string_view name, std::string id) {
  tool_ = FindTool(*tools_, name);
  if (tool_ == nullptr) return false;
  told_ = true;
  deltas_->BeginCall(tool_->name, std::move(id));
  return true;
}

std::unique_ptr<CallReader> MakeCallReader(const ToolCallFormat* format,
                                           const std::vector<ChatTool>* tools,
                                           DeltaCollector* deltas) {
  switch (format->form) {
    case Form::kNamedJson:
      return std::make_unique<NamedJsonCall>(format, tools, deltas);
    case Form::kParameters:
      return std::make_unique<ParametersCall>(format, tools, deltas);
    case Form::kQuoted:
      return std::make_unique<QuotedCall>(format, tools, deltas);
    default:
      return std::make_unique<JsonCall>(format, tools, deltas);
  }
}

std::unique_ptr<CallReader> MakeArgumentsReader(
    std::string name, const std::vector<ChatTool>* tools,
    DeltaCollector* deltas) {
  return std::make_unique<NamedJsonCall>(std::move(name), tools, deltas);
}

}  // namespace trivium
