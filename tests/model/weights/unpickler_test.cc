#include "model/weights/unpickler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

using testing::HasSubstr;
using Kind = PickleValue::Kind;

std::string UnpickleError(const std::string& pickle) {
  const absl::StatusOr<Pickle> read = Unpickle(Bytes(pickle));
  return read.ok() ? "no error" : std::string(read.status().message());
}

TEST(UnpicklerTest, ReadsPlainData) {
  const std::string bytes =
      PickleWriter()
          .Raw("}(")
          .Text("list")
          .Raw("](K\x07M\x01\x02J\xff\xff\xff\xff\x8a\x01\x80")
          .Raw("e")
          .Text("float")
          .Raw(std::string_view("G\x3f\xf8\0\0\0\0\0\0", 9))
          .Text("tuple")
          .Raw("NN\x86u")
          .Stop();
  const absl::StatusOr<Pickle> read = Unpickle(Bytes(bytes + "trailing"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->size, bytes.size());
  const PickleValue& root = read->at(read->root);
  ASSERT_EQ(root.kind, Kind::kDict);
  const PickleValue* list = read->Find(root, "list");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 4u);
  EXPECT_EQ(read->at(list->items[0]).integer, 7);
  EXPECT_EQ(read->at(list->items[1]).integer, 513);
  EXPECT_EQ(read->at(list->items[2]).integer, -1);
  EXPECT_EQ(read->at(list->items[3]).integer, -128);
  EXPECT_EQ(read->Find(root, "float")->real, 1.5);
  EXPECT_EQ(read->Find(root, "tuple")->kind, Kind::kTuple);
  EXPECT_EQ(read->Find(root, "nothing"), nullptr);
}

TEST(UnpicklerTest, RefusesCodeByName) {
  // The result of `pickle.dumps` for an object whose __reduce__ runs a command.
  EXPECT_THAT(UnpickleError(PickleWriter()
                                .Global("posix", "system")
                                .Text("touch /tmp/owned")
                                .Raw("\x85R")
                                .Stop()),
              HasSubstr("'posix.system'"));
  EXPECT_THAT(
      UnpickleError(
          PickleWriter().Text("builtins").Text("eval").Raw("\x93").Stop()),
      HasSubstr("'builtins.eval'"));
  // An allowed module, but not an allowed name.
  for (const char* name :
       {"load", "hub.load", "FloatStorage.__init__", "FloatStorageX", ""}) {
    EXPECT_THAT(UnpickleError(PickleWriter().Global("torch", name).Stop()),
                HasSubstr("never run"))
        << name;
  }
  EXPECT_THAT(UnpickleError(PickleWriter().Raw("i").Stop()),
              HasSubstr("opcode 0x69"));
  EXPECT_THAT(UnpickleError(PickleWriter()
                                .Global("collections", "OrderedDict")
                                .Raw(")\x81")
                                .Stop()),
              HasSubstr("opcode 0x81"));
}

TEST(UnpicklerTest, RefusesCallsWithWrongArguments) {
  const auto call = [](std::string_view name, const std::string& arguments) {
    return PickleWriter()
        .Global("torch._utils", name)
        .Raw(arguments)
        .Raw("R")
        .Stop();
  };
  EXPECT_THAT(UnpickleError(call("_rebuild_tensor_v2", ")")),
              HasSubstr("arguments that it does not take"));
  EXPECT_THAT(UnpickleError(call("_rebuild_tensor_v2", "(NNNNt")),
              HasSubstr("arguments that it does not take"));
  EXPECT_THAT(UnpickleError(call("_rebuild_parameter", "N\x85")),
              HasSubstr("arguments that it does not take"));
  EXPECT_THAT(UnpickleError(call("_rebuild_parameter", "N")),
              HasSubstr("not a function"));
  EXPECT_THAT(UnpickleError(PickleWriter().Raw("N)R").Stop()),
              HasSubstr("not a function"));
  EXPECT_THAT(UnpickleError(PickleWriter()
                                .Global("collections", "OrderedDict")
                                .Raw("](Ne\x85R")
                                .Stop()),
              HasSubstr("OrderedDict"));
  EXPECT_THAT(UnpickleError(PickleWriter().Raw("(NNtQ").Stop()),
              HasSubstr("persistent id"));
}

TEST(UnpicklerTest, RefusesBrokenStacks) {
  EXPECT_THAT(UnpickleError("."), HasSubstr("stack is empty"));
  EXPECT_THAT(UnpickleError("t."), HasSubstr("no mark"));
  EXPECT_THAT(UnpickleError("h\x05."), HasSubstr("remembered"));
  EXPECT_THAT(UnpickleError("q\x05."), HasSubstr("stack is empty"));
  EXPECT_THAT(UnpickleError("N(Nu."), HasSubstr("not a container"));
  EXPECT_THAT(UnpickleError("}(Nu."), HasSubstr("key without a value"));
  EXPECT_THAT(UnpickleError("N(\x85."), HasSubstr("stack is empty"));
  EXPECT_THAT(UnpickleError("2"), HasSubstr("stack is empty"));
  EXPECT_THAT(UnpickleError(""), HasSubstr("ends early"));
}

TEST(UnpicklerTest, RefusesEveryTruncation) {
  const std::string pickle = StateDict(
      {{"x", {.storage_elements = 4, .shape = {2, 2}, .strides = {2, 1}}}});
  ASSERT_EQ(UnpickleError(pickle), "no error");
  for (size_t size = 0; size < pickle.size(); ++size) {
    EXPECT_NE(UnpickleError(pickle.substr(0, size)), "no error") << size;
  }
}

TEST(UnpicklerTest, MemoryIsBounded) {
  EXPECT_THAT(UnpickleError(std::string(2'000'000, ']')),
              HasSubstr("more values"));
  EXPECT_THAT(UnpickleError("N" + std::string(20'000'000, '2')),
              HasSubstr("more items"));
  EXPECT_THAT(UnpickleError(std::string(20'000'000, '(')), HasSubstr("marks"));
  EXPECT_THAT(UnpickleError("X\xff\xff\xff\x7fshort"), HasSubstr("ends early"));
  // A long list of pairs that a small loop copies repeatedly.
  std::string bomb = PickleWriter()
                         .Global("collections", "OrderedDict")
                         .Raw("q\x01](NN\x86q\x03")
                         .Stop();
  bomb.pop_back();
  bomb += std::string(100'000, '2') + "e\x85q\x02";
  for (int i = 0; i < 1000; ++i) bomb += "h\x01h\x02R";
  EXPECT_THAT(UnpickleError(bomb), HasSubstr("more items"));
}

// A call may walk a long list of arguments and create nothing.
TEST(UnpicklerTest, WorkIsBounded) {
  std::string bomb = PickleWriter()
                         .Global("torch._utils", "_rebuild_parameter")
                         .Raw("q\x01(")
                         .Rebuild({.storage_elements = 1})
                         .Stop();
  bomb.pop_back();
  bomb += std::string(1'000'000, '2') + "tq\x02";
  for (int i = 0; i < 1'000'000; ++i) bomb += "h\x01h\x02R0";
  // These calls end early: each costs one step, not a million.
  EXPECT_EQ(UnpickleError(bomb + "N."), "no error");
  // If a call must walk the list, each walk counts.
  std::string walks = PickleWriter()
                          .Global("collections", "OrderedDict")
                          .Raw("q\x01](NN\x86q\x03")
                          .Stop();
  walks.pop_back();
  walks += std::string(1'000'000, '2') + "Ne\x85q\x02";
  for (int i = 0; i < 1000; ++i) walks += "h\x01h\x02R0";
  EXPECT_NE(UnpickleError(walks + "N."), "no error");
}

TEST(UnpicklerTest, AllowsDepthAndCycles) {
  // [[[...]]], each list in the one before it.
  std::string deep;
  for (int i = 0; i < 300'000; ++i) deep += "]";
  for (int i = 1; i < 300'000; ++i) deep += "a";
  EXPECT_EQ(UnpickleError(deep + "."), "no error");
  EXPECT_EQ(UnpickleError(std::string("]q\x01h\x01"
                                      "a.")),
            "no error");
}

TEST(UnpicklerTest, RandomDamageNeverCrashes) {
  const std::string good = StateDict(
      {{"x", {.storage_elements = 4, .shape = {2, 2}, .strides = {2, 1}}},
       {"y", {.type = "HalfStorage", .key = "1", .storage_elements = 9}}});
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = good;
    for (int change = random() % 4; change >= 0; --change) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    UnpickleError(bad);
  }
}

}  // namespace
}  // namespace trivium
