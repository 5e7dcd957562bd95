// Always:
// - A character of the result is marked as data (kFromData) if it shows a
//   marked character, number, boolean or none. An escape such as "\n" has the
//   mark of its character. Quotes, brackets, commas and ranges are the
//   template's own. Marked text is never read as a special token.
// - AppendText writes a text as it is and an undefined value as nothing. Within
//   a list or dict, AppendRepr quotes the text and writes "Undefined".
// - Each value costs work. Before a text is quoted, there must be room for ten
//   characters for each of its own: an escape has at most ten ("\U0001f600").
// - AppendRepr recurses. The nesting of values is bounded (kMaxValueDepth), so
//   the stack is bounded too.
#include "model/jinja/python_text.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "base/status.h"

namespace trivium::jinja {

namespace {

// Python's str.isprintable for a character that is not ASCII.
bool IsPrintable(char32_t code) {
  switch (u_charType(static_cast<UChar32>(code))) {
    case U_UNASSIGNED:
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_SURROGATE:
    case U_PRIVATE_USE_CHAR:
    case U_SPACE_SEPARATOR:
    case U_LINE_SEPARATOR:
    case U_PARAGRAPH_SEPARATOR:
      return false;
    default:
      return true;
  }
}

void AppendQuoted(TextView value, Text* text) {
  bool single = false;
  bool twice = false;
  for (const char32_t c : value) {
    single |= CodeOf(c) == '\'';
    twice |= CodeOf(c) == '"';
  }
  const char32_t quote = single && !twice ? '"' : '\'';
  text->push_back(quote);
  for (const char32_t c : value) {
    const char32_t code = CodeOf(c);
    const bool from_data = c != code;
    if (code == quote || code == '\\') {
      text->push_back('\\' | (c & kFromData));
      text->push_back(c);
    } else if (code == '\n') {
      AppendAscii("\\n", from_data, text);
    } else if (code == '\r') {
      AppendAscii("\\r", from_data, text);
    } else if (code == '\t') {
      AppendAscii("\\t", from_data, text);
    } else if (code < 0x20 || code == 0x7F ||
               (code > 0x7F && code <= 0xFF && !IsPrintable(code))) {
      AppendAscii(fmt::format("\\x{:02x}", static_cast<uint32_t>(code)),
                  from_data, text);
    } else if (code > 0xFF && !IsPrintable(code)) {
      AppendAscii(code > 0xFFFF
                      ? fmt::format("\\U{:08x}", static_cast<uint32_t>(code))
                      : fmt::format("\\u{:04x}", static_cast<uint32_t>(code)),
                  from_data, text);
    } else {
      text->push_back(c);
    }
  }
  text->push_back(quote);
}

absl::Status AppendItems(Heap& heap, const std::vector<Value>& items,
                         std::string_view open, std::string_view close,
                         Text* text) {
  AppendAscii(open, false, text);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) AppendAscii(", ", false, text);
    TRIVIUM_RETURN_IF_ERROR(AppendRepr(heap, items[i], text));
  }
  AppendAscii(close, false, text);
  return absl::OkStatus();
}

absl::Status AppendDict(Heap& heap, const DictObject& dict, Text* text) {
  text->push_back('{');
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (!first) AppendAscii(", ", false, text);
    first = false;
    TRIVIUM_RETURN_IF_ERROR(AppendRepr(heap, key, text));
    AppendAscii(": ", false, text);
    TRIVIUM_RETURN_IF_ERROR(AppendRepr(heap, value, text));
  }
  text->push_back('}');
  return absl::OkStatus();
}

}  // namespace

std::string RealText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                                 std::chars_format::scientific);
  const std::string_view shortest(buffer,
                                  static_cast<size_t>(end.ptr - buffer));
  const size_t e = shortest.find('e');
  int exponent = 0;
  const size_t digits_of_exponent =
      e + (shortest[e + 1] == '+' ? 2 : 1);  // from_chars accepts no plus
  std::from_chars(shortest.data() + digits_of_exponent,
                  shortest.data() + shortest.size(), exponent);
  const std::string_view sign = shortest[0] == '-' ? "-" : "";
  std::string digits;
  for (const char c : shortest.substr(0, e)) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}{}{}{}e{}{:02d}", sign, digits[0],
                       count > 1 ? "." : "", digits.substr(1),
                       exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) {
    return fmt::format("{}0.{}{}", sign,
                       std::string(static_cast<size_t>(-exponent - 1), '0'),
                       digits);
  }
  if (count <= exponent + 1) {
    digits.append(static_cast<size_t>(exponent + 1 - count), '0');
    return fmt::format("{}{}.0", sign, digits);
  }
  const auto whole = static_cast<size_t>(exponent + 1);
  return fmt::format("{}{}.{}", sign, digits.substr(0, whole),
                     digits.substr(whole));
}

void AppendAscii(std::string_view ascii, bool from_data, Text* text) {
  const char32_t mark = from_data ? kFromData : 0;
  for (const char c : ascii) {
    text->push_back(static_cast<unsigned char>(c) | mark);
  }
}

absl::Status AppendText(Heap& heap, const Value& value, Text* text) {
  if (value.Is(Kind::kUndefined)) return absl::OkStatus();
  if (!value.Is(Kind::kText)) return AppendRepr(heap, value, text);
  TRIVIUM_RETURN_IF_ERROR(heap.Room(text->size() + value.text().size()));
  *text += value.text();
  return absl::OkStatus();
}

absl::StatusOr<Value> TextOf(Heap& heap, const Value& value) {
  if (value.Is(Kind::kText)) return value;
  Text text;
  TRIVIUM_RETURN_IF_ERROR(AppendText(heap, value, &text));
  return heap.NewText(std::move(text));
}

absl::Status AppendRepr(Heap& heap, const Value& value, Text* text) {
  TRIVIUM_RETURN_IF_ERROR(heap.Spend(kStepWork));
  switch (value.kind) {
    case Kind::kUndefined:
      AppendAscii("Undefined", false, text);
      return absl::OkStatus();
    case Kind::kNone:
      AppendAscii("None", value.from_data, text);
      return absl::OkStatus();
    case Kind::kBoolean:
      AppendAscii(value.boolean ? "True" : "False", value.from_data, text);
      return absl::OkStatus();
    case Kind::kInteger:
      AppendAscii(fmt::format("{}", value.integer), value.from_data, text);
      return absl::OkStatus();
    case Kind::kReal:
      AppendAscii(RealText(value.real), value.from_data, text);
      return absl::OkStatus();
    case Kind::kText:
      TRIVIUM_RETURN_IF_ERROR(
          heap.Room(text->size() + 10 * value.text().size()));
      if (value.markup()) AppendAscii("Markup(", false, text);
      AppendQuoted(value.text(), text);
      if (value.markup()) AppendAscii(")", false, text);
      return absl::OkStatus();
    case Kind::kList:
      return AppendItems(heap, value.items(), "[", "]", text);
    case Kind::kTuple:
      return AppendItems(heap, value.items(), "(",
                         value.items().size() == 1 ? ",)" : ")", text);
    case Kind::kRange:
      AppendAscii(value.As<ListObject>().name, false, text);
      return absl::OkStatus();
    case Kind::kView:
      AppendAscii(value.As<ListObject>().name, false, text);
      return AppendItems(heap, value.items(), "([", "])", text);
    case Kind::kDict:
      return AppendDict(heap, value.As<DictObject>(), text);
    case Kind::kNamespace:
    case Kind::kLoop:
    case Kind::kGenerator:
    case Kind::kMacro:
    case Kind::kFunction:
    case Kind::kMethod:
      break;
  }
  return absl::InvalidArgumentError(
      fmt::format("a {} has no text; pass it through a filter or call it",
                  TypeName(value)));
}

}  // namespace trivium::jinja
