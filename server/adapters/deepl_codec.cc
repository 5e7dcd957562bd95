#include "server/adapters/deepl_codec.h"

#include <fmt/format.h>

#include <iterator>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/errors/status.h"
#include "trivium/v1/models.pb.h"

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

// The languages of a glossary, for people; the first ones of many.
std::string PairsOf(const GlossaryStore::Glossary& glossary) {
  constexpr size_t kMostNamed = 8;
  std::string pairs;
  size_t named = 0;
  for (const auto& [languages, terms] : glossary.dictionaries) {
    if (++named > kMostNamed) return pairs + ", ...";
    fmt::format_to(std::back_inserter(pairs), "{}{} to {}",
                   pairs.empty() ? "" : ", ", languages.first,
                   languages.second);
  }
  return pairs.empty() ? "none" : pairs;
}

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

std::string BaseLanguage(std::string_view code) {
  return std::string(WithoutRegion(LowerCode(code)));
}

std::map<std::string, std::set<std::string>> DeeplPairs(
    const google::protobuf::Message& models) {
  std::map<std::string, std::set<std::string>> pairs;
  for (const v1::Model& model :
       static_cast<const v1::ListModelsResponse&>(models).models()) {
    for (const v1::Language& source : model.source_languages()) {
      for (const v1::Language& target : model.target_languages()) {
        if (source.bcp47().empty() || target.bcp47().empty() ||
            source.bcp47() == target.bcp47()) {
          continue;
        }
        pairs[LowerCode(source.bcp47())].insert(LowerCode(target.bcp47()));
      }
    }
  }
  return pairs;
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
  const auto found = glossary->dictionaries.find(
      {BaseLanguage(source_), BaseLanguage(target_)});
  if (found == glossary->dictionaries.end()) {
    return InvalidField(
        "glossary_id",
        fmt::format("has no terms for {} to {}; it has {}", Shorten(source_),
                    Shorten(target_), PairsOf(*glossary)));
  }
  for (const auto& [source, target] : found->second) {
    v1::GlossaryTerm* const term = options->mutable_glossary()->add_terms();
    term->set_source(source);
    term->set_target(target);
  }
  return absl::OkStatus();
}

}  // namespace trivium
