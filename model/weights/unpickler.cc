#include "model/weights/unpickler.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <utility>

#include "model/weights/pickle_globals.h"
#include "model/weights/pickle_opcodes.h"
#include "model/weights/pickle_reader.h"
#include "model/weights/tensor_file.h"

namespace trivium {
namespace {

using Kind = PickleValue::Kind;
using namespace pickle_opcode;  // NOLINT: only the names of the opcodes

// A state dict needs about 15 values a tensor; this is room for 60,000.
constexpr size_t kMaxValues = 1 << 20;
// Items of all containers together, and places on the stack: what bounds the
// memory of a pickle that repeats itself.
constexpr size_t kMaxItems = 1 << 23;

// Pickle's stack machine. Each method that can fail sets `error_`; the loop
// stops at the first one.
class Machine {
 public:
  explicit Machine(std::span<const std::byte> bytes) : reader_(bytes) {}

  absl::StatusOr<Pickle> Run() {
    while (!done_ && error_.empty()) {
      const size_t position = reader_.position();
      const auto opcode = static_cast<uint8_t>(reader_.Unsigned(1));
      if (!reader_.failed()) Execute(opcode);
      if (reader_.failed() && error_.empty()) error_ = "the data ends early";
      if (!error_.empty()) {
        return absl::InvalidArgumentError(
            fmt::format("at byte {} of the pickle: {}", position, error_));
      }
    }
    pickle_.size = reader_.position();
    return std::move(pickle_);
  }

 private:
  void Execute(uint8_t opcode);
  void ExecuteContainer(uint8_t opcode);

  bool CountItems(size_t count) {
    items_ += count;
    if (items_ > kMaxItems) Fail("it has more items than any model needs");
    return items_ <= kMaxItems;
  }

  void Fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  void PushIndex(uint32_t index) {
    if (stack_.size() >= kMaxItems) {
      return Fail("it has more items than any model needs");
    }
    stack_.push_back(index);
  }

  void Push(PickleValue value) {
    if (pickle_.values.size() >= kMaxValues) {
      return Fail("it has more values than any model needs");
    }
    PushIndex(static_cast<uint32_t>(pickle_.values.size()));
    pickle_.values.push_back(std::move(value));
  }
  void PushInteger(Kind kind, int64_t integer) {
    PickleValue value;
    value.kind = kind;
    value.integer = integer;
    Push(std::move(value));
  }
  void PushText(Kind kind, std::string text) {
    PickleValue value;
    value.kind = kind;
    value.text = std::move(text);
    Push(std::move(value));
  }
  void PushItems(Kind kind, std::vector<uint32_t> items) {
    if (!CountItems(items.size())) return;
    PickleValue value;
    value.kind = kind;
    value.items = std::move(items);
    Push(std::move(value));
  }

  // A value above the last mark; nothing to pop is an error.
  std::optional<uint32_t> Pop() {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) {
      Fail("the stack is empty");
      return std::nullopt;
    }
    const uint32_t value = stack_.back();
    stack_.pop_back();
    return value;
  }

  // Everything above the last mark, which goes too.
  std::vector<uint32_t> PopToMark() {
    if (marks_.empty()) {
      Fail("there is no mark");
      return {};
    }
    std::vector<uint32_t> items(stack_.begin() + marks_.back(), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }

  void PushTuple(int size) {
    std::vector<uint32_t> items(size);
    for (int i = size - 1; i >= 0; --i) {
      const std::optional<uint32_t> value = Pop();
      if (!value) return;
      items[i] = *value;
    }
    PushItems(Kind::kTuple, std::move(items));
  }

  // Appends to the container on top of the stack.
  void Extend(Kind kind, const std::vector<uint32_t>& items) {
    if (!error_.empty()) return;
    if (stack_.empty() || pickle_.values[stack_.back()].kind != kind) {
      return Fail("it adds to something that is not a container");
    }
    if (kind == Kind::kDict && items.size() % 2 != 0) {
      return Fail("a dictionary has a key without a value");
    }
    if (!CountItems(items.size())) return;
    std::vector<uint32_t>& to = pickle_.values[stack_.back()].items;
    to.insert(to.end(), items.begin(), items.end());
  }

  // Integers of any size; those beyond 64 bits stay bytes.
  void PushLong(uint64_t size) {
    std::string text = reader_.String(size);
    if (text.size() > 8) return PushText(Kind::kBytes, std::move(text));
    uint64_t bits = !text.empty() && (text.back() & 0x80) ? ~uint64_t{0} : 0;
    for (size_t i = text.size(); i-- > 0;) {
      bits = bits << 8 | static_cast<uint8_t>(text[i]);
    }
    PushInteger(Kind::kInteger, static_cast<int64_t>(bits));
  }

  void Memoize(uint64_t key) {
    if (stack_.empty()) return Fail("the stack is empty");
    if (memo_.size() >= kMaxValues) {
      return Fail("it remembers more values than any model needs");
    }
    memo_[key] = stack_.back();
  }

  void Recall(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) {
      return Fail(fmt::format("nothing was remembered as {}", key));
    }
    PushIndex(found->second);
  }

  void PushGlobal(std::string name) {
    if (reader_.failed()) return;
    if (!IsAllowedGlobal(name)) {
      return Fail(fmt::format(
          "it names {}, which is not needed for tensors and is never run; "
          "use weights from a source that you trust, or convert them to "
          "safetensors",
          Quoted(name)));
    }
    PushText(Kind::kGlobal, std::move(name));
  }

  void Call();
  void PersistentLoad();

  PickleReader reader_;
  Pickle pickle_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;  // stack sizes
  std::unordered_map<uint64_t, uint32_t> memo_;
  std::string error_;
  size_t items_ = 0;
  bool done_ = false;
};

void Machine::Call() {
  const std::optional<uint32_t> arguments_index = Pop();
  const std::optional<uint32_t> callable_index = Pop();
  if (!arguments_index || !callable_index) return;
  const PickleValue& callable = pickle_.at(*callable_index);
  const PickleValue& arguments = pickle_.at(*arguments_index);
  if (callable.kind != Kind::kGlobal || arguments.kind != Kind::kTuple) {
    return Fail("it calls something that is not a function");
  }
  const std::string name = callable.text;
  const std::vector<uint32_t> items = arguments.items;
  const auto is = [&](size_t index, Kind kind) {
    return index < items.size() && pickle_.at(items[index]).kind == kind;
  };
  if (name == kOrderedDict && items.empty()) {
    return PushItems(Kind::kDict, {});
  }
  if (name == kOrderedDict && items.size() == 1 && is(0, Kind::kList)) {
    std::vector<uint32_t> entries;
    for (const uint32_t pair : pickle_.at(items[0]).items) {
      const PickleValue& value = pickle_.at(pair);
      const bool sequence =
          value.kind == Kind::kTuple || value.kind == Kind::kList;
      if (!sequence || value.items.size() != 2) {
        return Fail("an OrderedDict is made of something else than pairs");
      }
      entries.insert(entries.end(), value.items.begin(), value.items.end());
    }
    return PushItems(Kind::kDict, std::move(entries));
  }
  if ((name == kRebuildTensor || name == kRebuildTensorV2) &&
      items.size() >= 4 && items.size() <= 7 && is(0, Kind::kStorage)) {
    return PushItems(Kind::kTensor, items);
  }
  if (name == kRebuildParameter && is(0, Kind::kTensor)) {
    stack_.push_back(items[0]);
    return;
  }
  Fail(
      fmt::format("'{}' is called with arguments that it does not take", name));
}

void Machine::PersistentLoad() {
  const std::optional<uint32_t> id = Pop();
  if (!id) return;
  const std::vector<uint32_t> items = pickle_.at(*id).items;
  const auto is = [&](size_t index, Kind kind) {
    return index < items.size() && pickle_.at(items[index]).kind == kind;
  };
  if (pickle_.at(*id).kind != Kind::kTuple || !is(0, Kind::kString) ||
      pickle_.at(items[0]).text != "storage" || !is(1, Kind::kGlobal) ||
      !is(2, Kind::kString) || !is(4, Kind::kInteger)) {
    return Fail("a persistent id does not describe a storage");
  }
  PushItems(Kind::kStorage, items);
}

void Machine::ExecuteContainer(uint8_t opcode) {
  switch (opcode) {
    case kEmptyList:
      return PushItems(Kind::kList, {});
    case kEmptyTuple:
      return PushItems(Kind::kTuple, {});
    case kEmptyDict:
      return PushItems(Kind::kDict, {});
    case kTuple1:
    case kTuple2:
    case kTuple3:
      return PushTuple(opcode - kTuple1 + 1);
    case kTuple:
      return PushItems(Kind::kTuple, PopToMark());
    case kList:
      return PushItems(Kind::kList, PopToMark());
    case kDict: {
      const std::vector<uint32_t> items = PopToMark();
      PushItems(Kind::kDict, {});
      return Extend(Kind::kDict, items);
    }
    case kAppend: {
      const std::optional<uint32_t> value = Pop();
      if (value) Extend(Kind::kList, {*value});
      return;
    }
    case kAppends:
      return Extend(Kind::kList, PopToMark());
    case kSetItem: {
      const std::optional<uint32_t> value = Pop();
      const std::optional<uint32_t> key = Pop();
      if (key && value) Extend(Kind::kDict, {*key, *value});
      return;
    }
    case kSetItems:
      return Extend(Kind::kDict, PopToMark());
    case kBuild:
      // State of an object: OrderedDicts carry a `_metadata`, which says
      // nothing about tensors.
      Pop();
      return Extend(Kind::kDict, {});
    default:
      return Fail(fmt::format(
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
    case kStop: {
      const std::optional<uint32_t> root = Pop();
      if (root) pickle_.root = *root;
      done_ = true;
      return;
    }
    case kMark:
      if (marks_.size() >= kMaxItems) return Fail("it has too many marks");
      marks_.push_back(stack_.size());
      return;
    case kPop:
      Pop();
      return;
    case kPopMark:
      PopToMark();
      return;
    case kDup:
      if (stack_.empty()) return Fail("the stack is empty");
      return PushIndex(stack_.back());
    case kNone:
      return Push({});
    case kNewTrue:
    case kNewFalse:
      return PushInteger(Kind::kBool, opcode == kNewTrue);
    case kBinInt:
      return PushInteger(Kind::kInteger, reader_.Signed32());
    case kBinInt1:
      return PushInteger(Kind::kInteger, reader_.Unsigned(1));
    case kBinInt2:
      return PushInteger(Kind::kInteger, reader_.Unsigned(2));
    case kLong1:
      return PushLong(reader_.Unsigned(1));
    case kLong4:
      return PushLong(reader_.Unsigned(4));
    case kBinFloat: {
      PickleValue value;
      value.kind = Kind::kFloat;
      value.real = reader_.BigEndianDouble();
      return Push(std::move(value));
    }
    case kShortBinString:
    case kShortBinUnicode:
      return PushText(Kind::kString, reader_.String(reader_.Unsigned(1)));
    case kBinString:
    case kBinUnicode:
      return PushText(Kind::kString, reader_.String(reader_.Unsigned(4)));
    case kBinUnicode8:
      return PushText(Kind::kString, reader_.String(reader_.Unsigned(8)));
    case kShortBinBytes:
      return PushText(Kind::kBytes, reader_.String(reader_.Unsigned(1)));
    case kBinBytes:
      return PushText(Kind::kBytes, reader_.String(reader_.Unsigned(4)));
    case kBinPut:
      return Memoize(reader_.Unsigned(1));
    case kLongBinPut:
      return Memoize(reader_.Unsigned(4));
    case kMemoize:
      return Memoize(memo_.size());
    case kBinGet:
      return Recall(reader_.Unsigned(1));
    case kLongBinGet:
      return Recall(reader_.Unsigned(4));
    case kGlobal: {
      const std::string module = reader_.Line();
      return PushGlobal(module + "." + reader_.Line());
    }
    case kStackGlobal: {
      const std::optional<uint32_t> name = Pop();
      const std::optional<uint32_t> module = Pop();
      if (!name || !module) return;
      return PushGlobal(pickle_.at(*module).text + "." +
                        pickle_.at(*name).text);
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
