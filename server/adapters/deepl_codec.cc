#include "server/adapters/deepl_codec.h"

#include <fmt/format.h>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr FieldName kDeeplNames[] = {
    {"inputs", "text"},
    {"options.source_language", "source_lang"},
    {"options.target_language", "target_lang"},
    {"options.glossary", "glossary_id"},
    {"options.format", "tag_handling"},
    {"options.", ""},
    {"entries.terms", "entries"},
    {"start.options.source_language", "source_lang"},
    {"start.options.target_language", "target_lang"},
    {"start.options.glossary", "glossary_id"},
    {"start.options.", ""},
    {"data", "file"},
};

}  // namespace

std::string DeeplMessage(const Ending& ending) {
  return MessageOf(ending, kDeeplNames);
}

HttpAnswer DeeplFailure(const Ending& ending) {
  return {.status = HttpStatusOf(ending.status.code()),
          .body = ToJsonText(ordered_json{{"message", DeeplMessage(ending)}})};
}

std::string UpperCode(std::string_view code) {
  return absl::AsciiStrToUpper(std::string(code));
}
std::string LowerCode(std::string_view code) {
  return absl::AsciiStrToLower(std::string(code));
}
std::string_view WithoutRegion(std::string_view code) {
  return code.substr(0, code.find('-'));
}

std::string OwnerOf(const RequestHead& head) {
  return head.grant == nullptr ? "" : head.grant->rules().name;
}

DeeplCodec::DeeplCodec(const Environment& environment, const RequestHead& head)
    : glossaries_(environment.glossaries),
      ignored_(environment.ignored_members),
      owner_(OwnerOf(head)),
      form_type_(IsForm(head) ? head.header("Content-Type") : "") {}

absl::Status DeeplCodec::Check(const RequestHead& head) {
  if (form_type_.empty()) return Codec::Check(head);
  return CheckFormIsNoPages(head);
}

absl::StatusOr<json> DeeplCodec::ReadBody(std::string_view body) const {
  if (form_type_.empty()) return ReadJsonBody(body);
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<FormField> fields, ReadForm(body));
  json texts = json::array();
  std::vector<FormField> others;
  for (FormField& field : fields) {
    if (field.name == "text" && !field.file_name) {
      texts.push_back(std::move(field.value));
    } else {
      others.push_back(std::move(field));
    }
  }
  TRIVIUM_ASSIGN_OR_RETURN(json value, FormToJson(std::move(others)));
  if (!texts.empty()) value["text"] = std::move(texts);
  return value;
}

void DeeplCodec::ReadLanguages(JsonFields* fields,
                               v1::TranslateOptions* options) {
  fields->Require("target_lang");
  source_ = fields->String("source_lang").value_or("");
  target_ = fields->String("target_lang").value_or("");
  options->set_source_language(source_.empty() ? "auto" : LowerCode(source_));
  options->set_target_language(LowerCode(target_));
}

void DeeplCodec::ReadFormality(JsonFields* fields) {
  fields->Only("formality", {"default", "prefer_more", "prefer_less"},
               "is not supported: no model here can be told; leave it out");
}

absl::Status DeeplCodec::ReadGlossary(JsonFields* fields,
                                      v1::TranslateOptions* options) const {
  const std::string id = fields->String("glossary_id").value_or("");
  if (id.empty()) return absl::OkStatus();
  if (source_.empty()) {
    return InvalidField("source_lang",
                        "is missing; a glossary is for two languages, so "
                        "name both");
  }
  TRIVIUM_ASSIGN_OR_RETURN(const auto glossary, glossaries_->Find(owner_, id));
  if (WithoutRegion(LowerCode(source_)) != glossary->source_language ||
      WithoutRegion(LowerCode(target_)) != glossary->target_language) {
    return InvalidField(
        "glossary_id",
        fmt::format("is for {} to {}, but the call is for {} to {}",
                    glossary->source_language, glossary->target_language,
                    Shorten(source_), Shorten(target_)));
  }
  for (const auto& [source, target] : glossary->terms) {
    v1::GlossaryTerm* const term = options->mutable_glossary()->add_terms();
    term->set_source(source);
    term->set_target(target);
  }
  return absl::OkStatus();
}

}  // namespace trivium
