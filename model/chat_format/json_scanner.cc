#include "model/chat_format/json_scanner.h"

#include <fmt/format.h>

#include "model/chat_format/text_units.h"

namespace trivium {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

JsonScanner::Result JsonScanner::BeginValue(char c) {
  switch (c) {
    case '{':
    case '[':
      if (stack_.size() == kMostDepth) return Result::kError;
      stack_.push_back(c);
      state_ = c == '{' ? State::kFirstKey : State::kFirstItem;
      return Result::kMore;
    case '"':
      key_ = false;
      state_ = State::kString;
      return Result::kMore;
    case 't':
    case 'f':
    case 'n':
      literal_ = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
      state_ = State::kLiteral;
      return Result::kMore;
    case '-':
      state_ = State::kMinus;
      return Result::kMore;
    default:
      if (!IsDigit(c)) return Result::kError;
      state_ = c == '0' ? State::kZero : State::kInteger;
      return Result::kMore;
  }
}

JsonScanner::Result JsonScanner::EndValue() {
  if (stack_.empty()) return Result::kLast;
  state_ = State::kComma;
  return Result::kMore;
}

// https://www.rfc-editor.org/rfc/rfc8259#section-6
JsonScanner::Result JsonScanner::Number(char c) {
  State next = State::kValue;  // none
  switch (state_) {
    case State::kMinus:
      if (IsDigit(c)) next = c == '0' ? State::kZero : State::kInteger;
      break;
    case State::kInteger:
      if (IsDigit(c)) next = State::kInteger;
      [[fallthrough]];
    case State::kZero:
      if (c == '.') next = State::kPoint;
      if (c == 'e' || c == 'E') next = State::kExponent;
      break;
    case State::kFraction:
      if (c == 'e' || c == 'E') next = State::kExponent;
      [[fallthrough]];
    case State::kPoint:
      if (IsDigit(c)) next = State::kFraction;
      break;
    case State::kExponent:
      if (c == '+' || c == '-') next = State::kSign;
      [[fallthrough]];
    default:  // kSign, kPower
      if (IsDigit(c)) next = State::kPower;
  }
  if (next != State::kValue) {
    state_ = next;
    return Result::kMore;
  }
  if (state_ != State::kZero && state_ != State::kInteger &&
      state_ != State::kFraction && state_ != State::kPower) {
    return Result::kError;
  }
  if (stack_.empty()) return Result::kBehind;
  state_ = State::kComma;
  return Feed(c);
}

JsonScanner::Result JsonScanner::Feed(char c) {
  switch (state_) {
    case State::kString:
      if (static_cast<unsigned char>(c) < 0x20) return Result::kError;
      if (c == '\\') state_ = State::kEscape;
      if (c != '"') return Result::kMore;
      if (!key_) return EndValue();
      state_ = State::kColon;
      return Result::kMore;
    case State::kEscape:
      hex_digits_ = 4;
      state_ = c == 'u' ? State::kHex : State::kString;
      return std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos
                 ? Result::kError
                 : Result::kMore;
    case State::kHex:
      if (!IsHexDigit(c)) return Result::kError;
      if (--hex_digits_ == 0) state_ = State::kString;
      return Result::kMore;
    case State::kLiteral:
      if (c != literal_.front()) return Result::kError;
      literal_.remove_prefix(1);
      return literal_.empty() ? EndValue() : Result::kMore;
    case State::kMinus:
    case State::kZero:
    case State::kInteger:
    case State::kPoint:
    case State::kFraction:
    case State::kExponent:
    case State::kSign:
    case State::kPower:
      return Number(c);
    default:
      break;
  }
  if (IsSpace(c)) return Result::kMore;
  switch (state_) {
    case State::kFirstItem:
      if (c == ']') {
        stack_.pop_back();
        return EndValue();
      }
      return BeginValue(c);
    case State::kFirstKey:
      if (c == '}') {
        stack_.pop_back();
        return EndValue();
      }
      [[fallthrough]];
    case State::kKey:
      if (c != '"') return Result::kError;
      key_ = true;
      state_ = State::kString;
      return Result::kMore;
    case State::kColon:
      if (c != ':') return Result::kError;
      state_ = State::kValue;
      return Result::kMore;
    case State::kComma:
      if (c == ',') {
        state_ = stack_.back() == '{' ? State::kKey : State::kValue;
        return Result::kMore;
      }
      if (c != (stack_.back() == '{' ? '}' : ']')) return Result::kError;
      stack_.pop_back();
      return EndValue();
    default:
      return BeginValue(c);
  }
}

size_t JsonValueSize(std::string_view text) {
  JsonScanner scanner;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (scanner.Feed(text[i])) {
      case JsonScanner::Result::kMore:
        break;
      case JsonScanner::Result::kLast:
        return i + 1;
      case JsonScanner::Result::kBehind:
        return i;
      case JsonScanner::Result::kError:
        return std::string_view::npos;
    }
  }
  // A number may end with the text.
  if (scanner.Feed(' ') == JsonScanner::Result::kBehind) return text.size();
  return std::string_view::npos;
}

void AppendJsonEscaped(std::string_view text, std::string* out) {
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c == '\n') {
      *out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      *out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out->push_back(c);
    }
  }
}

}  // namespace trivium
