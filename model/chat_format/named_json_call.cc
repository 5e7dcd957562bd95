#include <utility>

#include "model/chat_format/call_reader.h"
#include "model/chat_format/json_scanner.h"
#include "model/chat_format/text_units.h"

namespace trivium {

namespace {

// NAME name_end [ID id_end] {...}
class NamedJsonCall : public CallReader {
 public:
  NamedJsonCall(const ToolCallFormat* format,
                const std::vector<ChatTool>* tools, DeltaCollector* deltas)
      : CallReader(tools, deltas),
        name_end_(Trim(format->name_end)),
        id_end_(Trim(format->id_end)),
        has_id_(format->has_id) {}
  // Begins behind the name.
  NamedJsonCall(std::string name, const std::vector<ChatTool>* tools,
                DeltaCollector* deltas)
      : CallReader(tools, deltas), has_id_(false), state_(State::kOpen) {
    name_ = std::move(name);
  }

  Result Feed(char c) override {
    switch (state_) {
      case State::kName:
        if (name_end_.empty() && c == '{') {
          name_ = Trim(text_);
          state_ = State::kOpen;
          return Open(c);
        }
        if (!Add(c)) return Result::kMalformed;
        if (!name_end_.empty() && text_.ends_with(name_end_)) {
          name_ = TakeText(name_end_.size());
          state_ = id_end_.empty() ? State::kOpen : State::kId;
        }
        return Result::kMore;
      case State::kId:
        if (!Add(c)) return Result::kMalformed;
        if (text_.ends_with(id_end_)) {
          id_ = TakeText(id_end_.size());
          if (!has_id_) id_.clear();
          state_ = State::kOpen;
        }
        return Result::kMore;
      case State::kOpen:
        return Open(c);
      case State::kArguments:
        break;
    }
    const JsonScanner::Result result = scanner_.Feed(c);
    if (result == JsonScanner::Result::kError) return Result::kMalformed;
    Arguments({&c, 1});
    return result == JsonScanner::Result::kLast ? Result::kDone : Result::kMore;
  }

 private:
  enum class State : uint8_t { kName, kId, kOpen, kArguments };

  bool Add(char c) {
    text_.push_back(c);
    return text_.size() <= kMostNameBytes;
  }

  std::string TakeText(size_t mark) {
    text_.resize(text_.size() - mark);
    std::string taken(Trim(text_));
    text_.clear();
    return taken;
  }

  Result Open(char c) {
    if (IsSpace(c)) return Result::kMore;
    if (c != '{' || !Tell(name_, id_)) return Result::kMalformed;
    state_ = State::kArguments;
    return Feed(c);
  }

  const std::string name_end_, id_end_;
  const bool has_id_;
  State state_ = State::kName;
  JsonScanner scanner_;
  std::string text_, name_, id_;
};

}  // namespace

std::unique_ptr<CallReader> MakeNamedJsonCall(
    const ToolCallFormat* format, const std::vector<ChatTool>* tools,
    DeltaCollector* deltas) {
  return std::make_unique<NamedJsonCall>(format, tools, deltas);
}

std::unique_ptr<CallReader> MakeArgumentsReader(
    std::string name, const std::vector<ChatTool>* tools,
    DeltaCollector* deltas) {
  return std::make_unique<NamedJsonCall>(std::move(name), tools, deltas);
}

}  // namespace trivium
