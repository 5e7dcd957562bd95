#ifndef TRIVIUM_MODEL_CHAT_FORMAT_CALL_READER_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_CALL_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/chat_format/chat_delta.h"
#include "model/chat_format/chat_tools.h"
#include "model/chat_format/tool_call_format.h"

namespace trivium {

// Reads one call byte by byte, from behind its begin mark to its last byte; the
// end mark of forms whose arguments are JSON is left to the caller. A call is
// told (DeltaCollector::BeginCall) as soon as its name is that of a tool and
// its arguments begin; until then it can still turn out to be no call.
class CallReader {
 public:
  enum class Result : uint8_t {
    kMore,
    kDone,       // the byte was the call's last
    kMalformed,  // the byte, which was not taken, cannot follow
  };

  virtual ~CallReader() = default;
  // Must not be called after kDone or kMalformed.
  virtual Result Feed(char c) = 0;
  // True once the call was told.
  bool told() const { return told_; }

 protected:
  CallReader(const std::vector<ChatTool>* tools, DeltaCollector* deltas)
      : tools_(tools), deltas_(deltas) {}

  // Tells the call; false if there is no such tool.
  bool Tell(std::string_view name, std::string id);
  void Arguments(std::string_view json) {
    deltas_->Text(ChatDelta::Kind::kArguments, json);
  }
  const ChatTool& tool() const { return *tool_; }

 private:
  const std::vector<ChatTool>* tools_;
  DeltaCollector* deltas_;
  const ChatTool* tool_ = nullptr;
  bool told_ = false;
};

// A name is at most this long; longer ones are no calls.
inline constexpr size_t kMostNameBytes = 256;

// The readers by form; MakeCallReader chooses. All pointers outlive the reader.
std::unique_ptr<CallReader> MakeJsonCall(const ToolCallFormat* format,
                                         const std::vector<ChatTool>* tools,
                                         DeltaCollector* deltas);
std::unique_ptr<CallReader> MakeNamedJsonCall(
    const ToolCallFormat* format, const std::vector<ChatTool>* tools,
    DeltaCollector* deltas);
std::unique_ptr<CallReader> MakeParametersCall(
    const ToolCallFormat* format, const std::vector<ChatTool>* tools,
    DeltaCollector* deltas);
std::unique_ptr<CallReader> MakeQuotedCall(const ToolCallFormat* format,
                                           const std::vector<ChatTool>* tools,
                                           DeltaCollector* deltas);

// `format` is neither kUnknown nor kHarmony.
std::unique_ptr<CallReader> MakeCallReader(const ToolCallFormat* format,
                                           const std::vector<ChatTool>* tools,
                                           DeltaCollector* deltas);

// Reads arguments that are a JSON object, for a name that is known.
std::unique_ptr<CallReader> MakeArgumentsReader(
    std::string name, const std::vector<ChatTool>* tools,
    DeltaCollector* deltas);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_CALL_READER_H_
