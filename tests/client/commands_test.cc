#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "client/commands/command.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake_server.h"
#include "tests/client/run_command.h"

namespace trivium {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CommandsTest : public testing::Test {
 protected:
  // The address goes in front of the rest of the command's arguments.
  CommandRun Run(std::vector<std::string> arguments,
                 const std::string& input = "") {
    arguments.insert(arguments.begin() + 1, {"--address", server_.address()});
    return RunWithFiles([&](const Io& io) { return RunTrivium(arguments, io); },
                        input);
  }

  FakeServer server_;
};

TEST_F(CommandsTest, TranslatesArguments) {
  const CommandRun run = Run({"translate", "I ate an apple.", "two"});
  EXPECT_EQ(run.code, kExitOk);
  EXPECT_EQ(run.out, "<I ate an apple.>\n<two>\n");
  EXPECT_EQ(run.err, "");
}

TEST_F(CommandsTest, TextsThatLookLikeSyntaxAreTexts) {
  const CommandRun run =
      Run({"translate", "[a, b]", "health", "", "--", "--json", "-x"});
  EXPECT_EQ(run.code, kExitOk);
  EXPECT_EQ(run.out, "<[a, b]>\n<health>\n<>\n<--json>\n<-x>\n");
}

TEST_F(CommandsTest, TranslatesAPipeLineByLine) {
  const CommandRun run = Run({"translate"}, "one\r\n\ntwo\nlast");
  EXPECT_EQ(run.code, kExitOk);
  EXPECT_EQ(run.out, "<one>\n<>\n<two>\n<last>\n");
}

TEST_F(CommandsTest, TranslatesAFile) {
  const std::string path = testing::TempDir() + "/commands_test.txt";
  std::ofstream(path) << "one\ntwo\n";
  const CommandRun run = Run({"translate", "--file", path});
  EXPECT_EQ(run.out, "<one>\n<two>\n");
  // No progress bar: not a terminal.
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(Run({"translate", "--file", path, "text"}).code, kExitFailed);
}

TEST_F(CommandsTest, ABadLineFailsAloneAndKeepsItsPlace) {
  const CommandRun run = Run({"translate"}, "one\nbad\n\xff\ntwo\n");
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out, "<one>\n\n\n<two>\n");
  EXPECT_THAT(run.err, HasSubstr("text 2: input.text is bad"));
  EXPECT_THAT(run.err, HasSubstr("line 3 is not UTF-8"));
  EXPECT_THAT(run.err, HasSubstr("2 of the texts failed"));
}

TEST_F(CommandsTest, NewlinesOfResultsStayOnlyWhereThereIsOneResult) {
  server_.newline = "\nmore";
  EXPECT_EQ(Run({"translate", "a"}).out, "<a>\nmore\n");
  EXPECT_EQ(Run({"translate", "a", "b"}).out, "<a> more\n<b> more\n");
  EXPECT_EQ(Run({"translate"}, "a\n").out, "<a> more\n");
  EXPECT_EQ(Run({"generate", "a"}).out, "one two\nmore\n");
  EXPECT_EQ(Run({"generate"}, "a\n").out, "one two more\n");
}

TEST_F(CommandsTest, WritesJson) {
  const CommandRun run = Run({"translate", "--json"}, "one\nbad\n");
  EXPECT_EQ(run.code, kExitFailed);
  const std::string first = run.out.substr(0, run.out.find('\n'));
  EXPECT_EQ(nlohmann::json::parse(first)["result"]["hypotheses"][0]["text"],
            "<one>");
  EXPECT_THAT(run.out,
              HasSubstr("\n{\"id\":\"1\",\"error\":{\"code\":3,\"message\":"));
  EXPECT_THAT(Run({"encode", "--json", "a"}).out,
              HasSubstr("\"token_count\":3"));
  EXPECT_THAT(Run({"tokens", "--json", "a"}).out, HasSubstr("\"id\":7"));
  EXPECT_THAT(Run({"generate", "--json", "a"}).out,
              HasSubstr("\"token_count\":2"));
  EXPECT_EQ(Run({"health", "--json"}).out, "{\"status\":\"SERVING\"}\n");
  EXPECT_THAT(Run({"models", "--json"}).out, HasSubstr("\"name\":\"second\""));
}

TEST_F(CommandsTest, EncodesInBatchesAndRetriesOneByOne) {
  std::string input;
  for (int i = 0; i < 40; ++i) input += "abc\n";
  CommandRun run = Run({"encode"}, input);
  EXPECT_EQ(run.code, kExitOk);
  EXPECT_EQ(server_.encode_calls, 2);
  EXPECT_THAT(run.out, StartsWith("3 0.100000001\n3 0.100000001\n"));

  run = Run({"encode"}, "a\nbad\nbb\n\xc3\nccc\n");
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out, "1 0.100000001\n\n2 0.100000001\n\n3 0.100000001\n");
  EXPECT_THAT(run.err, HasSubstr("text 2: the request is wrong"));
  EXPECT_THAT(run.err, HasSubstr("text 4: line 4 is not UTF-8"));
}

TEST_F(CommandsTest, GenerateSortsInterleavedHypotheses) {
  EXPECT_EQ(Run({"generate", "--hypotheses", "2", "a"}).out,
            "one0 two0\none1 two1\n");
}

TEST_F(CommandsTest, FlagsReachTheRequest) {
  Run({"generate",
       "--model",
       "m",
       "--beam-size",
       "4",
       "--hypotheses",
       "2",
       "--length-penalty",
       "0.5",
       "--early-stopping",
       "never",
       "--max-new-tokens",
       "0",
       "--min-new-tokens",
       "1",
       "--no-sample",
       "--temperature",
       "0.7",
       "--top-k",
       "3",
       "--top-p",
       "0.9",
       "--seed",
       "18446744073709551615",
       "--repetition-penalty",
       "1.5",
       "--no-repeat-ngram-size",
       "2",
       "--stop",
       "[a,b]",
       "--stop",
       "c",
       "--banned",
       "1,2",
       "--banned",
       "3",
       "--forced-first-id",
       "8",
       "--forced-last-id",
       "9",
       "--top-logprobs",
       "5",
       "--source-language",
       "en",
       "--target-language",
       "de",
       "--truncate",
       "--no-tokens",
       "--ids",
       "--target-prefix",
       "Ich",
       "17 4"});
  const v1::GenerateRequest& request = server_.last_generate;
  EXPECT_EQ(
      request.ShortDebugString(),
      "model: \"m\" input { ids { ids: 17 ids: 4 } target_prefix: \"Ich\" } "
      "decoding { beam_size: 4 hypotheses: 2 length_penalty: 0.5 "
      "early_stopping: EARLY_STOPPING_NEVER max_new_tokens: 0 "
      "min_new_tokens: 1 sample: false temperature: 0.7 top_k: 3 top_p: 0.9 "
      "seed: 18446744073709551615 repetition_penalty: 1.5 "
      "no_repeat_ngram_size: 2 stop: \"[a,b]\" stop: \"c\" "
      "banned { ids: 1 ids: 2 } banned { ids: 3 } forced_first_id: 8 "
      "forced_last_id: 9 top_logprobs: 5 } source_language: \"en\" "
      "target_language: \"de\" truncate: true tokens: false");
  Run({"encode", "--pooling", "cls", "--no-normalize", "--token-vectors",
       "--attention-layer", "1", "--attention-layer", "2", "a"});
  EXPECT_EQ(server_.last_encode.ShortDebugString(),
            "inputs { text: \"a\" } pooling: POOLING_CLS normalize: false "
            "token_vectors: true attention { layers: 1 layers: 2 }");
}

TEST_F(CommandsTest, WhatIsNotSetStaysUnset) {
  Run({"translate", "a"});
  EXPECT_EQ(server_.last_start.ShortDebugString(), "options { decoding { } }");
}

TEST_F(CommandsTest, TheEnvironmentSetsWhatFlagsDoNot) {
  setenv("TRIVIUM_BEAM_SIZE", "3", 1);
  setenv("TRIVIUM_CLIENT_MODEL", "m", 1);
  setenv("TRIVIUM_STOP", "x", 1);
  Run({"translate", "--model", "n", "a"});
  unsetenv("TRIVIUM_BEAM_SIZE");
  unsetenv("TRIVIUM_CLIENT_MODEL");
  unsetenv("TRIVIUM_STOP");
  EXPECT_EQ(server_.last_start.ShortDebugString(),
            "model: \"n\" options { decoding { beam_size: 3 stop: \"x\" } }");
}

TEST_F(CommandsTest, ListsModels) {
  EXPECT_EQ(Run({"models"}).out,
            "first\tmarian\tencoder_decoder\tint8\ten>de\tEncode,Translate\n"
            "second\tmarian\tencoder_decoder\tint8\ten>de\tEncode,Translate\n");
  EXPECT_THAT(Run({"models", "--model", "x"}).out, StartsWith("x\t"));
}

TEST_F(CommandsTest, HealthIsTheExitCode) {
  EXPECT_EQ(Run({"health"}).out, "SERVING\n");
  server_.health = grpc::health::v1::HealthCheckResponse::NOT_SERVING;
  const CommandRun run = Run({"health"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out, "NOT_SERVING\n");
}

TEST_F(CommandsTest, ExitCodesSayWhatWentWrong) {
  EXPECT_EQ(Run({"translate", "--beem-size", "3", "a"}).code, kExitUsage);
  EXPECT_EQ(Run({"translate", "--beam-size", "-3", "a"}).code, kExitUsage);
  EXPECT_EQ(Run({"translate", "--early-stopping", "soon", "a"}).code,
            kExitUsage);
  EXPECT_EQ(Run({"generate", "--banned", "x", "a"}).code, kExitUsage);
  EXPECT_EQ(Run({"translate", "--timeout", "nan", "a"}).code, kExitUsage);
  EXPECT_EQ(Run({"health", "a"}).code, kExitUsage);
  EXPECT_EQ(Run({"translate", "--file", "/nonexistent/file"}).code, kExitIo);
  EXPECT_EQ(Run({"translate", "--file", "/"}).code, kExitIo);
  EXPECT_EQ(Run({"encode", "--ids", "1,x"}).code, kExitFailed);
  server_.hang = true;
  EXPECT_EQ(Run({"models", "--timeout", "0.05"}).code, kExitTimeout);
  server_.hang = false;
  server_.Stop();
  const CommandRun gone = Run({"translate", "a"});
  EXPECT_EQ(gone.code, kExitUnavailable);
  EXPECT_THAT(gone.err, HasSubstr("no server answers at"));
}

TEST_F(CommandsTest, HelpIsNoError) {
  const auto help = [](std::vector<std::string> arguments) {
    return RunWithFiles(
        [&](const Io& io) { return RunTrivium(arguments, io); });
  };
  EXPECT_EQ(help({"--help"}).code, kExitOk);
  EXPECT_THAT(help({"translate", "--help"}).out, HasSubstr("--beam-size"));
  EXPECT_EQ(help({}).code, kExitUsage);
  EXPECT_EQ(help({"fly"}).code, kExitUsage);
}

TEST_F(CommandsTest, AReaderThatGoesAwayIsReported) {
  std::signal(SIGPIPE, SIG_IGN);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  close(pipe_ends[0]);
  FILE* const broken = fdopen(pipe_ends[1], "w");
  const CommandRun run = RunWithFiles(
      [&](const Io& io) {
        Io with_broken_out = io;
        with_broken_out.out = broken;
        return RunTrivium(
            {"translate", "--address", server_.address(), "a", "b"},
            with_broken_out);
      },
      "");
  std::fclose(broken);
  EXPECT_EQ(run.code, kExitIo);
  EXPECT_THAT(run.err, HasSubstr("its reader went away"));
}

TEST(ProgressTest, FitsItsWidth) {
  EXPECT_EQ(ProgressLine(0.5, 1200, absl::Seconds(3), 80),
            "[###############               ]  50 %  1200 lines  400 lines/s"
            "  0:03 left");
  EXPECT_EQ(ProgressLine(0, 0, absl::ZeroDuration(), 80).size(), 47u);
  EXPECT_EQ(ProgressLine(7, 1, absl::Hours(3), 20).size(), 19u);
}

TEST_F(CommandsTest, Classifies) {
  CommandRun run = Run({"classify", "one", "bad", "two"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out, "<one> 0.5000\t<> 0.5000\n\n<two> 0.5000\t<> 0.5000\n");
  run = Run({"classify", "--second", "x", "one"});
  EXPECT_EQ(run.out, "<one> 0.5000\t<x> 0.5000\n");
  run = Run({"classify", "--json", "one"});
  EXPECT_EQ(nlohmann::json::parse(run.out)["labels"][0]["label"], "<one>");
}

TEST_F(CommandsTest, TagsAnswersAndFills) {
  EXPECT_EQ(Run({"tag", "one", "two"}).out, "ALL one 0.2500\nALL two 0.2500\n");
  EXPECT_EQ(Run({"answer", "--question", "q", "one"}).out, "q=one 0.7500\n");
  EXPECT_EQ(
      Run({"answer", "--question", "q", "--top", "2", "--no-answer", "c"}).out,
      "q=c 0.7500\t- 0.0000\t- 0.0000\n");
  EXPECT_EQ(Run({"answer", "c"}).code, kExitUsage);
  EXPECT_EQ(Run({"fill-mask", "x"}).out,
            "xa 1.0000\txb 1.0000\t| xa 1.0000\txb 1.0000\n");
}

// The fake's vectors are (bytes, 0.1).
TEST_F(CommandsTest, EncodesToSimilarities) {
  const CommandRun run = Run({"encode", "--similarity", "a", "bad", "", "bc"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out,
            "1.0000 0.0000 0.0995 0.9988\n"
            "0.0000 0.0000 0.0000 0.0000\n"
            "0.0995 0.0000 1.0000 0.0499\n"
            "0.9988 0.0000 0.0499 1.0000\n");
  EXPECT_EQ(Run({"encode", "--similarity", "--json", "a"}).code, kExitUsage);
}

}  // namespace
}  // namespace trivium
