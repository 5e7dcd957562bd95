#include "model/chat_format/call_reader.h"

#include <utility>

namespace trivium {

bool CallReader::Tell(std::string_view name, std::string id) {
  tool_ = FindTool(*tools_, name);
  if (tool_ == nullptr) return false;
  told_ = true;
  deltas_->BeginCall(tool_->name, std::move(id));
  return true;
}

std::unique_ptr<CallReader> MakeCallReader(const ToolCallFormat* format,
                                           const std::vector<ChatTool>* tools,
                                           DeltaCollector* deltas) {
  switch (format->form) {
    case ToolCallFormat::Form::kNamedJson:
      return MakeNamedJsonCall(format, tools, deltas);
    case ToolCallFormat::Form::kParameters:
      return MakeParametersCall(format, tools, deltas);
    case ToolCallFormat::Form::kQuoted:
      return MakeQuotedCall(format, tools, deltas);
    default:
      return MakeJsonCall(format, tools, deltas);
  }
}

}  // namespace trivium
