#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/jinja/json_text.h"
#include "model/jinja/python_text.h"

namespace trivium::jinja {

namespace {

class Writer {
 public:
  Writer(Heap& heap, const JsonStyle& style) : heap_(heap), style_(style) {}

  absl::Status Append(const Value& value, size_t level) {
    TRIVIUM_RETURN_IF_ERROR(heap_.Spend(kStepWork));
    TRIVIUM_RETURN_IF_ERROR(heap_.Room(text_.size() - spent_));
    spent_ = text_.size();
    switch (value.kind) {
      case Kind::kNone:
        AppendAscii("null", value.from_data, &text_);
        return absl::OkStatus();
      case Kind::kBoolean:
      case Kind::kInteger:
      case Kind::kReal:
        AppendAscii(Number(value), value.from_data, &text_);
        return absl::OkStatus();
      case Kind::kText:
        AppendString(value.text());
        return absl::OkStatus();
      case Kind::kList:
      case Kind::kTuple:
        return AppendList(value.items(), level);
      case Kind::kDict:
        return AppendDict(value.As<DictObject>(), level);
      default:
        return absl::InvalidArgumentError(
            fmt::format("a {} cannot be written as JSON", TypeName(value)));
    }
  }

  Text Take() { return std::move(text_); }

 private:
  static std::string Number(const Value& value) {
    if (value.Is(Kind::kBoolean)) return value.boolean ? "true" : "false";
    if (value.Is(Kind::kInteger)) return fmt::format("{}", value.integer);
    if (std::isnan(value.real)) return "NaN";
    if (std::isinf(value.real))
      return value.real > 0 ? "Infinity" : "-Infinity";
    return RealText(value.real);
  }

  void AppendString(TextView value) {
    text_.push_back('"');
    for (const char32_t c : value) {
      const char32_t code = CodeOf(c);
      const bool from_data = c != code;
      switch (code) {
        case '"':
        case '\\':
          text_.push_back('\\' | (c & kFromData));
          text_.push_back(c);
          break;
        case '\n':
          AppendAscii("\\n", from_data, &text_);
          break;
        case '\r':
          AppendAscii("\\r", from_data, &text_);
          break;
        case '\t':
          AppendAscii("\\t", from_data, &text_);
          break;
        case '\b':
          AppendAscii("\\b", from_data, &text_);
          break;
        case '\f':
          AppendAscii("\\f", from_data, &text_);
          break;
        default:
          if (code < 0x20 || (style_.ascii && code > 0x7E && code != 0x7F)) {
            AppendEscape(code, from_data);
          } else {
            text_.push_back(c);
          }
      }
    }
    text_.push_back('"');
  }

  void AppendEscape(char32_t code, bool from_data) {
    const auto unit = [&](uint32_t value) {
      AppendAscii(fmt::format("\\u{:04x}", value), from_data, &text_);
    };
    if (code > 0xFFFF) {  // UTF-16's two surrogates
      unit(0xD800 + ((code - 0x10000) >> 10));
      unit(0xDC00 + ((code - 0x10000) & 0x3FF));
    } else {
      unit(code);
    }
  }

  // Writes the line break before an item or the closing bracket.
  void BreakLine(size_t level) {
    if (!style_.indent.has_value()) return;
    text_.push_back('\n');
    for (size_t i = 0; i < level; ++i) text_ += *style_.indent;
  }

  absl::Status AppendList(const std::vector<Value>& items, size_t level) {
    text_.push_back('[');
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text_ += style_.item_separator;
      BreakLine(level + 1);
      TRIVIUM_RETURN_IF_ERROR(Append(items[i], level + 1));
    }
    if (!items.empty()) BreakLine(level);
    text_.push_back(']');
    return absl::OkStatus();
  }

  absl::Status AppendDict(const DictObject& dict, size_t level) {
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      entries.clear();
      for (const uint32_t i : dict.sorted) entries.push_back(&dict.entries[i]);
    }
    text_.push_back('{');
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) text_ += style_.item_separator;
      BreakLine(level + 1);
      TRIVIUM_RETURN_IF_ERROR(AppendKey(entries[i]->first));
      text_ += style_.key_separator;
      TRIVIUM_RETURN_IF_ERROR(Append(entries[i]->second, level + 1));
    }
    if (!entries.empty()) BreakLine(level);
    text_.push_back('}');
    return absl::OkStatus();
  }

  absl::Status AppendKey(const Value& key) {
    if (key.Is(Kind::kText)) {
      AppendString(key.text());
      return absl::OkStatus();
    }
    text_.push_back('"');
    TRIVIUM_RETURN_IF_ERROR(Append(key, 0));
    text_.push_back('"');
    return absl::OkStatus();
  }

  Heap& heap_;
  const JsonStyle& style_;
  Text text_;
  size_t spent_ = 0;
};

}  // namespace

absl::StatusOr<Value> ToJson(Heap& heap, const Value& value,
                             const JsonStyle& style) {
  Writer writer(heap, style);
  TRIVIUM_RETURN_IF_ERROR(writer.Append(value, 0));
  return heap.NewText(writer.Take());
}

}  // namespace trivium::jinja
