// JSON documents, such as the texts of programs.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "server/documents/escaped_strings.h"
#include "server/documents/json_scanner.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr size_t kMostPathBytes = 100;

// A step to a value: the last key of an open object, or the index in an array.
struct JsonStep {
  bool in_array;
  std::string key;
  size_t index = 0;
  bool wanted = false;    // the key is one of DocumentOptions::only_keys
  bool metadata = false;  // the key is one of ARB that begins with an @
};

// Decodes what is between the quotes of a string; nullopt if it has half a
// surrogate.
std::optional<std::string> DecodeString(std::string_view raw) {
  const json value = json::parse(fmt::format("\"{}\"", raw), nullptr,
                                 /*allow_exceptions=*/false);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}
std::string DecodePart(std::string_view raw) {
  return DecodeString(raw).value_or(std::string(raw));
}
// Encodes what goes between the quotes. `ascii`: other characters as \u00e4.
std::string EncodeString(std::string_view text, bool ascii) {
  const std::string quoted =
      json(text).dump(-1, ' ', ascii, json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

enum class JsonKind { kJson, kArb };

class JsonReader {
 public:
  JsonReader(JsonKind kind, std::string_view text,
             const DocumentOptions& options, SegmentBuilder* builder)
      : arb_(kind == JsonKind::kArb),
        text_(text),
        language_(absl::StrReplaceAll(options.target_language, {{"-", "_"}})),
        keys_(options.keys),
        only_keys_(options.only_keys.begin(), options.only_keys.end()),
        builder_(builder),
        lines_(text) {}

  void Read(const std::vector<JsonToken>& tokens) {
    for (const JsonToken& token : tokens) {
      if (token.kind != JsonToken::Kind::kOther) {
        ReadString(token);
        continue;
      }
      builder_->Literal(token.raw);
      switch (token.raw.front()) {
        case '{':
        case '[':
          path_.push_back({token.raw.front() == '['});
          break;
        case '}':
        case ']':
          path_.pop_back();
          break;
        case ',':
          ++path_.back().index;
          break;
        default:
          break;
      }
    }
  }

 private:
  void ReadString(const JsonToken& token) {
    const std::string_view raw = token.raw.substr(1, token.raw.size() - 2);
    const std::optional<std::string> value = DecodeString(raw);
    const bool is_key = token.kind == JsonToken::Kind::kKey;
    if (is_key) {
      JsonStep& step = path_.back();
      step.key = value.value_or(std::string(raw));
      step.wanted = only_keys_.contains(step.key);
      step.metadata = arb_ && step.key.starts_with('@');
    } else if (arb_ && path_.size() == 1 && path_[0].key == "@@locale" &&
               !language_.empty()) {
      return builder_->Literal(
          fmt::format("\"{}\"", EncodeString(language_, /*ascii=*/true)));
    }
    if (!value || !(is_key ? keys_ : IsWanted())) {
      return builder_->Literal(token.raw);
    }
    builder_->Literal("\"");
    AddEscapedString(builder_, raw, Place(token), DecodePart);
    builder_->Literal("\"");
  }

  bool IsWanted() const {
    if (std::any_of(path_.begin(), path_.end(),
                    [](const JsonStep& step) { return step.metadata; })) {
      return false;
    }
    return only_keys_.empty() ||
           std::any_of(path_.begin(), path_.end(),
                       [](const JsonStep& step) { return step.wanted; });
  }

  // "line 2 (items[0].title)"
  std::string Place(const JsonToken& token) const {
    std::string where;
    for (const JsonStep& step : path_) {
      // Deep paths are cut, so that all places together stay small.
      if (where.size() > kMostPathBytes) {
        where += "...";
        break;
      }
      if (step.in_array) {
        where += fmt::format("[{}]", step.index);
      } else {
        where +=
            fmt::format("{}{}", where.empty() ? "" : ".", Shorten(step.key));
      }
    }
    return fmt::format(
        "{} ({})",
        lines_.Place(static_cast<size_t>(token.raw.data() - text_.data())),
        where.empty() ? "the value" : where);
  }

  const bool arb_;
  const std::string_view text_;
  const std::string language_;  // of the translation, as ARB writes it
  const bool keys_;
  const absl::flat_hash_set<std::string> only_keys_;
  SegmentBuilder* const builder_;
  const LinePlaces lines_;
  std::vector<JsonStep> path_;
};

absl::StatusOr<std::unique_ptr<Document>> ReadJsonOfKind(
    JsonKind kind, std::string_view data, const DocumentOptions& options) {
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source,
                           DecodeDocument(data, options.encoding));
  std::vector<JsonToken> tokens;
  TRIVIUM_RETURN_IF_ERROR(ScanJson(source.text, &tokens));
  const bool ascii =
      source.text.find("\\u") != source.text.npos &&
      std::all_of(source.text.begin(), source.text.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  SegmentBuilder builder(Joined(
      [ascii](std::string_view text) { return EncodeString(text, ascii); }));
  JsonReader(kind, source.text, options, &builder).Read(tokens);
  return NewTextDocument(std::move(source), std::move(builder));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadJson(
    std::string_view data, const DocumentOptions& options) {
  return ReadJsonOfKind(JsonKind::kJson, data, options);
}

absl::StatusOr<std::unique_ptr<Document>> ReadArb(
    std::string_view data, const DocumentOptions& options) {
  return ReadJsonOfKind(JsonKind::kArb, data, options);
}

}  // namespace trivium
