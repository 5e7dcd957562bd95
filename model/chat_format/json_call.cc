#include <optional>
#include <utility>

#include "model/chat_format/call_reader.h"
#include "model/chat_format/json_scanner.h"
#include "model/chat_format/text_units.h"
#include "nlohmann/json.hpp"

namespace trivium {

namespace {

using Role = CallMember::Role;

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

}  // namespace

std::unique_ptr<CallReader> MakeJsonCall(const ToolCallFormat* format,
                                         const std::vector<ChatTool>* tools,
                                         DeltaCollector* deltas) {
  return std::make_unique<JsonCall>(format, tools, deltas);
}

}  // namespace trivium
