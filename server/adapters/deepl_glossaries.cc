// Glossaries, which DeepL has in two forms: those of /v2 have one pair of
// languages, those of /v3 a dictionary for each of several. All are kept in one
// store. /v2 shows those that have one dictionary.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/status.h"
#include "server/adapters/deepl.h"
#include "server/adapters/deepl_codec.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/calls/glossary_store.h"
#include "server/errors/status.h"
#include "server/translation/pipeline/terminology.h"
#include "server/translation/pipeline/translation_options.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

using Glossary = GlossaryStore::Glossary;
using Languages = GlossaryStore::Languages;
using Terms = GlossaryStore::Terms;

constexpr char kTypeOfTerms[] = "text/tab-separated-values; charset=utf-8";
constexpr size_t kMostGlossaryName = 1024;

class GlossaryPairsCodec final : public Codec {
 public:
  absl::Status Read(std::string_view, Message*) override {
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return DeeplFailure(ending);
    ordered_json pairs = ordered_json::array();
    for (const auto& [source, targets] : DeeplPairs(*last)) {
      for (const std::string& target : targets) {
        pairs.push_back({{"source_lang", source}, {"target_lang", target}});
      }
    }
    return {.body = ToJsonText(
                ordered_json{{"supported_languages", std::move(pairs)}})};
  }
};

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

absl::Status CheckTerms(const Terms& terms, const std::string& path) {
  GlossaryOptions options;
  for (const auto& [source, target] : terms) {
    options.terms.push_back({.source = source, .target = target});
  }
  return CheckTerms(options, path);
}

// Reads the rows of a dictionary: a term and its translation. In CSV the two
// languages may follow. `path` names the rows in errors.
absl::StatusOr<Terms> ReadTerms(std::string_view entries, bool csv,
                                const std::string& path) {
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
          path,
          fmt::format("row {} is not a term and its translation, with a {} "
                      "between them",
                      number, csv ? "comma" : "tab"));
    }
    terms.emplace_back(std::move(source), std::move(target));
  }
  TRIVIUM_RETURN_IF_ERROR(CheckTerms(terms, path));
  return terms;
}

// Writes terms as rows with tabs.
std::string RowsOf(const Terms& terms) {
  std::string rows;
  for (const auto& [source, target] : terms) {
    rows += source + "\t" + target + "\n";
  }
  return rows;
}

std::string TimeOf(const Glossary& glossary) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", glossary.created,
                          absl::UTCTimeZone());
}

// A dictionary of a request.
struct Dictionary {
  Languages languages;
  Terms terms;
};

std::string ReadName(JsonFields* fields) {
  std::string name = fields->String("name").value_or("");
  if (name.size() > kMostGlossaryName) {
    fields->Fail("name",
                 fmt::format("is longer than {} bytes", kMostGlossaryName));
  }
  return name;
}

// Reads source_lang and target_lang, which both are there.
Languages ReadPair(JsonFields* fields) {
  fields->Require("source_lang");
  fields->Require("target_lang");
  return {BaseLanguage(fields->String("source_lang").value_or("")),
          BaseLanguage(fields->String("target_lang").value_or(""))};
}

// Reads the languages and the rows of a dictionary. `path` stands before the
// names of the fields' members.
void ReadDictionary(JsonFields* fields, const std::string& path,
                    Dictionary* out) {
  out->languages = ReadPair(fields);
  fields->Require("entries");
  const std::string entries = fields->String("entries").value_or("");
  const std::string format = fields->String("entries_format").value_or("tsv");
  if (format != "tsv" && format != "csv") {
    fields->Fail("entries_format", "is neither tsv nor csv");
  }
  if (!fields->ok()) return;
  absl::StatusOr<Terms> terms =
      ReadTerms(entries, format == "csv", path + "entries");
  if (!terms.ok()) return fields->Keep(terms.status());
  out->terms = *std::move(terms);
}

// The frame of both forms. The call beneath is ListModels, so that its token is
// checked.
class GlossaryCodec : public DeeplCodec {
 public:
  // `all` is the path of all glossaries, "/v2/glossaries"; `part` is what the
  // method may have behind a glossary's id, "/entries".
  GlossaryCodec(const Environment& environment, const RequestHead& head,
                std::string_view all, std::string_view part)
      : DeeplCodec(environment, head), method_(head.method) {
    id_ = head.path.substr(std::min(all.size() + 1, head.path.size()));
    has_part_ = !part.empty() && id_.ends_with(part);
    if (has_part_) id_.resize(id_.size() - part.size());
  }

  // Only a call that its token allows comes here with OK.
  HttpAnswer Finish(const Ending& ending, const Message*) final {
    if (!ending.status.ok()) return DeeplFailure(ending);
    absl::StatusOr<HttpAnswer> answer = Answer();
    return answer.ok() ? *std::move(answer)
                       : DeeplFailure({answer.status(), ending.request_id});
  }

 protected:
  virtual absl::StatusOr<HttpAnswer> Answer() = 0;

  absl::StatusOr<HttpAnswer> Remove() const {
    TRIVIUM_RETURN_IF_ERROR(glossaries().Remove(owner(), id_));
    return HttpAnswer{.status = 204};
  }

  const std::string& method() const { return method_; }
  const std::string& id() const { return id_; }  // empty: all glossaries
  bool has_part() const { return has_part_; }

 private:
  const std::string method_;
  std::string id_;
  bool has_part_ = false;
};

class PairGlossaryCodec final : public GlossaryCodec {
 public:
  PairGlossaryCodec(const Environment& environment, const RequestHead& head)
      : GlossaryCodec(environment, head, kDeeplGlossaries,
                      head.method == "GET" ? kDeeplEntries : "") {}

  absl::Status Read(std::string_view body, Message*) override {
    if (method() != "POST") return absl::OkStatus();
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadBody(body));
    JsonFields fields(value, "");
    fields.Require("name");
    new_.name = ReadName(&fields);
    Dictionary dictionary;
    ReadDictionary(&fields, "", &dictionary);
    new_.dictionaries[dictionary.languages] = std::move(dictionary.terms);
    return fields.Done();
  }

 private:
  absl::StatusOr<HttpAnswer> Answer() override {
    if (method() == "POST") {
      TRIVIUM_ASSIGN_OR_RETURN(const auto kept,
                               glossaries().Add(owner(), std::move(new_)));
      return HttpAnswer{.status = 201, .body = ToJsonText(About(*kept))};
    }
    if (id().empty()) return List();
    return method() == "DELETE" ? Remove() : Tell();
  }

  static bool IsPair(const Glossary& glossary) {
    return glossary.dictionaries.size() == 1;
  }

  static ordered_json About(const Glossary& glossary) {
    const auto& [languages, terms] = *glossary.dictionaries.begin();
    return {{"glossary_id", glossary.id},
            {"name", glossary.name},
            {"ready", true},
            {"source_lang", languages.first},
            {"target_lang", languages.second},
            {"creation_time", TimeOf(glossary)},
            {"entry_count", terms.size()}};
  }

  absl::StatusOr<HttpAnswer> List() const {
    ordered_json all = ordered_json::array();
    for (const auto& glossary : glossaries().List(owner())) {
      if (IsPair(*glossary)) all.push_back(About(*glossary));
    }
    return HttpAnswer{
        .body = ToJsonText(ordered_json{{"glossaries", std::move(all)}})};
  }

  absl::StatusOr<HttpAnswer> Tell() const {
    TRIVIUM_ASSIGN_OR_RETURN(const auto glossary,
                             glossaries().Find(owner(), id()));
    if (!IsPair(*glossary)) {
      return absl::FailedPreconditionError(
          fmt::format("the glossary has {} dictionaries; {}/{} tells them",
                      glossary->dictionaries.size(), kDeeplMultilingual, id()));
    }
    if (!has_part()) return HttpAnswer{.body = ToJsonText(About(*glossary))};
    return HttpAnswer{.type = kTypeOfTerms,
                      .body = RowsOf(glossary->dictionaries.begin()->second)};
  }

  Glossary new_;  // of a POST
};

class MultilingualCodec final : public GlossaryCodec {
 public:
  MultilingualCodec(const Environment& environment, const RequestHead& head)
      : GlossaryCodec(environment, head, kDeeplMultilingual,
                      PartFor(head.method)),
        query_(head.query()) {}

  absl::Status Read(std::string_view body, Message*) override {
    if (method() == "POST" || method() == "PATCH") return ReadGlossary(body);
    if (method() == "PUT") return ReadOne(body);
    return has_part() ? ReadQuery() : absl::OkStatus();
  }

 private:
  static std::string_view PartFor(std::string_view method) {
    if (method == "GET") return kDeeplEntries;
    return method == "PUT" || method == "DELETE" ? kDeeplDictionaries : "";
  }

  absl::StatusOr<HttpAnswer> Answer() override {
    if (method() == "POST") return Create();
    if (method() == "PATCH") return Merge();
    if (method() == "PUT") return Replace();
    if (method() == "DELETE") {
      return has_part() ? RemoveDictionary() : Remove();
    }
    if (id().empty()) return List();
    return has_part() ? Entries() : Tell();
  }

  // Reads a new glossary, or what changes in one.
  absl::Status ReadGlossary(std::string_view body) {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadBody(body));
    JsonFields fields(value, "");
    if (method() == "POST") {
      fields.Require("name");
      fields.Require("dictionaries");
    }
    renames_ = fields.Value("name") != nullptr;
    given_.name = ReadName(&fields);
    const json* const dictionaries = fields.Value("dictionaries");
    const bool list = dictionaries != nullptr && dictionaries->is_array();
    if (dictionaries != nullptr && !list) {
      fields.Fail("dictionaries", "must be a list of dictionaries");
    }
    for (size_t i = 0; list && i < dictionaries->size() && fields.ok(); ++i) {
      const std::string path = fmt::format("dictionaries[{}].", i);
      JsonFields members((*dictionaries)[i], path);
      Dictionary one;
      ReadDictionary(&members, path, &one);
      fields.Keep(members.Done());
      if (!given_.dictionaries.emplace(one.languages, std::move(one.terms))
               .second) {
        fields.Fail(fmt::format("dictionaries[{}]", i),
                    fmt::format("is another one for {} to {}; put the rows "
                                "into one",
                                Shorten(one.languages.first),
                                Shorten(one.languages.second)));
      }
    }
    if (method() == "POST" && given_.dictionaries.empty()) {
      fields.Fail("dictionaries", "is empty; send at least one");
    }
    return fields.Done();
  }

  absl::Status ReadOne(std::string_view body) {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadBody(body));
    JsonFields fields(value, "");
    ReadDictionary(&fields, "", &one_);
    return fields.Done();
  }

  // Reads the languages of a dictionary from the query.
  absl::Status ReadQuery() {
    json value = json::object();
    for (const auto& [name, text] : query_) value[name] = text;
    JsonFields fields(value, "");
    one_.languages = ReadPair(&fields);
    return fields.Done();
  }

  static ordered_json About(const Languages& languages, const Terms& terms) {
    return {{"source_lang", languages.first},
            {"target_lang", languages.second},
            {"entry_count", terms.size()}};
  }
  static ordered_json About(const Glossary& glossary) {
    ordered_json dictionaries = ordered_json::array();
    for (const auto& [languages, terms] : glossary.dictionaries) {
      dictionaries.push_back(About(languages, terms));
    }
    return {{"glossary_id", glossary.id},
            {"name", glossary.name},
            {"dictionaries", std::move(dictionaries)},
            {"creation_time", TimeOf(glossary)}};
  }

  absl::StatusOr<HttpAnswer> Create() {
    TRIVIUM_ASSIGN_OR_RETURN(const auto kept,
                             glossaries().Add(owner(), std::move(given_)));
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

  absl::StatusOr<HttpAnswer> Tell() const {
    TRIVIUM_ASSIGN_OR_RETURN(const auto glossary,
                             glossaries().Find(owner(), id()));
    return HttpAnswer{.body = ToJsonText(About(*glossary))};
  }

  absl::StatusOr<HttpAnswer> Entries() const {
    TRIVIUM_ASSIGN_OR_RETURN(const auto glossary,
                             glossaries().Find(owner(), id()));
    const auto found = glossary->dictionaries.find(one_.languages);
    if (found == glossary->dictionaries.end()) return NoDictionary();
    const ordered_json rows = {{"source_lang", one_.languages.first},
                               {"target_lang", one_.languages.second},
                               {"entries", RowsOf(found->second)},
                               {"entries_format", "tsv"}};
    return HttpAnswer{.body = ToJsonText(ordered_json{
                          {"dictionaries", ordered_json::array({rows})}})};
  }

  // Gives the glossary another name, and its dictionaries more rows. A row for
  // a term that a dictionary has replaces the old one.
  absl::StatusOr<HttpAnswer> Merge() const {
    TRIVIUM_ASSIGN_OR_RETURN(
        const auto kept,
        glossaries().Change(owner(), id(), [this](Glossary* glossary) {
          if (renames_) glossary->name = given_.name;
          for (const auto& [languages, terms] : given_.dictionaries) {
            Terms& old = glossary->dictionaries[languages];
            AddRows(terms, &old);
            TRIVIUM_RETURN_IF_ERROR(CheckTerms(old, "dictionaries"));
          }
          return absl::OkStatus();
        }));
    return HttpAnswer{.body = ToJsonText(About(*kept))};
  }

  static void AddRows(const Terms& rows, Terms* terms) {
    std::map<std::string_view, size_t> places;
    for (size_t i = 0; i < terms->size(); ++i) places[(*terms)[i].first] = i;
    Terms added;
    for (const auto& row : rows) {
      const auto place = places.find(row.first);
      if (place == places.end()) {
        added.push_back(row);
      } else {
        (*terms)[place->second].second = row.second;
      }
    }
    terms->insert(terms->end(), added.begin(), added.end());
  }

  absl::StatusOr<HttpAnswer> Replace() const {
    TRIVIUM_RETURN_IF_ERROR(
        glossaries()
            .Change(owner(), id(),
                    [this](Glossary* glossary) {
                      glossary->dictionaries[one_.languages] = one_.terms;
                      return absl::OkStatus();
                    })
            .status());
    return HttpAnswer{.body = ToJsonText(About(one_.languages, one_.terms))};
  }

  absl::StatusOr<HttpAnswer> RemoveDictionary() const {
    TRIVIUM_RETURN_IF_ERROR(glossaries()
                                .Change(owner(), id(),
                                        [this](Glossary* glossary) {
                                          return glossary->dictionaries.erase(
                                                     one_.languages) > 0
                                                     ? absl::OkStatus()
                                                     : NoDictionary();
                                        })
                                .status());
    return HttpAnswer{.status = 204};
  }

  absl::Status NoDictionary() const {
    return absl::NotFoundError(fmt::format(
        "the glossary has no dictionary for {} to {}",
        Shorten(one_.languages.first), Shorten(one_.languages.second)));
  }

  const std::vector<std::pair<std::string, std::string>> query_;
  Glossary given_;        // of a POST, and what a PATCH adds
  bool renames_ = false;  // a PATCH has a name
  Dictionary one_;        // of a PUT; for others the languages alone
};

}  // namespace

std::unique_ptr<Codec> NewDeeplGlossariesCodec(const Environment& environment,
                                               const RequestHead& head) {
  return std::make_unique<PairGlossaryCodec>(environment, head);
}
std::unique_ptr<Codec> NewDeeplMultilingualCodec(const Environment& environment,
                                                 const RequestHead& head) {
  return std::make_unique<MultilingualCodec>(environment, head);
}
std::unique_ptr<Codec> NewDeeplGlossaryPairsCodec(const Environment&,
                                                  const RequestHead&) {
  return std::make_unique<GlossaryPairsCodec>();
}

}  // namespace trivium
