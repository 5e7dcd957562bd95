#ifndef TRIVIUM_MODEL_CHAT_FORMAT_JSON_SCANNER_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_JSON_SCANNER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace trivium {

// Reads one JSON value (RFC 8259) byte by byte and tells where it ends. It
// keeps no text.
class JsonScanner {
 public:
  // Values are nested at most this deep, as base/json.h reads them.
  static constexpr size_t kMostDepth = 64;

  enum class Result : uint8_t {
    kMore,    // the byte was taken; the value goes on
    kLast,    // the byte was taken and is the value's last
    kBehind,  // the byte stands behind the value, a number
    kError,   // no JSON value goes on so
  };
  // Must not be called after the value's end. White space before the value is
  // taken.
  Result Feed(char c);

 private:
  enum class State : uint8_t {
    kValue,      // a value must follow
    kFirstItem,  // behind `[`: a value or `]`
    kFirstKey,   // behind `{`: a key or `}`
    kKey,        // behind `,` of an object
    kColon,      // behind a key
    kComma,      // behind a value of a list or an object
    kString,     // inside a string; key_ if it is a key
    kEscape,     // behind a backslash
    kHex,        // in the digits of \uXXXX
    kLiteral,    // inside true, false or null
    kMinus,
    kZero,
    kInteger,
    kPoint,
    kFraction,
    kExponent,
    kSign,
    kPower,
  };

  Result BeginValue(char c);
  Result EndValue();
  Result Number(char c);

  State state_ = State::kValue;
  bool key_ = false;
  uint8_t hex_digits_ = 0;    // still to come
  std::string_view literal_;  // rest of the literal
  std::string stack_;         // `{` and `[` that are open
};

// Returns the end of the JSON value at the beginning of `text`, white space
// before it included; npos if there is none.
size_t JsonValueSize(std::string_view text);

// Appends `text` as the inside of a JSON string.
void AppendJsonEscaped(std::string_view text, std::string* out);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_JSON_SCANNER_H_
