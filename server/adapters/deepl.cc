// DeepL writes languages in capitals ("EN-US"), and expects them so. An option
// that changes DeepL's answers and cannot change ours is an error that names
// it; members that change nothing are accepted by a list.
#include "server/adapters/deepl.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/utf8.h"
#include "server/adapters/deepl_codec.h"
#include "server/adapters/deepl_tags.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/language_name.h"
#include "server/errors/status.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

// DeepL's clients read a limit; no user reaches this one.
constexpr int64_t kNoLimit = 1'000'000'000'000;

constexpr size_t kMostTags = 100;  // in a list

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
    ReadTagLists(&fields, request);
    ReadSplit(&fields, request);
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
          {"text", result.hypotheses().empty()
                       ? ""
                       : untranslated_.Unmark(result.hypotheses(0).text())}};
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
  }

  // Reads what the request says of its tags. Without tag handling it says
  // nothing, as with DeepL.
  void ReadTagLists(JsonFields* fields, v1::TranslateRequest* request) {
    DeeplTags tags;
    tags.splitting = ReadTagList(fields, "splitting_tags");
    tags.non_splitting = ReadTagList(fields, "non_splitting_tags");
    tags.ignored = ReadTagList(fields, "ignore_tags");
    tags.outline = fields->Value("outline_detection") == nullptr ||
                   Flag(fields, "outline_detection");
    const v1::TextFormat format = request->options().format();
    if (format == v1::TEXT_FORMAT_UNSPECIFIED || !fields->ok()) return;
    untranslated_ = UntranslatedTags(tags.ignored);
    for (const v1::Input& input : request->inputs()) {
      untranslated_.Avoid(input.text());
    }
    const MarkupFormat markup = format == v1::TEXT_FORMAT_XML
                                    ? MarkupFormat::kXml
                                    : MarkupFormat::kHtml;
    const bool asks =
        !tags.splitting.empty() || !tags.non_splitting.empty() || !tags.outline;
    for (v1::Input& input : *request->mutable_inputs()) {
      if (!tags.ignored.empty()) {
        input.set_text(untranslated_.Mark(input.text(), markup));
      }
      if (!asks) continue;
      const std::optional<DisputedTag> tag =
          FindDisputedTag(input.text(), markup, tags);
      if (!tag) continue;
      const bool splits = tag->member != "splitting_tags";
      return fields->Fail(
          std::string(tag->member),
          fmt::format("does not fit '{}', which {} in a text here; leave it "
                      "out",
                      Shorten(tag->name),
                      splits ? "ends sentences" : "stands within a sentence"));
    }
  }

  static std::set<std::string> ReadTagList(JsonFields* fields,
                                           const char* name) {
    const json* const value = fields->Value(name);
    if (value == nullptr) return {};
    const bool text = value->is_string();
    if (!text && !value->is_array()) {
      fields->Fail(name, "must be a list of tags");
      return {};
    }
    const std::vector<std::string> given =
        text ? absl::StrSplit(value->get<std::string>(), ',',
                              absl::SkipWhitespace())
             : fields->Strings(name);
    std::set<std::string> tags;
    for (const std::string& one : given) {
      tags.emplace(absl::StripAsciiWhitespace(one));
    }
    if (tags.size() > kMostTags) {
      fields->Fail(name, fmt::format("has {} tags; send at most {}",
                                     tags.size(), kMostTags));
    }
    return tags;
  }

  static void ReadSplit(JsonFields* fields, v1::TranslateRequest* request) {
    v1::TranslateOptions* const options = request->mutable_options();
    const json* const split = fields->Value("split_sentences");
    if (split == nullptr || *split == "1" || *split == true) return;
    if (*split == "0" || *split == false) {
      options->set_split(v1::SPLIT_NONE);
    } else if (*split != "nonewlines") {
      fields->Fail("split_sentences", "must be \"0\", \"1\" or \"nonewlines\"");
    } else if (options->format() == v1::TEXT_FORMAT_UNSPECIFIED) {
      // White space of HTML and XML breaks no line as it is.
      for (v1::Input& input : *request->mutable_inputs()) {
        input.set_text(WithoutLines(input.text()));
      }
    }
  }

  // Makes one line of each paragraph, so that only marks end its sentences. An
  // empty line stays between two paragraphs.
  static std::string WithoutLines(std::string_view text) {
    std::string joined;
    joined.reserve(text.size());
    while (!text.empty()) {
      const size_t end = std::min(text.find_first_of("\r\n"), text.size());
      joined += text.substr(0, end);
      text.remove_prefix(end);
      const size_t rest =
          std::min(text.find_first_not_of(" \t\r\n"), text.size());
      const std::string_view space = text.substr(0, rest);
      // A break within the text that is no paragraph's.
      const auto breaks = std::count(space.begin(), space.end(), '\n') +
                          (space.find('\n') == space.npos ? 1 : 0);
      const bool within = rest < text.size() && !joined.empty() && breaks == 1;
      joined += within ? " " : space;
      text.remove_prefix(rest);
    }
    return joined;
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

  UntranslatedTags untranslated_;
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
    for (const auto& [source, targets] : DeeplPairs(*last)) {
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

}  // namespace trivium
