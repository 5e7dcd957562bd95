// The sections of tokenizer.json after the model: post-processor and decoder.

#include <utility>

#include "absl/status/status.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/json_fields.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {
namespace {

using Item = PostProcessor::Item;

absl::Status Broken(const std::string& what) {
  return absl::InvalidArgumentError("the post_processor's " + what);
}

// Reads ["[CLS]", 101].
absl::StatusOr<Item> ReadPair(const nlohmann::json& json, const char* name) {
  const nlohmann::json& pair = Field(json, name);
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() ||
      !pair[1].is_number_unsigned() || pair[1] >= Vocabulary::MostIds()) {
    return Broken(fmt::format("{} is not a piece with its id", name));
  }
  return Item{Item::Kind::kSpecial, 0, pair[1].get<int32_t>(),
              *pair[0].get_ptr<const std::string*>()};
}

// Reads [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": ...}].
absl::StatusOr<PostProcessor::Template> ReadTemplate(
    const nlohmann::json& json, const nlohmann::json& special_tokens) {
  if (!json.is_array()) return Broken("template is not a list");
  PostProcessor::Template items;
  for (const nlohmann::json& entry : json) {
    const nlohmann::json& sequence = Field(entry, "Sequence");
    const nlohmann::json& special = Field(entry, "SpecialToken");
    const nlohmann::json& item = sequence.is_null() ? special : sequence;
    const std::string name = StringField(item, "id", "");
    const int32_t type_id =
        static_cast<int32_t>(IntegerField(item, "type_id", 0, 1 << 20));
    if (&item == &sequence) {
      if (name != "A" && name != "B") {
        return Broken(fmt::format("template has a text \"{}\"", name));
      }
      const Item::Kind kind =
          name == "A" ? Item::Kind::kFirst : Item::Kind::kSecond;
      for (const Item& before : items) {
        if (before.kind == kind) {
          return Broken(fmt::format("template has text \"{}\" twice", name));
        }
      }
      items.push_back({kind, type_id, 0, ""});
      continue;
    }
    const nlohmann::json& token = Field(special_tokens, name.c_str());
    const nlohmann::json& ids = Field(token, "ids");
    const nlohmann::json& pieces = Field(token, "tokens");
    if (!ids.is_array() || !pieces.is_array() || ids.size() != pieces.size()) {
      return Broken(fmt::format("special_tokens lack \"{}\"", name));
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!ids[i].is_number_unsigned() || ids[i] >= Vocabulary::MostIds() ||
          !pieces[i].is_string()) {
        return Broken(fmt::format("special token \"{}\" is broken", name));
      }
      items.push_back({Item::Kind::kSpecial, type_id, ids[i].get<int32_t>(),
                       *pieces[i].get_ptr<const std::string*>()});
    }
  }
  return items;
}

absl::Status ApplyPostProcessor(const nlohmann::json& json,
                                PostProcessor* processor) {
  if (json.is_null()) return absl::OkStatus();
  const std::string type = StringField(json, "type", "");
  if (type == "Sequence") {
    const nlohmann::json& steps = Field(json, "processors");
    if (!steps.is_array()) return Broken("sequence has no list");
    for (const nlohmann::json& step : steps) {
      TRIVIUM_RETURN_IF_ERROR(ApplyPostProcessor(step, processor));
    }
    return absl::OkStatus();
  }
  if (type == "ByteLevel" || type == "RobertaProcessing") {
    if (BoolField(json, "trim_offsets", true)) {
      processor->set_trim_offsets(BoolField(json, "add_prefix_space", true));
    }
    if (type == "ByteLevel") return absl::OkStatus();
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    TRIVIUM_ASSIGN_OR_RETURN(const Item begin, ReadPair(json, "cls"));
    TRIVIUM_ASSIGN_OR_RETURN(const Item middle, ReadPair(json, "sep"));
    const bool bert = type == "BertProcessing";
    const Item a = {Item::Kind::kFirst, 0, 0, ""};
    const Item b = {Item::Kind::kSecond, bert ? 1 : 0, 0, ""};
    Item end = middle;
    end.type_id = b.type_id;
    PostProcessor::Template pair = {begin, a, middle};
    if (!bert) pair.push_back(middle);
    pair.insert(pair.end(), {b, end});
    processor->set_templates({begin, a, middle}, std::move(pair));
    return absl::OkStatus();
  }
  if (type == "TemplateProcessing") {
    const nlohmann::json& special = Field(json, "special_tokens");
    TRIVIUM_ASSIGN_OR_RETURN(PostProcessor::Template single,
                             ReadTemplate(Field(json, "single"), special));
    TRIVIUM_ASSIGN_OR_RETURN(PostProcessor::Template pair,
                             ReadTemplate(Field(json, "pair"), special));
    processor->set_templates(std::move(single), std::move(pair));
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      fmt::format("post_processor \"{}\" is unknown to this version", type));
}

absl::Status AppendDecoder(const nlohmann::json& json, bool* fused,
                           std::vector<DecoderStepFactory>* steps) {
  const std::string type = StringField(json, "type", "");
  if (type == "Sequence") {
    const nlohmann::json& list = Field(json, "decoders");
    if (!list.is_array()) {
      return absl::InvalidArgumentError("the decoder's sequence has no list");
    }
    for (const nlohmann::json& step : list) {
      TRIVIUM_RETURN_IF_ERROR(AppendDecoder(step, fused, steps));
    }
    return absl::OkStatus();
  }
  if (type == "Fuse") {
    *fused = true;
    return absl::OkStatus();
  }
  if (type == "Strip") {
    const std::string content = StringField(json, "content", " ");
    size_t at = 0;
    const char32_t character =
        content.empty() ? U' ' : NextCharacter(content, &at);
    steps->push_back(StripDecoder(
        character, static_cast<int>(IntegerField(json, "start", 0, 1 << 20)),
        static_cast<int>(IntegerField(json, "stop", 0, 1 << 20)), *fused));
    return absl::OkStatus();
  }
  if (*fused) {
    return absl::UnimplementedError(fmt::format(
        "decoder \"{}\" after \"Fuse\" is unknown to this version", type));
  }
  if (type == "ByteLevel") {
    steps->push_back(ByteLevelDecoder());
    // It joins all pieces into one text.
    *fused = true;
  } else if (type == "WordPiece") {
    steps->push_back(WordPieceDecoder(StringField(json, "prefix", "##"),
                                      BoolField(json, "cleanup", true)));
  } else if (type == "BPEDecoder") {
    const std::string suffix = StringField(json, "suffix", "</w>");
    if (suffix.empty()) {
      return absl::InvalidArgumentError(
          "the decoder's BPEDecoder has an empty suffix");
    }
    steps->push_back(BpeDecoder(suffix));
  } else if (type == "Metaspace") {
    const bool never =
        StringField(json, "prepend_scheme", "always") == "never" ||
        !BoolField(json, "add_prefix_space", true);
    const std::string replacement = MetaspaceReplacement(json);
    if (replacement.empty()) {
      return absl::InvalidArgumentError(
          "the decoder's Metaspace has a replacement that is not one "
          "character");
    }
    steps->push_back(MetaspaceDecoder(replacement, !never));
  } else if (type == "Replace") {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Pattern> pattern,
                             ReadPattern(Field(json, "pattern")));
    steps->push_back(
        ReplaceDecoder(std::move(pattern), StringField(json, "content", "")));
  } else if (type == "ByteFallback") {
    steps->push_back(ByteFallbackDecoder());
  } else {
    return absl::UnimplementedError(
        fmt::format("decoder \"{}\" is unknown to this version", type));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PostProcessor> ReadPostProcessor(const nlohmann::json& json) {
  PostProcessor processor;
  TRIVIUM_RETURN_IF_ERROR(ApplyPostProcessor(json, &processor));
  return processor;
}

absl::StatusOr<std::vector<DecoderStepFactory>> ReadDecoder(
    const nlohmann::json& json) {
  std::vector<DecoderStepFactory> steps;
  if (json.is_null()) {
    steps.push_back(SpacesBetweenDecoder());
    return steps;
  }
  bool fused = false;
  TRIVIUM_RETURN_IF_ERROR(AppendDecoder(json, &fused, &steps));
  return steps;
}

}  // namespace trivium
