// Tests `trivium quantize` as a user calls it. It needs no server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "client/commands/command.h"
#include "tests/client/run_command.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kModel[] = "tests/golden/llama.lm";

CommandRun Quantize(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "quantize");
  return RunWithFiles([&](const Io& io) { return RunTrivium(arguments, io); });
}

TEST(QuantizeCommandTest, WritesAFolderOnce) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out";
  const CommandRun first = Quantize({kModel, out, "--group-size", "64"});
  EXPECT_EQ(first.code, kExitOk) << first.err;
  EXPECT_THAT(first.out, HasSubstr(out));
  EXPECT_THAT(first.out, HasSubstr("4.25 bits"));
  EXPECT_THAT(first.err, IsEmpty());  // no terminal, no progress
  EXPECT_TRUE(std::filesystem::exists(out + "/model.safetensors"));
  const CommandRun second = Quantize({kModel, out});
  EXPECT_EQ(second.code, kExitIo);
  EXPECT_THAT(second.err, HasSubstr(out));
  EXPECT_THAT(second.out, IsEmpty());
}

TEST(QuantizeCommandTest, WrongArgumentsAreErrors) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out";
  EXPECT_EQ(Quantize({kModel}).code, kExitFailed);
  EXPECT_EQ(Quantize({kModel, out, out}).code, kExitFailed);
  EXPECT_EQ(Quantize({kModel, out, "--group-size", "16"}).code, kExitUsage);
  EXPECT_EQ(Quantize({folder.path(), out}).code, kExitFailed);
  EXPECT_EQ(Quantize({kModel, folder.path() + "/no/out"}).code, kExitIo);
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace trivium
