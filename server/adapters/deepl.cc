// DeepL writes languages in capitals ("EN-US"), and expects them so. An option
// that changes DeepL's answers and cannot change ours is an error that names
// it; members that change nothing are accepted by a list.
#include "server/adapters/deepl.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/status.h"
#include "base/utf8.h"
#include "server/adapters/deepl_codec.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/language_name.h"
#include "server/calls/glossary_store.h"
#include "server/errors/status.h"
#include "server/translation/pipeline/terminology.h"
#include "server/translation/pipeline/translation_options.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr char kTypeOfTerms[] = "text/tab-separated-values; charset=utf-8";
constexpr size_t kMostGlossaryName = 1024;
// DeepL's clients read a limit; no user reaches this one.
constexpr int64_t kNoLimit = 1'000'000'000'000;

// Languages that models translate from and to, in lower case.
std::map<std::string, std::set<std::string>> PairsOf(const Message* last) {
  std::map<std::string, std::set<std::string>> pairs;
  for (const v1::Model& model :
       static_cast<const v1::ListModelsResponse*>(last)->models()) {
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

// Reads a flag, which is "1" or "0" in forms.
bool Flag(JsonFields* fields, const char* name) {
  const json* const value = fields->Value(name);
  if (value == nullptr || *value == false || *value == "0") return false;
  if (*value != true && *value != "1")
    fields->Fail(name, "must be true or false");
  return true;
}

class TranslateCodec final : public DeeplCodec {
 public:
  using DeeplCodec::DeeplCodec;

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadBody(body));
    auto* const request = static_cast<v1::TranslateRequest*>(message);
    v1::TranslateOptions* const options = request->mutable_options();
    JsonFields fields(value, "");
    fields.Require("text");
    for (std::string& text : fields.Strings("text")) {
      request->add_inputs()->set_text(std::move(text));
    }
    ReadLanguages(&fields, options);
    counts_ = Flag(&fields, "show_billed_characters");
    if (counts_) {
      for (const v1::Input& input : request->inputs()) {
        characters_.push_back(CountCharacters(input.text()));
      }
    }
    ReadTags(&fields, options);
    ReadSplit(&fields, options);
    ReadFormality(&fields);
    fields.Only("context", {""},
                "is not supported: each text is translated by itself; leave it "
                "out");
    for (const char* const name : {"style_id", "translation_memory_id",
                                   "translation_memory_threshold"}) {
      fields.Only(name, {""}, "is not supported; leave it out");
    }
    fields.Only("custom_instructions", {json::array()},
                "is not supported; leave it out");
    // They cannot change an answer here. A token is read of the head alone; a
    // request that needs one and has none there does not come so far.
    fields.Ignore("DeepL", ignored(),
                  {"preserve_formatting", "model_type", "enable_beta_languages",
                   "tag_handling_version", "auth_key"});
    TRIVIUM_RETURN_IF_ERROR(ReadGlossary(&fields, options));
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return DeeplFailure(ending);
    ordered_json translations = ordered_json::array();
    size_t i = 0;
    for (const v1::TranslateResult& result :
         static_cast<const v1::TranslateResponse*>(last)->results()) {
      ordered_json one = {
          {"detected_source_language", SourceOf(result)},
          {"text",
           result.hypotheses().empty() ? "" : result.hypotheses(0).text()}};
      if (counts_) one["billed_characters"] = characters_[i];
      translations.push_back(std::move(one));
      ++i;
    }
    return {.body = ToJsonText(
                ordered_json{{"translations", std::move(translations)}})};
  }

 private:
  static void ReadTags(JsonFields* fields, v1::TranslateOptions* options) {
    const std::string tags = fields->String("tag_handling").value_or("");
    if (tags == "html") {
      options->set_format(v1::TEXT_FORMAT_HTML);
    } else if (tags == "xml") {
      options->set_format(v1::TEXT_FORMAT_XML);
    } else if (!tags.empty()) {
      fields->Fail("tag_handling", "is neither xml nor html");
    }
    fields->Only("outline_detection", {true, "1"},
                 "is not supported: the structure of tags is always found; "
                 "leave it out");
    for (const char* const name :
         {"splitting_tags", "non_splitting_tags", "ignore_tags"}) {
      fields->Only(name, {json::array(), ""},
                   "is not supported; leave it out, or mark what must stay "
                   "with translate=\"no\"");
    }
  }

  static void ReadSplit(JsonFields* fields, v1::TranslateOptions* options) {
    const json* const split = fields->Value("split_sentences");
    if (split == nullptr || *split == "1" || *split == true) return;
    if (*split == "0" || *split == false) {
      options->set_split(v1::SPLIT_NONE);
    } else if (*split != "nonewlines" ||
               options->format() == v1::TEXT_FORMAT_UNSPECIFIED) {
      // White space of HTML and XML breaks no line.
      fields->Fail("split_sentences",
                   "must be \"0\" or \"1\", or with tag_handling "
                   "\"nonewlines\"");
    }
  }

  // The language that a text was translated from.
  std::string SourceOf(const v1::TranslateResult& result) const {
    if (!source().empty()) return UpperCode(WithoutRegion(source()));
    if (!result.route().empty()) {
      return UpperCode(WithoutRegion(result.route(0).source_language()));
    }
    return result.detected_languages().empty()
               ? UpperCode(WithoutRegion(target()))
               : UpperCode(
                     WithoutRegion(result.detected_languages(0).language()));
  }

  bool counts_ = false;
  std::vector<size_t> characters_;  // [inputs] if counts_
};

class LanguagesCodec final : public Codec {
 public:
  explicit LanguagesCodec(const RequestHead& head) {
    for (const auto& [name, value] : head.query()) {
      if (name == "type") type_ = value;
    }
  }

  absl::Status Read(std::string_view, Message*) override {
    if (type_ == "source" || type_ == "target") return absl::OkStatus();
    return InvalidField("type", "is neither source nor target");
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return DeeplFailure(ending);
    std::set<std::string> codes;
    for (const auto& [source, targets] : PairsOf(last)) {
      if (type_ == "source") {
        codes.insert(source);
      } else {
        codes.insert(targets.begin(), targets.end());
      }
    }
    ordered_json languages = ordered_json::array();
    for (const std::string& code : codes) {
      ordered_json one = {{"language", UpperCode(code)},
                          {"name", LanguageName(code)}};
      if (type_ == "target") one["supports_formality"] = false;
      languages.push_back(std::move(one));
    }
    return {.body = ToJsonText(languages)};
  }

 private:
  std::string type_ = "source";
};

class UsageCodec final : public Codec {
 public:
  absl::Status Read(std::string_view, Message*) override {
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message*) override {
    if (!ending.status.ok()) return DeeplFailure(ending);
    return {.body = ToJsonText(ordered_json{{"character_count", 0},
                                            {"character_limit", kNoLimit}})};
  }
};

class GlossaryPairsCodec final : public Codec {
 public:
  absl::Status Read(std::string_view, Message*) override {
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return DeeplFailure(ending);
    ordered_json pairs = ordered_json::array();
    for (const auto& [source, targets] : PairsOf(last)) {
      for (const std::string& target : targets) {
        pairs.push_back({{"source_lang", source}, {"target_lang", target}});
      }
    }
    return {.body = ToJsonText(
                ordered_json{{"supported_languages", std::move(pairs)}})};
  }
};

using Terms = std::vector<std::pair<std::string, std::string>>;

// Reads a field of a row of CSV (RFC 4180) and leaves the rest of the row.
std::string NextCsvField(std::string_view* row) {
  std::string field;
  if (!row->starts_with('"')) {
    const size_t end = std::min(row->find(','), row->size());
    field = row->substr(0, end);
    row->remove_prefix(std::min(end + 1, row->size()));
    return field;
  }
  size_t at = 1;
  for (; at < row->size(); ++at) {
    if ((*row)[at] != '"') {
      field += (*row)[at];
    } else if (row->substr(at, 2) == "\"\"") {
      field += '"';
      ++at;
    } else {
      break;
    }
  }
  at = std::min(row->find(',', std::min(at, row->size())), row->size());
  row->remove_prefix(std::min(at + 1, row->size()));
  return field;
}

// Reads the rows of a glossary: a term and its translation. In CSV the two
// languages may follow.
absl::StatusOr<Terms> ReadTerms(std::string_view entries, bool csv) {
  Terms terms;
  int number = 0;
  while (!entries.empty()) {
    const size_t end = std::min(entries.find('\n'), entries.size());
    std::string_view row = entries.substr(0, end);
    entries.remove_prefix(std::min(end + 1, entries.size()));
    ++number;
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty()) continue;
    std::string source, target;
    if (csv) {
      source = NextCsvField(&row);
      target = NextCsvField(&row);
    } else {
      const size_t tab = std::min(row.find('\t'), row.size());
      source = row.substr(0, tab);
      target = row.substr(std::min(tab + 1, row.size()));
    }
    if (source.empty() || target.empty() || target.find('\t') != target.npos) {
      return InvalidField(
          "entries",
          fmt::format("row {} is not a term and its translation, with a {} "
                      "between them",
                      number, csv ? "comma" : "tab"));
    }
    terms.emplace_back(std::move(source), std::move(target));
  }
  return terms;
}

class GlossariesCodec final : public DeeplCodec {
 public:
  GlossariesCodec(const Environment& environment, const RequestHead& head)
      : DeeplCodec(environment, head), method_(head.method) {
    constexpr std::string_view kPrefix = kDeeplGlossary;
    constexpr std::string_view kEntries = "/entries";
    if (!head.path.starts_with(kPrefix)) return;
    id_ = head.path.substr(kPrefix.size());
    entries_ = id_.ends_with(kEntries);
    if (entries_) id_.resize(id_.size() - kEntries.size());
  }

  absl::Status Read(std::string_view body, Message*) override {
    return method_ == "POST" ? ReadNew(body) : absl::OkStatus();
  }

  // Only a call that its token allows comes here with OK.
  HttpAnswer Finish(const Ending& ending, const Message*) override {
    if (!ending.status.ok()) return DeeplFailure(ending);
    absl::StatusOr<HttpAnswer> answer = method_ == "POST"     ? Create()
                                        : id_.empty()         ? List()
                                        : method_ == "DELETE" ? Remove()
                                                              : Tell();
    return answer.ok() ? *std::move(answer)
                       : DeeplFailure({answer.status(), ending.request_id});
  }

 private:
  static ordered_json About(const GlossaryStore::Glossary& glossary) {
    return {{"glossary_id", glossary.id},
            {"name", glossary.name},
            {"ready", true},
            {"source_lang", glossary.source_language},
            {"target_lang", glossary.target_language},
            {"creation_time",
             absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", glossary.created,
                              absl::UTCTimeZone())},
            {"entry_count", glossary.terms.size()}};
  }

  absl::Status ReadNew(std::string_view body) {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadBody(body));
    JsonFields fields(value, "");
    for (const char* const name :
         {"name", "source_lang", "target_lang", "entries"}) {
      fields.Require(name);
    }
    new_.name = fields.String("name").value_or("");
    if (new_.name.size() > kMostGlossaryName) {
      fields.Fail("name",
                  fmt::format("is longer than {} bytes", kMostGlossaryName));
    }
    new_.source_language =
        WithoutRegion(LowerCode(fields.String("source_lang").value_or("")));
    new_.target_language =
        WithoutRegion(LowerCode(fields.String("target_lang").value_or("")));
    const std::string entries = fields.String("entries").value_or("");
    const std::string format = fields.String("entries_format").value_or("tsv");
    if (format != "tsv" && format != "csv") {
      fields.Fail("entries_format", "is neither tsv nor csv");
    }
    TRIVIUM_RETURN_IF_ERROR(fields.Done());
    TRIVIUM_ASSIGN_OR_RETURN(new_.terms, ReadTerms(entries, format == "csv"));
    GlossaryOptions options;
    for (const auto& [source, target] : new_.terms) {
      options.terms.push_back({.source = source, .target = target});
    }
    return CheckTerms(options, "entries");
  }

  absl::StatusOr<HttpAnswer> Create() {
    TRIVIUM_ASSIGN_OR_RETURN(const auto kept,
                             glossaries().Add(owner(), std::move(new_)));
    return HttpAnswer{.status = 201, .body = ToJsonText(About(*kept))};
  }

  absl::StatusOr<HttpAnswer> List() const {
    ordered_json all = ordered_json::array();
    for (const auto& glossary : glossaries().List(owner())) {
      all.push_back(About(*glossary));
    }
    return HttpAnswer{
        .body = ToJsonText(ordered_json{{"glossaries", std::move(all)}})};
  }

  absl::StatusOr<HttpAnswer> Remove() const {
    TRIVIUM_RETURN_IF_ERROR(glossaries().Remove(owner(), id_));
    return HttpAnswer{.status = 204};
  }

  absl::StatusOr<HttpAnswer> Tell() const {
    TRIVIUM_ASSIGN_OR_RETURN(const auto glossary,
                             glossaries().Find(owner(), id_));
    if (!entries_) return HttpAnswer{.body = ToJsonText(About(*glossary))};
    HttpAnswer answer = {.type = kTypeOfTerms};
    for (const auto& [source, target] : glossary->terms) {
      answer.body += source + "\t" + target + "\n";
    }
    return answer;
  }

  const std::string method_;
  std::string id_;  // empty: all glossaries
  bool entries_ = false;
  GlossaryStore::Glossary new_;  // of a POST
};

}  // namespace

std::unique_ptr<Codec> NewDeeplTranslateCodec(const Environment& environment,
                                              const RequestHead& head) {
  return std::make_unique<TranslateCodec>(environment, head);
}
std::unique_ptr<Codec> NewDeeplLanguagesCodec(const Environment&,
                                              const RequestHead& head) {
  return std::make_unique<LanguagesCodec>(head);
}
std::unique_ptr<Codec> NewDeeplUsageCodec(const Environment&,
                                          const RequestHead&) {
  return std::make_unique<UsageCodec>();
}
std::unique_ptr<Codec> NewDeeplGlossariesCodec(const Environment& environment,
                                               const RequestHead& head) {
  return std::make_unique<GlossariesCodec>(environment, head);
}
std::unique_ptr<Codec> NewDeeplGlossaryPairsCodec(const Environment&,
                                                  const RequestHead&) {
  return std::make_unique<GlossaryPairsCodec>();
}

}  // namespace trivium
