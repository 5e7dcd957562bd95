#include "server/adapters/openai_constraint.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "server/errors/status.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr char kNoSuchForm[] = "is not supported; leave it out";

class ConstraintReader {
 public:
  ConstraintReader(WrittenBody* written, v1::DecodingOptions* decoding,
                   CompletionOptions* options)
      : written_(written), decoding_(decoding), options_(options) {}

  void ResponseFormat(JsonFields* fields) {
    const json* const value = fields->Value("response_format");
    if (value == nullptr) return;
    JsonFields format(*value, "response_format.");
    // llama-server takes a schema beside json_object.
    if (format.Value("value") != nullptr) {
      // Text Generation Inference's form, which huggingface_hub sends.
      format.Require("type");
      format.Only("type", {"json", "json_object", "json_schema", "regex"},
                  "must be json_object or regex with a value");
      if (format.String("type") == "regex") {
        Regex("value", "response_format.value", &format);
      } else {
        Schema("/response_format/value", "response_format.value", &format);
      }
    } else if (format.Value("schema") != nullptr) {
      format.Require("type");
      format.Only("type", {"json_object"}, "must be json_object with a schema");
      Schema("/response_format/schema", "response_format.schema", &format);
    } else if (TypeOfFormat("response_format", &format) == "json_schema") {
      format.Require("json_schema");
      if (const json* const in = format.Value("json_schema")) {
        JsonFields schema(*in, "response_format.json_schema.");
        SchemaOf("/response_format/json_schema/schema",
                 "response_format.json_schema.schema", &schema);
        format.Keep(schema.Done());
      }
    }
    fields->Keep(format.Done());
  }

  // The same in the Responses API, where a schema has no object of its own.
  void TextFormat(JsonFields* text) {
    const json* const value = text->Value("format");
    if (value == nullptr) return;
    JsonFields format(*value, "text.format.");
    if (TypeOfFormat("text.format", &format) == "json_schema") {
      SchemaOf("/text/format/schema", "text.format.schema", &format);
    }
    text->Keep(format.Done());
  }

  void StructuredOutputs(JsonFields* fields) {
    const json* const value = fields->Value("structured_outputs");
    if (value == nullptr) return;
    JsonFields in(*value, "structured_outputs.");
    if (in.Value("json") != nullptr) {
      Schema("/structured_outputs/json", "structured_outputs.json", &in);
    }
    Regex("regex", "structured_outputs.regex", &in);
    Choice("choice", "structured_outputs.choice", &in);
    Grammar("grammar", "structured_outputs.grammar", &in);
    if (in.Bool("json_object").value_or(false)) {
      if (v1::Constraint* out = Begin("structured_outputs", &in)) {
        out->set_json_object(true);
      }
    }
    const bool json_form = decoding_->constraint().has_json_schema() ||
                           decoding_->constraint().has_json_object();
    if (in.Bool("disable_any_whitespace").value_or(false) && json_form) {
      decoding_->mutable_constraint()->set_json_space(v1::JSON_SPACE_SPACED);
    }
    in.Only("structural_tag", {}, kNoSuchForm);
    in.Only("whitespace_pattern", {}, kNoSuchForm);
    in.Only("disable_additional_properties", {false},
            "is not supported; set additionalProperties in the schema");
    in.Bool("disable_fallback");  // to another library of vLLM's
    fields->Keep(in.Done());
  }

  // The names of older vLLM and of llama-server.
  void OtherNames(JsonFields* fields) {
    for (const char* const name : {"guided_json", "json_schema"}) {
      if (fields->Value(name) != nullptr)
        Schema(std::string("/") + name, name, fields);
    }
    Regex("guided_regex", "guided_regex", fields);
    Choice("guided_choice", "guided_choice", fields);
    Grammar("guided_grammar", "guided_grammar", fields);
    Grammar("grammar", "grammar", fields);
  }

 private:
  // Returns the constraint to set for the member `name`, of which errors tell.
  // Null, with an error, if there is one already.
  v1::Constraint* Begin(const char* name, JsonFields* fields) {
    if (decoding_->has_constraint()) {
      fields->Keep(
          InvalidField(name, fmt::format("is there beside {}; send one of them",
                                         options_->constraint_name)));
      return nullptr;
    }
    options_->constraint_name = name;
    return decoding_->mutable_constraint();
  }

  // Returns the type of a format, and begins that of any JSON object.
  std::string TypeOfFormat(const char* name, JsonFields* format) {
    format->Require("type");
    const std::string type = format->String("type").value_or("");
    if (type == "json_object") {
      if (v1::Constraint* out = Begin(name, format)) out->set_json_object(true);
    } else if (type != "json_schema" && type != "text") {
      format->Fail("type", "must be text, json_object or json_schema");
    }
    return type;
  }

  // Reads the members of a schema with a name.
  void SchemaOf(const char* pointer, const char* name, JsonFields* in) {
    in->Value("name");
    in->Value("description");
    in->Bool("strict");
    in->Require("schema");
    if (in->Value("schema") != nullptr) Schema(pointer, name, in);
  }

  // A schema as an object, or as its text.
  void Schema(const std::string& pointer, const char* name,
              JsonFields* fields) {
    v1::Constraint* const out = Begin(name, fields);
    if (out == nullptr) return;
    const nlohmann::ordered_json value = written_->At(pointer);
    out->set_json_schema(value.is_string() ? value.get<std::string>()
                                           : value.dump());
  }

  void Regex(const char* key, const char* name, JsonFields* fields) {
    const auto text = fields->String(key);
    if (!text) return;
    if (v1::Constraint* out = Begin(name, fields)) out->set_regex(*text);
  }

  void Grammar(const char* key, const char* name, JsonFields* fields) {
    const auto text = fields->String(key);
    // llama-server's clients send an empty one for none.
    if (!text || text->empty()) return;
    if (v1::Constraint* out = Begin(name, fields)) out->set_grammar(*text);
  }

  void Choice(const char* key, const char* name, JsonFields* fields) {
    if (fields->Value(key) == nullptr) return;
    v1::Constraint* const out = Begin(name, fields);
    if (out == nullptr) return;
    for (std::string& text : fields->Strings(key)) {
      out->mutable_choices()->add_texts(std::move(text));
    }
  }

  WrittenBody* const written_;
  v1::DecodingOptions* const decoding_;
  CompletionOptions* const options_;
};

}  // namespace

void ReadOpenAiConstraint(WrittenBody* written, JsonFields* fields,
                          v1::DecodingOptions* decoding,
                          CompletionOptions* options) {
  ConstraintReader reader(written, decoding, options);
  reader.ResponseFormat(fields);
  reader.StructuredOutputs(fields);
  reader.OtherNames(fields);
}

void ReadResponsesConstraint(WrittenBody* written, JsonFields* fields,
                             JsonFields* text, v1::DecodingOptions* decoding,
                             CompletionOptions* options) {
  ConstraintReader reader(written, decoding, options);
  if (text != nullptr) reader.TextFormat(text);
  reader.StructuredOutputs(fields);
}

void AddConstraintNames(const char* name, std::vector<FieldName>* names) {
  for (const char* const field :
       {"decoding.constraint.json_schema", "decoding.constraint.json_object",
        "decoding.constraint.regex", "decoding.constraint.choices",
        "decoding.constraint.grammar", "decoding.constraint"}) {
    names->push_back({field, name});
  }
}

}  // namespace trivium
