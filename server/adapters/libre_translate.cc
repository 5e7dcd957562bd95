#include "server/adapters/libre_translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "server/adapters/form_body.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/adapters/language_name.h"
#include "server/documents/document.h"
#include "server/errors/status.h"
#include "server/translation/language_detection.h"
#include "server/translation/pipeline/translation_router.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

// LibreTranslate's code of a language: BCP 47, else the model's own code.
const std::string& CodeOf(const v1::Language& language) {
  return language.bcp47().empty() ? language.code() : language.bcp47();
}

// A key that nobody asked for changes nothing. Where tokens are needed, the
// client may believe that it is one.
void ReadKey(const Environment& environment, JsonFields* fields) {
  IgnoredMembers* const ignored = environment.ignored_members;
  if (environment.access == nullptr &&
      (ignored == nullptr || !ignored->strict())) {
    return fields->Ignore("LibreTranslate", ignored, {"api_key"});
  }
  fields->Only("api_key", {""},
               "is not used here; if the server wants a token, send it as "
               "'Authorization: Bearer TOKEN'");
}

// Reads a request whose body is JSON or a form. Without JSON, what the form
// lacks is in the query, so there may be no body at all.
class LibreCodec : public Codec {
 public:
  LibreCodec(const Environment& environment, const RequestHead& head)
      : environment_(environment),
        type_(TypeOf(head)),
        form_type_(IsForm(head) ? head.header("Content-Type") : ""),
        query_(head.query()) {}

  absl::Status Check(const RequestHead& head) final {
    if (form_type_.empty() && !type_.empty()) return Codec::Check(head);
    return CheckFormIsNoPages(head);
  }

 protected:
  absl::StatusOr<json> ReadBody(std::string_view body) const {
    if (form_type_.empty() && !type_.empty()) return ReadJsonBody(body);
    std::vector<FormField> fields;
    if (!form_type_.empty()) {
      TRIVIUM_ASSIGN_OR_RETURN(fields, ParseForm(form_type_, body));
    } else if (!body.empty()) {
      return absl::InvalidArgumentError(
          "the body has no Content-Type; send application/json");
    }
    TRIVIUM_ASSIGN_OR_RETURN(json value, FormToJson(std::move(fields)));
    for (const auto& [name, text] : query_) {
      if (!value.contains(name)) value[name] = text;
    }
    return value;
  }

  const Environment& environment_;

 private:
  const std::string type_;       // empty: no body
  const std::string form_type_;  // empty: no form
  const std::vector<std::pair<std::string, std::string>> query_;
};

class LibreTranslateCodec : public LibreCodec {
 public:
  using LibreCodec::LibreCodec;

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadBody(body));
    auto* const request = static_cast<v1::TranslateRequest*>(message);
    JsonFields fields(value, "");
    fields.Require("q");
    many_ = fields.Value("q") != nullptr && fields.Value("q")->is_array();
    for (std::string& text : fields.Strings("q")) {
      request->add_inputs()->set_text(std::move(text));
    }
    ReadLibreLanguages(environment_, &fields, request);
    if (const auto truncate = fields.Bool("truncate")) {
      request->mutable_options()->set_truncate(*truncate);
    }
    detects_ = request->options().source_language() == "auto";
    ReadAlternatives(&fields);
    if (alternatives_ > 0) {
      auto* const decoding = request->mutable_options()->mutable_decoding();
      decoding->set_beam_size(static_cast<uint32_t>(alternatives_) + 1);
      decoding->set_num_hypotheses(static_cast<uint32_t>(alternatives_) + 1);
    }
    ReadFormat(&fields, request);
    return fields.Done();
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return LibreFailure(ending);
    ordered_json texts = ordered_json::array();
    ordered_json others = ordered_json::array();
    ordered_json detected = ordered_json::array();
    for (const v1::TranslateResult& result :
         static_cast<const v1::TranslateResponse*>(last)->results()) {
      // Different tokens may make the same text; each is told once.
      ordered_json all = ordered_json::array();
      for (const v1::Hypothesis& hypothesis : result.hypotheses()) {
        if (std::find(all.begin(), all.end(), hypothesis.text()) == all.end()) {
          all.push_back(hypothesis.text());
        }
      }
      texts.push_back(all.empty() ? "" : all.front());
      if (!all.empty()) all.erase(all.begin());
      others.push_back(all);
      detected.push_back(Detected(result));
    }
    ordered_json answer = {{"translatedText", many_ ? texts : texts.front()}};
    if (alternatives_ > 0) {
      answer["alternatives"] = many_ ? others : others.front();
    }
    if (detects_) {
      answer["detectedLanguage"] = many_ ? detected : detected.front();
    }
    return {.body = ToJsonText(answer)};
  }

 private:
  // A number, or its digits as forms have them; below 0 is none.
  void ReadAlternatives(JsonFields* fields) {
    const json* const value = fields->Value("alternatives");
    int64_t number = 0;
    if (value != nullptr && value->is_string()) {
      if (!absl::SimpleAtoi(value->get<std::string>(), &number)) {
        return fields->Fail("alternatives", "must be a number");
      }
    } else {
      number =
          fields->Integer("alternatives", INT64_MIN, INT64_MAX).value_or(0);
    }
    // The first hypothesis of a search is the translation.
    const int most = environment_.limits.max_beam_size - 1;
    if (number > most) {
      return fields->Fail(
          "alternatives",
          fmt::format("is {}; there are at most {}", number, most));
    }
    alternatives_ = static_cast<int>(std::max<int64_t>(number, 0));
  }

  // Returns the detected language from which a text was translated, or in which
  // it came back unchanged, with the confidence in percent. Null for blank
  // texts.
  static ordered_json Detected(const v1::TranslateResult& result) {
    const std::string used =
        result.route().empty() ? "" : result.route(0).source_language();
    for (const v1::DetectedLanguage& one : result.detected_languages()) {
      if (!one.language().starts_with(used)) continue;
      return {{"confidence", std::round(100 * one.confidence())},
              {"language", one.language()}};
    }
    return nullptr;
  }

  void ReadFormat(JsonFields* fields, v1::TranslateRequest* request) {
    const std::string format = fields->String("format").value_or("text");
    if (format == "html") {
      request->mutable_options()->set_format(v1::TEXT_FORMAT_HTML);
    } else if (format != "text" && !format.empty()) {
      fields->Fail("format", "is neither text nor html");
    }
  }

  bool many_ = false;
  bool detects_ = false;
  int alternatives_ = 0;
};

// Detection needs no model. The call is ListModels, so that its token is
// checked.
class LibreDetectCodec : public LibreCodec {
 public:
  using LibreCodec::LibreCodec;

  absl::Status Read(std::string_view body, Message*) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadBody(body));
    JsonFields fields(value, "");
    fields.Require("q");
    // Several texts have the languages of all of them together.
    std::string text;
    for (const std::string& one : fields.Strings("q")) {
      text += (text.empty() ? "" : "\n") + one;
    }
    guesses_ = DetectLanguages(text);
    ReadKey(environment_, &fields);
    return fields.Done();
  }
  HttpAnswer Finish(const Ending& ending, const Message*) override {
    if (!ending.status.ok()) return LibreFailure(ending);
    ordered_json answer = ordered_json::array();
    for (const LanguageGuess& guess : guesses_) {
      answer.push_back(
          {{"confidence", guess.percent}, {"language", guess.language}});
    }
    return {.body = ToJsonText(answer)};
  }

 private:
  std::vector<LanguageGuess> guesses_;
};

class LibreLanguagesCodec : public Codec {
 public:
  explicit LibreLanguagesCodec(const Environment& environment)
      : environment_(environment) {}

  absl::Status Read(std::string_view, Message*) override {
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return LibreFailure(ending);
    const auto& models =
        static_cast<const v1::ListModelsResponse*>(last)->models();
    Targets targets;
    for (const v1::Model& model : models) {
      for (const v1::Language& source : model.source_languages()) {
        for (const v1::Language& target : model.target_languages()) {
          if (CodeOf(source) != CodeOf(target)) {
            targets[CodeOf(source)].insert(CodeOf(target));
          }
        }
      }
    }
    AddByPivot(models, &targets);
    ordered_json languages = ordered_json::array();
    for (const auto& [code, to] : targets) {
      languages.push_back(
          {{"code", code}, {"name", LanguageName(code)}, {"targets", to}});
    }
    return {.body = ToJsonText(languages)};
  }

 private:
  using Targets =
      std::map<std::string, std::set<std::string>>;  // by source language

  // Adds the targets that two models reach: for each source that is translated
  // to the pivot, each target that is translated from the pivot.
  void AddByPivot(const google::protobuf::RepeatedPtrField<v1::Model>& models,
                  Targets* targets) const {
    const std::string& pivot = environment_.pivot_language;
    // Only models that the call's token allows; one may have been unloaded.
    std::vector<ModelHandle> loaded;
    for (const v1::Model& model : models) {
      auto found = environment_.models.Find(model.name());
      if (found.ok()) loaded.push_back(*std::move(found));
    }
    if (pivot.empty() || loaded.empty()) return;
    const TranslationRouter router(std::move(loaded), pivot);
    const auto translates = [&](std::string_view from, std::string_view to) {
      const auto route = router.Find(from, to);
      return route.ok() &&
             route->steps[0].source_tag != route->steps[0].target_tag;
    };
    std::set<std::string> all, reached;
    for (const auto& [source, to] : *targets) all.insert(to.begin(), to.end());
    for (const std::string& target : all) {
      if (translates(pivot, target)) reached.insert(target);
    }
    for (auto& [source, to] : *targets) {
      if (!translates(source, pivot)) continue;
      for (const std::string& target : reached) {
        if (target != source) to.insert(target);
      }
    }
  }

  const Environment& environment_;
};

// Answers the first request of LibreTranslate's own page.
class LibreSettingsCodec : public Codec {
 public:
  explicit LibreSettingsCodec(const Environment& environment)
      : tokens_(environment.access != nullptr) {}

  absl::Status Read(std::string_view, Message*) override {
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return LibreFailure(ending);
    std::set<std::string> targets;
    for (const v1::Model& model :
         static_cast<const v1::ListModelsResponse*>(last)->models()) {
      for (const v1::Language& target : model.target_languages()) {
        targets.insert(CodeOf(target));
      }
    }
    const std::string target =
        targets.empty() || targets.contains("en") ? "en" : *targets.begin();
    std::set<std::string> files;
    for (const absl::string_view name :
         absl::StrSplit(DocumentFileEndings(), ", ")) {
      if (absl::StartsWith(name, ".")) files.emplace(name);
    }
    return {
        .body = ToJsonText(ordered_json{
            {"apiKeys", tokens_},
            {"charLimit", -1},
            {"filesTranslation", true},
            {"frontendTimeout", 500},
            {"keyRequired", tokens_},
            {"language",
             {{"source", {{"code", "auto"}, {"name", "Auto Detect"}}},
              {"target", {{"code", target}, {"name", LanguageName(target)}}}}},
            {"suggestions", false},
            {"supportedFilesFormat", files}})};
  }

 private:
  const bool tokens_;
};

}  // namespace

HttpAnswer LibreFailure(const Ending& ending) {
  constexpr FieldName kNames[] = {
      {"inputs", "q"},
      {"options.source_language", "source"},
      {"options.target_language", "target"},
      {"options.", ""},
  };
  return {
      .status = HttpStatusOf(ending.status.code()),
      .body = ToJsonText(ordered_json{{"error", MessageOf(ending, kNames)}})};
}

void ReadLibreLanguages(const Environment& environment, JsonFields* fields,
                        v1::TranslateRequest* request) {
  fields->Require("source");
  fields->Require("target");
  request->mutable_options()->set_source_language(
      fields->String("source").value_or(""));
  request->mutable_options()->set_target_language(
      fields->String("target").value_or(""));
  ReadKey(environment, fields);
}

std::unique_ptr<Codec> NewLibreTranslateCodec(const Environment& environment,
                                              const RequestHead& head) {
  return std::make_unique<LibreTranslateCodec>(environment, head);
}
std::unique_ptr<Codec> NewLibreDetectCodec(const Environment& environment,
                                           const RequestHead& head) {
  return std::make_unique<LibreDetectCodec>(environment, head);
}
std::unique_ptr<Codec> NewLibreLanguagesCodec(const Environment& environment,
                                              const RequestHead&) {
  return std::make_unique<LibreLanguagesCodec>(environment);
}

std::unique_ptr<Codec> NewLibreSettingsCodec(const Environment& environment,
                                             const RequestHead&) {
  return std::make_unique<LibreSettingsCodec>(environment);
}

}  // namespace trivium
