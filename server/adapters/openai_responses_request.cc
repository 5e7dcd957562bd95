#include "server/adapters/openai_responses_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.h"
#include "server/adapters/chat_request.h"
#include "server/adapters/json_body.h"
#include "server/adapters/json_fields.h"
#include "server/adapters/openai_constraint.h"
#include "server/adapters/openai_responses_input.h"
#include "server/adapters/openai_tools.h"
#include "server/adapters/written_body.h"
#include "server/errors/status.h"

namespace trivium {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr int kMostResponsesLogprobs = 20;

// Reads a request once. The members' order here is that of errors.
class ResponsesReader {
 public:
  ResponsesReader(std::string_view body, const json& value,
                  IgnoredMembers* ignored, ResponsesRequest* out)
      : written_(body), fields_(value, ""), ignored_(ignored), out_(out) {}

  absl::Status Read() {
    RefuseNamesOfChats();
    RefuseWhatIsStored();
    ReadCompletionOptions(&fields_, ignored_, request(), &out_->options);
    ReadLimits();
    ReadLogprobs();
    ReadText();
    ReadReasoning();
    ReadTools();
    ReadToolChoice();
    ReadInput();
    ReadOthers();
    // Log-probabilities are those of all that the model writes.
    if (!out_->options.logprobs) chat()->set_answer_parts(true);
    request()->mutable_decoding()->set_sampling_defaults(
        v1::SAMPLING_DEFAULTS_CHAT);
    return fields_.Done();
  }

 private:
  v1::GenerateRequest* request() { return &out_->request; }
  v1::Chat* chat() { return request()->mutable_chat(); }
  ordered_json& echo() { return out_->echo; }

  // Members of /v1/chat/completions, which have other names here.
  void RefuseNamesOfChats() {
    for (const auto& [name, here] :
         {std::pair("messages", "input"),
          {"max_tokens", "max_output_tokens"},
          {"max_completion_tokens", "max_output_tokens"},
          {"response_format", "text.format"},
          {"reasoning_effort", "reasoning.effort"}}) {
      if (fields_.Value(name) != nullptr) {
        fields_.Fail(name, fmt::format("is {} in /v1/responses", here));
      }
    }
    fields_.Only("n", {1},
                 "is not a member of responses; send the request as often");
  }

  void RefuseWhatIsStored() {
    constexpr char kSendItems[] =
        "is not supported, as nothing is stored here; send the items of the "
        "conversation so far as input";
    fields_.Only("previous_response_id", {}, kSendItems);
    fields_.Only("conversation", {}, kSendItems);
    fields_.Only("prompt", {},
                 "is not supported, as no templates are stored here; send the "
                 "text as instructions and input");
    fields_.Only("background", {false},
                 "is not supported, as nothing is stored here; leave it out, "
                 "and set stream to see the answer as it comes");
    fields_.Only("truncation", {"disabled"},
                 "must be disabled: nothing is dropped unasked; leave out the "
                 "oldest items of an input that is too long");
  }

  void ReadLimits() {
    if (out_->options.chunk_usage) RefuseChunkUsage(&fields_);
    ReadLimit(&fields_, {"max_output_tokens", "n_predict"}, request(),
              &out_->options);
    if (out_->options.prompt_only) {
      fields_.Fail(out_->options.max_tokens_name, "must be at least 1");
    }
    const v1::DecodingOptions& decoding = request()->decoding();
    echo()["max_output_tokens"] = decoding.has_max_new_tokens()
                                      ? ordered_json(decoding.max_new_tokens())
                                      : ordered_json();
    for (const char* const name : {"temperature", "top_p"}) {
      const json* const value = fields_.Value(name);
      echo()[name] = value == nullptr ? ordered_json() : ordered_json(*value);
    }
  }

  // Log-probabilities come with top_logprobs, or if `include` names them.
  void ReadLogprobs() {
    const int64_t alternatives =
        fields_.Integer("top_logprobs", 0, kMostResponsesLogprobs).value_or(0);
    bool asked = alternatives > 0;
    const std::vector<std::string> includes = fields_.Strings("include");
    for (size_t i = 0; i < includes.size(); ++i) {
      if (includes[i] == "message.output_text.logprobs") {
        asked = true;
        // Agents ask for it in every request. Thoughts are not encrypted here:
        // an answer has them as text.
      } else if (includes[i] != "reasoning.encrypted_content") {
        fields_.Fail(fmt::format("include[{}]", i),
                     fmt::format("is '{}'; the answers here have only "
                                 "message.output_text.logprobs to include",
                                 Shorten(includes[i])));
      }
    }
    echo()["top_logprobs"] = alternatives;
    if (!asked) return;
    out_->options.logprobs = true;
    out_->options.top_logprobs = static_cast<int>(alternatives);
    request()->mutable_decoding()->set_top_logprobs(
        static_cast<uint32_t>(std::max<int64_t>(1, alternatives)));
  }

  void ReadText() {
    echo()["text"] = {{"format", {{"type", "text"}}}, {"verbosity", "medium"}};
    v1::DecodingOptions* const decoding = request()->mutable_decoding();
    const json* const value = fields_.Value("text");
    if (value == nullptr) {
      return ReadResponsesConstraint(&written_, &fields_, nullptr, decoding,
                                     &out_->options);
    }
    JsonFields text(*value, "text.");
    ReadResponsesConstraint(&written_, &fields_, &text, decoding,
                            &out_->options);
    text.Only("verbosity", {"medium"},
              "must be medium: templates have no place for another; say it in "
              "instructions");
    if (text.Value("format") != nullptr) {
      echo()["text"]["format"] = written_.At("/text/format");
    }
    fields_.Keep(text.Done());
  }

  void ReadReasoning() {
    echo()["reasoning"] = {{"effort", nullptr}, {"summary", nullptr}};
    const json* const value = fields_.Value("reasoning");
    if (value == nullptr) return;
    JsonFields reasoning(*value, "reasoning.");
    reasoning.Only("effort",
                   {"none", "minimal", "low", "medium", "high", "xhigh"},
                   "must be none, minimal, low, medium, high or xhigh");
    out_->effort = reasoning.String("effort");
    if (out_->effort) echo()["reasoning"]["effort"] = *out_->effort;
    // Nobody summarizes: an answer has the thoughts themselves.
    reasoning.String("summary");
    reasoning.String("generate_summary");
    fields_.Keep(reasoning.Done());
  }

  void ReadTools() {
    echo()["tools"] = ordered_json::array();
    const json* const tools = fields_.Value("tools");
    if (tools == nullptr) return;
    if (!tools->is_array()) return fields_.Fail("tools", "must be a list");
    for (size_t i = 0; i < tools->size(); ++i) {
      const std::string path = fmt::format("tools[{}]", i);
      JsonFields tool((*tools)[i], path + ".");
      tool.Require("type");
      tool.Only("type", {"function"},
                "must be function: this server runs no tools itself; offer a "
                "function of yours");
      tool.Require("name");
      tool_names_.push_back(tool.String("name").value_or(""));
      tool.String("description");
      tool.Value("parameters");
      // Arguments are always held to the schema.
      tool.Bool("strict");
      fields_.Keep(tool.Done());
      if (!fields_.ok()) return;
      AddTool(written_.At(fmt::format("/tools/{}", i)), i);
    }
    echo()["tools"] = written_.At("/tools");
    if (out_->options.logprobs && !tool_names_.empty()) {
      fields_.Fail("top_logprobs",
                   "is of a text, and with tools an answer has other parts; "
                   "leave one of them out");
    }
  }

  // Templates read tools as /v1/chat/completions has them.
  void AddTool(const ordered_json& tool, size_t i) {
    ordered_json function = {{"name", tool["name"]}};
    if (tool.contains("description") && !tool["description"].is_null()) {
      function["description"] = tool["description"];
    }
    const bool has_parameters =
        tool.contains("parameters") && !tool["parameters"].is_null();
    function["parameters"] =
        has_parameters ? tool["parameters"]
                       : ordered_json{{"type", "object"},
                                      {"properties", ordered_json::object()}};
    AddFunction(function, chat());
    AddName(fmt::format("chat.tools[{}].function", i),
            fmt::format("tools[{}]", i));
  }

  void ReadToolChoice() {
    const auto parallel = fields_.Bool("parallel_tool_calls");
    echo()["parallel_tool_calls"] = parallel.value_or(true);
    if (parallel && !tool_names_.empty()) {
      chat()->set_parallel_tool_calls(*parallel);
    }
    echo()["tool_choice"] = "auto";
    const json* const choice = fields_.Value("tool_choice");
    if (choice == nullptr) return;
    echo()["tool_choice"] = *choice;
    if (choice->is_object()) return ReadChosenTool(*choice);
    if (*choice == "none") {
      if (!tool_names_.empty()) {
        chat()->set_tool_choice(v1::Chat::TOOL_CHOICE_NONE);
      }
    } else if (*choice == "required") {
      if (tool_names_.empty()) {
        fields_.Fail("tool_choice", "is required, and there are no tools");
      }
      chat()->set_tool_choice(v1::Chat::TOOL_CHOICE_REQUIRED);
    } else if (*choice != "auto") {
      fields_.Fail("tool_choice",
                   "must be none, auto, required, or an object with the type "
                   "function and a name");
    }
  }

  void ReadChosenTool(const json& choice) {
    JsonFields in(choice, "tool_choice.");
    in.Require("type");
    in.Only("type", {"function", "allowed_tools"},
            "must be function or allowed_tools");
    if (in.String("type") == "allowed_tools") return ReadAllowedTools(&in);
    in.Require("name");
    const std::string name = in.String("name").value_or("");
    fields_.Keep(in.Done());
    if (std::find(tool_names_.begin(), tool_names_.end(), name) ==
        tool_names_.end()) {
      fields_.Fail("tool_choice.name", fmt::format("is '{}', which none of the "
                                                   "tools is called",
                                                   Shorten(name)));
    }
    chat()->set_tool_choice(v1::Chat::TOOL_CHOICE_REQUIRED);
    chat()->set_tool_name(name);
    // OpenAI: "call exactly one specific function".
    chat()->set_parallel_tool_calls(false);
  }

  void ReadAllowedTools(JsonFields* choice) {
    ToolNames moved;
    KeepAllowedTools(
        choice, tool_names_,
        [](JsonFields* tool) {
          tool->Require("type");
          tool->Only("type", {"function"}, "must be function");
          tool->Require("name");
          return tool->String("name").value_or("");
        },
        chat(), &moved);
    fields_.Keep(choice->Done());
    out_->names.clear();  // of tools, whose places were others
    for (const auto& [field, name] : moved) AddName(field + ".function", name);
  }

  void ReadInput() {
    ResponsesInput input(chat());
    echo()["instructions"] = nullptr;
    if (const auto instructions = fields_.String("instructions")) {
      echo()["instructions"] = *instructions;
      input.AddInstructions(*instructions);
    }
    input.Read(&fields_);
    for (size_t i = 0; i < input.fields().size(); ++i) {
      AddName(fmt::format("chat.messages[{}]", i), input.fields()[i]);
    }
  }

  void ReadOthers() {
    echo()["metadata"] = ordered_json::object();
    if (const json* const metadata = fields_.Value("metadata")) {
      if (!metadata->is_object()) {
        fields_.Fail("metadata", "must be an object");
      }
      echo()["metadata"] = *metadata;
    }
    // `store`, too, is ignored (ReadCompletionOptions). Calls of tools that a
    // server runs are none here.
    fields_.Ignore(kOpenAiShape, ignored_,
                   {"max_tool_calls", "prompt_cache_options"});
  }

  void AddName(std::string field, std::string name) {
    out_->names.emplace_back(std::move(field), std::move(name));
  }

  WrittenBody written_;
  JsonFields fields_;
  IgnoredMembers* const ignored_;
  ResponsesRequest* const out_;
  std::vector<std::string> tool_names_;
};

}  // namespace

std::vector<FieldName> ResponsesRequest::field_names() const {
  std::vector<FieldName> all;
  for (const auto& [field, name] : names) all.push_back({field, name});
  all.insert(all.end(), {{"chat.tools", "tools"},
                         {"chat.tool_name", "tool_choice.name"},
                         {"chat.tool_choice", "tool_choice"},
                         {"chat.parallel_tool_calls", "parallel_tool_calls"},
                         {"chat.answer_parts", "tools"},
                         {"chat", "input"}});
  AddOptionNames(options, &all);
  return all;
}

absl::Status ReadResponsesRequest(std::string_view body,
                                  IgnoredMembers* ignored,
                                  ResponsesRequest* out) {
  TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadJsonBody(body));
  return ResponsesReader(body, value, ignored, out).Read();
}

}  // namespace trivium
