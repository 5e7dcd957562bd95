#ifndef TRIVIUM_MODEL_CHAT_FORMAT_TOOL_CALL_FORMAT_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_TOOL_CALL_FORMAT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace trivium {

// A member of the JSON object that is a call.
struct CallMember {
  enum class Role : uint8_t {
    kName,
    kArguments,
    kId,
    kIndex,     // counts the calls of a message: 0, 1, ...
    kConstant,  // the same in each call
  };
  std::string key;
  Role role = Role::kConstant;
  std::string json = {};  // of the first call; "" for kName and kArguments
};

// The form of a model's tool calls:
//
//   section_begin  call  separator  call  ...  section_end
//
// and each call, by form:
//
//   kJson        call_begin {"name": NAME, "arguments": {...}} call_end
//   kNamedJson   call_begin NAME name_end [ID id_end] {...} call_end
//   kParameters  call_begin NAME name_end
//                  parameter_begin KEY string_key_end VALUE parameter_end
//                  parameter_separator ...
//                call_end
//   kQuoted      call_begin NAME {KEY:quote VALUE quote,KEY:7} call_end
//   kHarmony     gpt-oss's channels (harmony_reader.cc)
//
// Marks are as the template writes them, white space included, save that
// section_begin (or call_begin if there is no section) begins with none.
// Readers take any white space around a mark, or none.
struct ToolCallFormat {
  enum class Form : uint8_t {
    kUnknown,  // the template writes no calls, or in no form that is known
    kJson,
    kNamedJson,
    kParameters,
    kQuoted,
    kHarmony,
  };
  Form form = Form::kUnknown;
  bool parallel = false;  // a message may have several calls
  // The template wants the arguments of earlier calls as JSON text, as OpenAI's
  // messages have them; else as a JSON value.
  bool arguments_as_text = false;

  std::string section_begin, section_end;
  std::string call_begin, call_end;
  std::string separator;

  // kJson
  bool in_list = false;             // the calls are the items of one JSON list
  bool name_is_key = false;         // {NAME: {...}}; `members` is empty
  bool arguments_are_text = false;  // the arguments are a JSON string of JSON
  std::vector<CallMember> members;  // in the order of writing

  // kNamedJson and kParameters
  std::string name_end;
  std::string id_end;   // kNamedJson: ends the call's id or number; "": none
  bool has_id = false;  // what stands before id_end is the id

  // kParameters
  std::string parameter_begin, string_key_end, parameter_end;
  std::string other_key_end;  // of values that are no strings; often the same
  std::string parameter_separator;
  std::string parameters_end;  // white space behind the last parameter

  // kQuoted
  std::string quote;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_TOOL_CALL_FORMAT_H_
