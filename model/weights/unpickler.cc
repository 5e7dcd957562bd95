// A stack machine like Python's, reduced to what torch.save writes. It is safe
// with hostile files because:
// - a global is only a name, and must be in the list of pickle_globals.h;
// - a call (REDUCE) creates a dict or a description of a tensor; nothing runs;
// - values are stored by index in PickleStack, which bounds their number and
//   the items that are copied or walked, so no pickle can grow exponentially;
// - nothing recurses over values, so depth is harmless;
// - an unknown opcode is an error.
#include "model/weights/unpickler.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "model/weights/pickle_globals.h"
#include "model/weights/pickle_opcodes.h"
#include "model/weights/pickle_reader.h"
#include "model/weights/pickle_stack.h"
#include "model/weights/tensor_file.h"

namespace trivium {
namespace {

using Kind = PickleValue::Kind;
using namespace pickle_opcode;  // NOLINT: only the names of the opcodes

// Executes the opcodes and the few allowed calls. The loop stops at the stack's
// first error.
class Machine {
 public:
  explicit Machine(std::span<const std::byte> bytes) : reader_(bytes) {}

  absl::StatusOr<Pickle> Run() {
    while (!root_ && stack_.error().empty()) {
      const size_t position = reader_.position();
      const auto opcode = static_cast<uint8_t>(reader_.Unsigned(1));
      if (!reader_.failed()) Execute(opcode);
      if (reader_.failed()) stack_.Fail("the data ends early");
      if (!stack_.error().empty()) {
        return absl::InvalidArgumentError(fmt::format(
            "at byte {} of the pickle: {}", position, stack_.error()));
      }
    }
    return Pickle{.values = std::move(stack_).TakeValues(),
                  .root = *root_,
                  .size = reader_.position()};
  }

 private:
  void Execute(uint8_t opcode);
  void ExecuteContainer(uint8_t opcode);
  void PushLong(uint64_t size);
  void PushGlobal(std::string name);
  void Call();
  void PersistentLoad();

  PickleReader reader_;
  PickleStack stack_;
  std::optional<uint32_t> root_;  // set by STOP
};

// Pushes an integer of any size; those beyond 64 bits remain bytes.
void Machine::PushLong(uint64_t size) {
  std::string text = reader_.String(size);
  if (text.size() > 8) return stack_.PushText(Kind::kBytes, std::move(text));
  uint64_t bits = !text.empty() && (text.back() & 0x80) ? ~uint64_t{0} : 0;
  for (size_t i = text.size(); i-- > 0;) {
    bits = bits << 8 | static_cast<uint8_t>(text[i]);
  }
  stack_.PushInteger(Kind::kInteger, static_cast<int64_t>(bits));
}

void Machine::PushGlobal(std::string name) {
  if (reader_.failed()) return;
  if (!IsAllowedGlobal(name)) {
    return stack_.Fail(fmt::format(
        "it names {}, which is not needed for tensors and is never run; "
        "use weights from a source that you trust, or convert them to "
        "safetensors",
        Quoted(name)));
  }
  stack_.PushText(Kind::kGlobal, std::move(name));
}

void Machine::Call() {
  const std::optional<uint32_t> arguments_index = stack_.Pop();
  const std::optional<uint32_t> callable_index = stack_.Pop();
  if (!arguments_index || !callable_index) return;
  const PickleValue& callable = stack_.at(*callable_index);
  const PickleValue& arguments = stack_.at(*arguments_index);
  if (callable.kind != Kind::kGlobal || arguments.kind != Kind::kTuple) {
    return stack_.Fail("it calls something that is not a function");
  }
  const std::string& name = callable.text;
  const std::vector<uint32_t>& items = arguments.items;
  const auto is = [&](size_t index, Kind kind) {
    return index < items.size() && stack_.at(items[index]).kind == kind;
  };
  if (name == kOrderedDict && items.empty()) {
    return stack_.PushItems(Kind::kDict, {});
  }
  if (name == kOrderedDict && items.size() == 1 && is(0, Kind::kList)) {
    const std::vector<uint32_t>& pairs = stack_.at(items[0]).items;
    if (!stack_.CountItems(pairs.size())) return;
    std::vector<uint32_t> entries;
    for (const uint32_t pair : pairs) {
      const PickleValue& value = stack_.at(pair);
      const bool sequence =
          value.kind == Kind::kTuple || value.kind == Kind::kList;
      if (!sequence || value.items.size() != 2) {
        return stack_.Fail(
            "an OrderedDict is made of something other than pairs");
      }
      entries.insert(entries.end(), value.items.begin(), value.items.end());
    }
    return stack_.PushItems(Kind::kDict, std::move(entries));
  }
  if ((name == kRebuildTensor || name == kRebuildTensorV2) &&
      items.size() >= 4 && items.size() <= 7 && is(0, Kind::kStorage)) {
    return stack_.PushItems(Kind::kTensor, items);
  }
  if (name == kRebuildParameter && is(0, Kind::kTensor)) {
    return stack_.PushIndex(items[0]);
  }
  stack_.Fail(
      fmt::format("'{}' is called with arguments that it does not take", name));
}

void Machine::PersistentLoad() {
  const std::optional<uint32_t> id = stack_.Pop();
  if (!id) return;
  const std::vector<uint32_t>& items = stack_.at(*id).items;
  const auto is = [&](size_t index, Kind kind) {
    return index < items.size() && stack_.at(items[index]).kind == kind;
  };
  if (stack_.at(*id).kind != Kind::kTuple || !is(0, Kind::kString) ||
      stack_.at(items[0]).text != "storage" || !is(1, Kind::kGlobal) ||
      !is(2, Kind::kString) || !is(4, Kind::kInteger)) {
    return stack_.Fail("a persistent id does not describe a storage");
  }
  stack_.PushItems(Kind::kStorage, items);
}

void Machine::ExecuteContainer(uint8_t opcode) {
  switch (opcode) {
    case kEmptyList:
      return stack_.PushItems(Kind::kList, {});
    case kEmptyTuple:
      return stack_.PushItems(Kind::kTuple, {});
    case kEmptyDict:
      return stack_.PushItems(Kind::kDict, {});
    case kTuple1:
    case kTuple2:
    case kTuple3:
      return stack_.PushTuple(opcode - kTuple1 + 1);
    case kTuple:
      return stack_.PushItems(Kind::kTuple, stack_.PopToMark());
    case kList:
      return stack_.PushItems(Kind::kList, stack_.PopToMark());
    case kDict: {
      const std::vector<uint32_t> items = stack_.PopToMark();
      stack_.PushItems(Kind::kDict, {});
      return stack_.Extend(Kind::kDict, items);
    }
    case kAppend: {
      const std::optional<uint32_t> value = stack_.Pop();
      if (value) stack_.Extend(Kind::kList, {*value});
      return;
    }
    case kAppends:
      return stack_.Extend(Kind::kList, stack_.PopToMark());
    case kSetItem: {
      const std::optional<uint32_t> value = stack_.Pop();
      const std::optional<uint32_t> key = stack_.Pop();
      if (key && value) stack_.Extend(Kind::kDict, {*key, *value});
      return;
    }
    case kSetItems:
      return stack_.Extend(Kind::kDict, stack_.PopToMark());
    case kBuild:
      // The state of an object: OrderedDicts have a `_metadata`, which says
      // nothing about tensors.
      stack_.Pop();
      return stack_.Extend(Kind::kDict, {});
    default:
      return stack_.Fail(fmt::format(
          "opcode 0x{:02x} is not needed for tensors and is refused; convert "
          "the weights to safetensors",
          opcode));
  }
}

void Machine::Execute(uint8_t opcode) {
  switch (opcode) {
    case kProto:
      reader_.Unsigned(1);
      return;
    case kFrame:
      reader_.Unsigned(8);
      return;
    case kStop:
      root_ = stack_.Pop();
      return;
    case kMark:
      return stack_.Mark();
    case kPop:
      stack_.Pop();
      return;
    case kPopMark:
      stack_.PopToMark();
      return;
    case kDup:
      return stack_.PushTop();
    case kNone:
      return stack_.Push({});
    case kNewTrue:
    case kNewFalse:
      return stack_.PushInteger(Kind::kBool, opcode == kNewTrue);
    case kBinInt:
      return stack_.PushInteger(Kind::kInteger, reader_.Signed32());
    case kBinInt1:
      return stack_.PushInteger(Kind::kInteger, reader_.Unsigned(1));
    case kBinInt2:
      return stack_.PushInteger(Kind::kInteger, reader_.Unsigned(2));
    case kLong1:
      return PushLong(reader_.Unsigned(1));
    case kLong4:
      return PushLong(reader_.Unsigned(4));
    case kBinFloat: {
      PickleValue value;
      value.kind = Kind::kFloat;
      value.real = reader_.BigEndianDouble();
      return stack_.Push(std::move(value));
    }
    case kShortBinString:
    case kShortBinUnicode:
      return stack_.PushText(Kind::kString,
                             reader_.String(reader_.Unsigned(1)));
    case kBinString:
    case kBinUnicode:
      return stack_.PushText(Kind::kString,
                             reader_.String(reader_.Unsigned(4)));
    case kBinUnicode8:
      return stack_.PushText(Kind::kString,
                             reader_.String(reader_.Unsigned(8)));
    case kShortBinBytes:
      return stack_.PushText(Kind::kBytes, reader_.String(reader_.Unsigned(1)));
    case kBinBytes:
      return stack_.PushText(Kind::kBytes, reader_.String(reader_.Unsigned(4)));
    case kBinPut:
      return stack_.Memoize(reader_.Unsigned(1));
    case kLongBinPut:
      return stack_.Memoize(reader_.Unsigned(4));
    case kMemoize:
      return stack_.Memoize();
    case kBinGet:
      return stack_.Recall(reader_.Unsigned(1));
    case kLongBinGet:
      return stack_.Recall(reader_.Unsigned(4));
    case kGlobal: {
      const std::string module = reader_.Line();
      return PushGlobal(module + "." + reader_.Line());
    }
    case kStackGlobal: {
      const std::optional<uint32_t> name = stack_.Pop();
      const std::optional<uint32_t> module = stack_.Pop();
      if (!name || !module) return;
      return PushGlobal(stack_.at(*module).text + "." + stack_.at(*name).text);
    }
    case kBinPersistentId:
      return PersistentLoad();
    case kReduce:
      return Call();
    default:
      return ExecuteContainer(opcode);
  }
}

}  // namespace

const PickleValue* Pickle::Find(const PickleValue& dict,
                                std::string_view key) const {
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& name = at(dict.items[i]);
    if (name.kind == Kind::kString && name.text == key) {
      return &at(dict.items[i + 1]);
    }
  }
  return nullptr;
}

absl::StatusOr<Pickle> Unpickle(std::span<const std::byte> bytes) {
  return Machine(bytes).Run();
}

}  // namespace trivium
