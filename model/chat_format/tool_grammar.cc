// A text of calls is: what begins the section, calls with their marks and what
// stands between them, what ends the section. What is between a call's marks
// depends on the form of the template (ToolCallFormat::Form): a JSON object
// with name and arguments, a name before JSON, gpt-oss's channel, or parameters
// as bare text between marks.
//
// What always holds:
// - ChatReader reads each text of the grammar as the calls that it stands for:
//   a bare text never contains the mark that ends it.
// - Arguments of any tool of the list are exactly what its schema allows.
//   Parameters as bare text keep the schema's order and miss only optional
//   ones.
// - An error names the tool by its place in `tools`, and the keyword by its
//   JSON pointer within that tool's parameters.
#include "model/chat_format/tool_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/status.h"
#include "model/chat_format/grammar_parts.h"
#include "model/chat_format/json_scanner.h"
#include "model/chat_format/text_units.h"
#include "model/grammar/frontends.h"
#include "model/grammar/schema_document.h"

namespace trivium {

namespace {

using Json = nlohmann::ordered_json;
using Form = ToolCallFormat::Form;

// Bytes of schemas that are read again for a parameter with references.
constexpr size_t kMostCopied = 8 << 20;

class ToolGrammar {
 public:
  ToolGrammar(const ChatFormat& format, const ToolGrammarOptions& options)
      : format_(format.calls()),
        mark_(format.CallMark()),
        options_(options),
        grammar_(options.limits) {}

  absl::StatusOr<Grammar> Make(const std::vector<ChatTool>& tools) {
    std::vector<ExpressionId> calls;
    for (size_t i = 0; i < tools.size(); ++i) {
      if (!options_.tool.empty() && tools[i].name != options_.tool) continue;
      auto call = Call(tools[i]);
      if (!call.ok()) {
        return absl::Status(call.status().code(),
                            fmt::format("tools[{}].function.parameters: {}", i,
                                        std::string(call.status().message())));
      }
      calls.push_back(*call);
    }
    if (calls.empty()) {
      return absl::InvalidArgumentError(
          options_.tool.empty()
              ? std::string("tools: there is none that could be called")
              : fmt::format("tool_choice: there is no tool '{}' in tools",
                            options_.tool));
    }
    const RuleId root = grammar_.AddRule();
    grammar_.Define(root, Calls(grammar_.AsRule(grammar_.Choice(calls))));
    grammar_.set_root(root);
    TRIVIUM_RETURN_IF_ERROR(grammar_.Check());
    return std::move(grammar_);
  }

 private:
  // White space between the parts of a JSON text.
  ExpressionId Space() {
    return grammar_.Repeat(
        grammar_.Choice({grammar_.Literal(" "), grammar_.Literal("\n")}), 0, 8);
  }

  // The section: each call with its marks, and what stands around them.
  ExpressionId Calls(ExpressionId call) {
    // A turn of gpt-oss ends with its call.
    if (format_.form == Form::kHarmony) {
      return grammar_.Sequence(
          {grammar_.Literal(options_.with_mark ? " to=functions." : ""), call});
    }
    std::string begin = format_.section_begin, call_begin = format_.call_begin;
    if (!options_.with_mark) {
      std::string& first = Trim(begin).empty() ? call_begin : begin;
      const size_t at = first.find(mark_);
      first.erase(0, at == std::string::npos ? 0 : at + mark_.size());
    }
    const std::string end = format_.call_end;
    std::vector<ExpressionId> parts = {grammar_.Literal(begin)};
    const std::string separator = format_.separator + format_.call_begin;
    if (format_.in_list) {
      parts.push_back(grammar_.Literal("["));
      parts.push_back(Space());
    }
    parts.push_back(grammar_.Literal(call_begin));
    parts.push_back(call);
    parts.push_back(grammar_.Literal(end));
    if (options_.parallel && (format_.parallel || format_.in_list)) {
      std::vector<ExpressionId> more;
      if (format_.in_list) {
        more = {grammar_.Literal(","), Space(), call};
      } else {
        more = {grammar_.Literal(separator), call, grammar_.Literal(end)};
      }
      parts.push_back(grammar_.Repeat(grammar_.Sequence(more), 0, -1));
    }
    if (format_.in_list) {
      parts.push_back(Space());
      parts.push_back(grammar_.Literal("]"));
    }
    // The mark may be a token that ends the turn, which is no text then.
    parts.push_back(grammar_.Optional(grammar_.Literal(format_.section_end)));
    return grammar_.Sequence(std::move(parts));
  }

  // One call, from behind its begin mark to before its end mark.
  absl::StatusOr<ExpressionId> Call(const ChatTool& tool) {
    if (format_.form == Form::kParameters) return Parameters(tool);
    TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId arguments,
                             Schema(tool.parameters));
    if (format_.form == Form::kHarmony) {
      // The channel may have come before a mark that the model wrote.
      std::vector<ExpressionId> headers = {
          grammar_.Literal("<|channel|>commentary json<|message|>")};
      if (!options_.with_mark) {
        headers.push_back(grammar_.Literal(" <|constrain|>json<|message|>"));
      }
      return grammar_.Sequence({grammar_.Literal(tool.name),
                                grammar_.Choice(std::move(headers)),
                                arguments});
    }
    if (format_.form == Form::kNamedJson) {
      std::vector<ExpressionId> parts = {
          grammar_.Literal(tool.name + format_.name_end)};
      if (!format_.id_end.empty()) {
        parts.push_back(grammar_.Repeat(Alphanumeric(), 1, 40));
        parts.push_back(grammar_.Literal(format_.id_end));
      }
      parts.push_back(arguments);
      return grammar_.Sequence(std::move(parts));
    }
    const ExpressionId name = grammar_.Literal(Json(tool.name).dump());
    std::vector<ExpressionId> parts = {grammar_.Literal("{"), Space()};
    if (format_.name_is_key) {
      parts.insert(parts.end(),
                   {name, grammar_.Literal(":"), Space(), arguments});
    }
    for (size_t i = 0; i < format_.members.size(); ++i) {
      const CallMember& member = format_.members[i];
      if (i > 0) parts.insert(parts.end(), {grammar_.Literal(","), Space()});
      parts.insert(parts.end(),
                   {grammar_.Literal(Json(member.key).dump() + ":"), Space()});
      switch (member.role) {
        case CallMember::Role::kName:
          parts.push_back(name);
          break;
        case CallMember::Role::kArguments:
          parts.push_back(arguments);
          break;
        case CallMember::Role::kConstant:
          parts.push_back(grammar_.Literal(member.json));
          break;
        case CallMember::Role::kId:
        case CallMember::Role::kIndex: {
          const bool quoted = member.json.starts_with('"');
          const ExpressionId quote = grammar_.Literal(quoted ? "\"" : "");
          parts.push_back(quote);
          parts.push_back(quoted ? grammar_.Repeat(Alphanumeric(), 1, 40)
                                 : grammar_.Choice({grammar_.Literal("0"),
                                                    grammar_.Bytes('1', '9')}));
          parts.push_back(quote);
        }
      }
    }
    parts.insert(parts.end(), {Space(), grammar_.Literal("}")});
    return grammar_.Sequence(std::move(parts));
  }

  ExpressionId Alphanumeric() {
    return grammar_.Choice({grammar_.Bytes('0', '9'), grammar_.Bytes('a', 'z'),
                            grammar_.Bytes('A', 'Z')});
  }

  absl::StatusOr<ExpressionId> Schema(const Json& schema) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const Grammar part,
        GrammarOfJsonSchema(schema.dump(), {}, options_.limits,
                            options_.check_alive));
    return AddGrammar(part, &grammar_);
  }

  // The parameters in the schema's order, those that are not required optional.
  // An object schema with other keywords says more than a list of parameters.
  absl::StatusOr<ExpressionId> Parameters(const ChatTool& tool) {
    static constexpr std::string_view kKnown[] = {
        "type", "properties", "required", "additionalProperties", "$id"};
    for (const auto& [key, value] : tool.parameters.items()) {
      bool known = SchemaDocument::IsAnnotation(key);
      for (const std::string_view one : kKnown) known |= key == one;
      if (!known) {
        return absl::InvalidArgumentError(fmt::format(
            "#/{}: cannot be held, since this model writes parameters one by "
            "one; use properties and required only",
            key));
      }
    }
    const Json properties = tool.parameters.value("properties", Json::object());
    const Json required = tool.parameters.value("required", Json::array());
    if (!properties.is_object() || !required.is_array()) {
      return absl::InvalidArgumentError(
          "#/properties: an object with properties and a list `required` are "
          "needed");
    }
    std::vector<ExpressionId> parts = {
        grammar_.Literal(tool.name + format_.name_end)};
    std::vector<std::pair<ExpressionId, bool>> all;
    for (const auto& [name, schema] : properties.items()) {
      auto value = Parameter(tool, name, schema);
      if (!value.ok()) {
        return absl::Status(value.status().code(),
                            fmt::format("#/properties/{}: {}", name,
                                        std::string(value.status().message())));
      }
      TRIVIUM_RETURN_IF_ERROR(grammar_.Check());
      bool is_required = false;
      for (const Json& one : required) is_required |= one == name;
      all.emplace_back(*value, is_required);
    }
    // Separators stand between parameters only, whichever are left out.
    if (!all.empty()) parts.push_back(Listed(all));
    parts.push_back(grammar_.Literal(format_.parameters_end));
    return grammar_.Sequence(std::move(parts));
  }

  // A list of items of which some may be left out. Node 2i is before item i
  // with nothing written yet, node 2i + 1 with something.
  ExpressionId Listed(const std::vector<std::pair<ExpressionId, bool>>& items) {
    ExpressionGraph graph;
    for (size_t i = 0; i <= items.size(); ++i) {
      graph.AddNode();
      graph.AddNode();
    }
    const ExpressionId separator =
        grammar_.Literal(format_.parameter_separator);
    for (size_t i = 0; i < items.size(); ++i) {
      const auto [item, required] = items[i];
      const int32_t first = static_cast<int32_t>(2 * i), later = first + 1;
      graph.edges.push_back({first, later + 2, item});
      graph.edges.push_back(
          {later, later + 2, grammar_.Sequence({separator, item})});
      if (required) continue;
      graph.edges.push_back({first, first + 2, ExpressionGraph::kNoLabel});
      graph.edges.push_back({later, later + 2, ExpressionGraph::kNoLabel});
    }
    graph.final[2 * items.size()] = true;
    graph.final[2 * items.size() + 1] = true;
    return grammar_.Graph(std::move(graph));
  }

  absl::StatusOr<ExpressionId> Parameter(const ChatTool& tool,
                                         const std::string& name,
                                         const Json& schema) {
    std::vector<ExpressionId> ways;
    const auto add = [&](const std::string& key_end, ExpressionId value) {
      ways.push_back(
          grammar_.Sequence({grammar_.Literal(key_end), value,
                             grammar_.Literal(format_.parameter_end)}));
    };
    const BareValue kind = BareValueOf(tool, name);
    TRIVIUM_ASSIGN_OR_RETURN(const std::string whole,
                             WithDefinitions(tool, name, schema));
    if (kind == BareValue::kJsonOrString) {
      // A text that is JSON is read as such, so strings have quotation marks.
      TRIVIUM_ASSIGN_OR_RETURN(const Grammar value,
                               GrammarOfJsonSchema(whole, {}, options_.limits,
                                                   options_.check_alive));
      add(format_.other_key_end, AddGrammar(value, &grammar_));
    } else if (IsAnyString(schema)) {
      ways.push_back(grammar_.Sequence(
          {grammar_.Literal(format_.string_key_end),
           TextUpTo(Trim(format_.parameter_end), &grammar_)}));
    } else {
      TRIVIUM_ASSIGN_OR_RETURN(
          const Grammar texts,
          GrammarOfBareStrings(whole, Trim(format_.parameter_end),
                               options_.limits, options_.check_alive));
      add(format_.string_key_end, AddGrammar(texts, &grammar_));
    }
    if (kind == BareValue::kNullOrString) {
      add(format_.other_key_end, grammar_.Literal("null"));
    }
    return grammar_.Sequence({grammar_.Literal(format_.parameter_begin + name),
                              grammar_.Choice(std::move(ways))});
  }

  // True if any string is meant, and nothing else but null.
  static bool IsAnyString(const Json& schema) {
    static constexpr std::string_view kSaysNothing[] = {"title", "description",
                                                        "default", "examples"};
    bool any = false;
    for (const auto& [key, value] : schema.items()) {
      if (key == "type") {
        any = value == "string" ||
              (value.is_array() &&
               std::find(value.begin(), value.end(), "string") != value.end());
      } else if (key == "anyOf" && value.is_array()) {
        any = std::any_of(value.begin(), value.end(), IsAnyString);
      } else if (std::find(std::begin(kSaysNothing), std::end(kSaysNothing),
                           key) == std::end(kSaysNothing)) {
        return false;
      }
    }
    return any;
  }

  // The parameter's schema. References in it point into that of all parameters,
  // which gets a name for this. Each such copy is compiled, so all together are
  // bounded.
  absl::StatusOr<std::string> WithDefinitions(const ChatTool& tool,
                                              const std::string& name,
                                              const Json& schema) {
    const std::string text = schema.dump();
    if (text.find("$ref\"") == text.npos && text.find("Ref\"") == text.npos) {
      return text;
    }
    Json all = tool.parameters;
    all["$id"] = "parameters";
    std::string whole = Json{
        {"$ref", "parameters" + Below(Below("#", "properties"), name)},
        {"x-parameters",
         std::move(all)}}.dump();
    copied_ += whole.size();
    if (copied_ > kMostCopied) {
      return absl::ResourceExhaustedError(fmt::format(
          "too many parameters of large schemas have references: these are "
          "read again for each, {} MiB at most in all; write the parameters "
          "without $ref, or fewer of them",
          kMostCopied >> 20));
    }
    return whole;
  }

  const ToolCallFormat& format_;
  const std::string mark_;  // ChatFormat::CallMark
  const ToolGrammarOptions& options_;
  Grammar grammar_;
  size_t copied_ = 0;  // bytes that WithDefinitions has returned
};

}  // namespace

bool HasToolGrammar(const ChatFormat& format) {
  const ToolCallFormat& calls = format.calls();
  return calls.form != Form::kUnknown && calls.form != Form::kQuoted &&
         !calls.arguments_are_text;
}

absl::StatusOr<Grammar> GrammarOfToolCalls(const ChatFormat& format,
                                           const std::vector<ChatTool>& tools,
                                           const ToolGrammarOptions& options) {
  if (!format.writes_calls()) {
    return absl::InvalidArgumentError(
        "tools: the model's chat template does not tell how it writes calls, "
        "so they cannot be required");
  }
  if (!HasToolGrammar(format)) {
    return absl::InvalidArgumentError(
        "tools: this model's calls are not written as JSON, so they cannot be "
        "held to a schema; use tool_choice auto");
  }
  return ToolGrammar(format, options).Make(tools);
}

}  // namespace trivium
