#include "server/adapters/anthropic_blocks.h"

#include <fmt/format.h>

#include <optional>

#include "server/adapters/text_documents.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr char kNoFetching[] =
    "is '{}', and the server fetches and stores no files; send the document's "
    "text as a source of type text";

// Answers here cite nothing.
void RefuseCitations(JsonFields* block) {
  block->Only("citations", {json::array(), json{{"enabled", false}}},
              "is not supported: answers here cite nothing; leave it out");
}

// Reads the members of a block of text but for its type.
std::string ReadText(JsonFields* block) {
  block->Require("text");
  RefuseCitations(block);
  return block->String("text").value_or("");
}

// Reads what a document is made of.
std::string ReadSource(const AnthropicBlock& document,
                       IgnoredMembers* ignored) {
  document.fields->Require("source");
  const json* const value = document.fields->Value("source");
  if (value == nullptr) return "";
  const std::string path = document.path + ".source";
  JsonFields source(*value, path + ".");
  source.Require("type");
  const std::string type = source.String("type").value_or("");
  std::string text;
  if (type == "text") {
    source.Only("media_type", {"text/plain"}, "must be text/plain");
    source.Require("data");
    text = source.String("data").value_or("");
  } else if (type == "content") {
    source.Require("content");
    if (const json* const content = source.Value("content")) {
      text = ReadAnthropicTexts(*content, path + ".content", ignored, &source);
    }
  } else if (type == "base64") {
    source.Only("media_type", {"text/plain"},
                "must be text/plain: models here read texts only");
    source.Require("data");
    text = ReadTextFile("data", &source);
  } else {
    source.Fail("type", fmt::format(kNoFetching, Shorten(type)));
  }
  document.fields->Keep(source.Done());
  return text;
}

void AppendDocumentBlock(const AnthropicBlock& block, IgnoredMembers* ignored,
                         std::string* text) {
  RefuseCitations(block.fields);
  AppendDocument({block.fields->String("title").value_or(""),
                  block.fields->String("context").value_or(""),
                  ReadSource(block, ignored)},
                 text);
}

void AppendSearchResult(const AnthropicBlock& block, IgnoredMembers* ignored,
                        std::string* text) {
  JsonFields* const fields = block.fields;
  for (const char* const name : {"title", "source", "content"}) {
    fields->Require(name);
  }
  RefuseCitations(fields);
  std::string found;
  if (const json* const content = fields->Value("content")) {
    found =
        ReadAnthropicTexts(*content, block.path + ".content", ignored, fields);
  }
  AppendDocument({fields->String("title").value_or(""),
                  fields->String("source").value_or(""), found},
                 text);
}

}  // namespace

void ReadAnthropicBlocks(
    const json& content, const std::string& field, const std::string& pointer,
    JsonFields* fields,
    const std::function<void(const AnthropicBlock& block)>& read) {
  if (!content.is_array()) {
    return fields->Keep(
        InvalidField(field, "must be a text or a list of blocks"));
  }
  for (size_t i = 0; i < content.size() && fields->ok(); ++i) {
    const std::string path = fmt::format("{}[{}]", field, i);
    JsonFields block(content[i], path + ".");
    block.Require("type");
    const auto type = block.String("type");
    if (type) read({*type, &block, path, fmt::format("{}/{}", pointer, i)});
    fields->Keep(block.Done());
  }
}

void FailBlockType(const AnthropicBlock& block, const char* known) {
  block.fields->Fail(
      "type",
      fmt::format(
          "is '{}'{}; blocks may be {} here", Shorten(block.type),
          block.type == "image" ? ", and models here read texts only" : "",
          known));
}

bool AppendAnthropicText(const AnthropicBlock& block, IgnoredMembers* ignored,
                         std::string* text) {
  if (block.type == "text") {
    *text += ReadText(block.fields);
  } else if (block.type == "document") {
    AppendDocumentBlock(block, ignored, text);
  } else if (block.type == "search_result") {
    AppendSearchResult(block, ignored, text);
  } else {
    return false;
  }
  // A hint for the caches of others.
  block.fields->Ignore(kAnthropicShape, ignored, {"cache_control"});
  return true;
}

std::string ReadAnthropicTexts(const json& content, const std::string& field,
                               IgnoredMembers* ignored, JsonFields* fields) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  ReadAnthropicBlocks(
      content, field, "", fields, [&](const AnthropicBlock& block) {
        if (!AppendAnthropicText(block, ignored, &text)) {
          FailBlockType(block, "text, document or search_result");
        }
      });
  return text;
}

}  // namespace trivium
