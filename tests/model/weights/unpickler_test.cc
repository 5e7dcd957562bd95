#include "model/weights/unpickler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using Kind = PickleValue::Kind;

absl::Status UnpickleError(const std::string& pickle) {
  return Unpickle(Bytes(pickle)).status();
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
              IsError(StatusCode::kInvalidArgument, "posix.system"));
  EXPECT_THAT(
      UnpickleError(
          PickleWriter().Text("builtins").Text("eval").Raw("\x93").Stop()),
      IsError(StatusCode::kInvalidArgument, "builtins.eval"));
  // An allowed module, but not an allowed name.
  for (const char* name :
       {"load", "hub.load", "FloatStorage.__init__", "FloatStorageX", ""}) {
    EXPECT_THAT(UnpickleError(PickleWriter().Global("torch", name).Stop()),
                IsError(StatusCode::kInvalidArgument, name))
        << name;
  }
  EXPECT_THAT(UnpickleError(PickleWriter().Raw("i").Stop()),
              IsError(StatusCode::kInvalidArgument, "0x69"));
  EXPECT_THAT(UnpickleError(PickleWriter()
                                .Global("collections", "OrderedDict")
                                .Raw(")\x81")
                                .Stop()),
              IsError(StatusCode::kInvalidArgument, "0x81"));
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
              IsError(StatusCode::kInvalidArgument, "arguments"));
  EXPECT_THAT(UnpickleError(call("_rebuild_tensor_v2", "(NNNNt")),
              IsError(StatusCode::kInvalidArgument, "arguments"));
  EXPECT_THAT(UnpickleError(call("_rebuild_parameter", "N\x85")),
              IsError(StatusCode::kInvalidArgument, "arguments"));
  EXPECT_THAT(UnpickleError(call("_rebuild_parameter", "N")),
              IsError(StatusCode::kInvalidArgument, "function"));
  EXPECT_THAT(UnpickleError(PickleWriter().Raw("N)R").Stop()),
              IsError(StatusCode::kInvalidArgument, "function"));
  EXPECT_THAT(UnpickleError(PickleWriter()
                                .Global("collections", "OrderedDict")
                                .Raw("](Ne\x85R")
                                .Stop()),
              IsError(StatusCode::kInvalidArgument, "OrderedDict"));
  EXPECT_THAT(UnpickleError(PickleWriter().Raw("(NNtQ").Stop()),
              IsError(StatusCode::kInvalidArgument, "persistent"));
}

TEST(UnpicklerTest, RefusesBrokenStacks) {
  EXPECT_THAT(UnpickleError("."),
              IsError(StatusCode::kInvalidArgument, "empty"));
  EXPECT_THAT(UnpickleError("t."),
              IsError(StatusCode::kInvalidArgument, "mark"));
  EXPECT_THAT(UnpickleError("h\x05."),
              IsError(StatusCode::kInvalidArgument, "remembered"));
  EXPECT_THAT(UnpickleError("q\x05."),
              IsError(StatusCode::kInvalidArgument, "empty"));
  EXPECT_THAT(UnpickleError("N(Nu."),
              IsError(StatusCode::kInvalidArgument, "container"));
  EXPECT_THAT(UnpickleError("}(Nu."),
              IsError(StatusCode::kInvalidArgument, "key"));
  EXPECT_THAT(UnpickleError("N(\x85."),
              IsError(StatusCode::kInvalidArgument, "empty"));
  EXPECT_THAT(UnpickleError("2"),
              IsError(StatusCode::kInvalidArgument, "empty"));
  EXPECT_THAT(UnpickleError(""),
              IsError(StatusCode::kInvalidArgument, "early"));
}

TEST(UnpicklerTest, RefusesEveryTruncation) {
  const std::string pickle = StateDict(
      {{"x", {.storage_elements = 4, .shape = {2, 2}, .strides = {2, 1}}}});
  ASSERT_EQ(UnpickleError(pickle), absl::OkStatus());
  for (size_t size = 0; size < pickle.size(); ++size) {
    EXPECT_NE(UnpickleError(pickle.substr(0, size)), absl::OkStatus()) << size;
  }
}

TEST(UnpicklerTest, MemoryIsBounded) {
  EXPECT_THAT(UnpickleError(std::string(2'000'000, ']')),
              IsError(StatusCode::kInvalidArgument, "values"));
  EXPECT_THAT(UnpickleError("N" + std::string(20'000'000, '2')),
              IsError(StatusCode::kInvalidArgument, "items"));
  EXPECT_THAT(UnpickleError(std::string(20'000'000, '(')),
              IsError(StatusCode::kInvalidArgument, "marks"));
  EXPECT_THAT(UnpickleError("X\xff\xff\xff\x7fshort"),
              IsError(StatusCode::kInvalidArgument, "early"));
  // A long list of pairs that a small loop copies repeatedly.
  std::string bomb = PickleWriter()
                         .Global("collections", "OrderedDict")
                         .Raw("q\x01](NN\x86q\x03")
                         .Stop();
  bomb.pop_back();
  bomb += std::string(100'000, '2') + "e\x85q\x02";
  for (int i = 0; i < 1000; ++i) bomb += "h\x01h\x02R";
  EXPECT_THAT(UnpickleError(bomb),
              IsError(StatusCode::kInvalidArgument, "items"));
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
  EXPECT_EQ(UnpickleError(bomb + "N."), absl::OkStatus());
  // If a call must walk the list, each walk counts.
  std::string walks = PickleWriter()
                          .Global("collections", "OrderedDict")
                          .Raw("q\x01](NN\x86q\x03")
                          .Stop();
  walks.pop_back();
  walks += std::string(1'000'000, '2') + "Ne\x85q\x02";
  for (int i = 0; i < 1000; ++i) walks += "h\x01h\x02R0";
  EXPECT_NE(UnpickleError(walks + "N."), absl::OkStatus());
}

TEST(UnpicklerTest, AllowsDepthAndCycles) {
  // [[[...]]], each list in the one before it.
  std::string deep;
  for (int i = 0; i < 300'000; ++i) deep += "]";
  for (int i = 1; i < 300'000; ++i) deep += "a";
  EXPECT_EQ(UnpickleError(deep + "."), absl::OkStatus());
  EXPECT_EQ(UnpickleError(std::string("]q\x01h\x01"
                                      "a.")),
            absl::OkStatus());
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
    UnpickleError(bad).IgnoreError();
  }
}

}  // namespace
}  // namespace trivium
