#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "client/commands/command.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake_server.h"
#include "tests/client/run_command.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CommandsTest : public testing::Test {
 protected:
  // Puts the address in front of the command's other arguments.
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

TEST_F(CommandsTest, TreatsTextsThatLookLikeSyntaxAsTexts) {
  const CommandRun run =
      Run({"translate", "[a, b]", "health", "", "--", "--json", "-x"});
  EXPECT_EQ(run.code, kExitOk);
  EXPECT_EQ(run.out, "<[a, b]>\n<health>\n<>\n<--json>\n<-x>\n");
}

TEST_F(CommandsTest, WithoutArgumentsItShowsFirstSteps) {
  const CommandRun run =
      RunWithFiles([](const Io& io) { return RunTrivium({}, io); });
  EXPECT_EQ(run.code, kExitOk);
  EXPECT_THAT(run.out, HasSubstr("trivium translate"));
  EXPECT_LE(std::count(run.out.begin(), run.out.end(), '\n'), 7);
}

// What a command of a shell prints.
std::string OutputOf(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  std::string out(10'000, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), pipe));
  EXPECT_EQ(pclose(pipe), 0) << command;
  return out;
}
bool Has(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null").c_str()) == 0;
}

TEST_F(CommandsTest, BashCompletesCommandsAndFlags) {
  const std::string file = testing::TempDir() + "/completion.bash";
  std::ofstream(file) << Run({"completion", "bash"}).out;
  // The shell's own answer to TAB.
  const auto completed = [&](const std::string& words, int at) {
    return OutputOf("bash -c '. " + file + "; COMP_WORDS=(" + words +
                    "); COMP_CWORD=" + std::to_string(at) +
                    "; _trivium; echo ${COMPREPLY[@]}'");
  };
  EXPECT_EQ(completed("trivium trans", 1), "translate\n");
  EXPECT_EQ(completed("trivium translate --beam", 2), "--beam-size\n");
  EXPECT_EQ(completed("trivium models --beam", 2), "\n");
  EXPECT_EQ(completed("trivium help trans", 2), "translate\n");
  EXPECT_EQ(completed("trivium completion f", 2), "fish\n");
}

TEST_F(CommandsTest, FishCompletesCommandsAndFlags) {
  const std::string script = Run({"completion", "fish"}).out;
  EXPECT_THAT(script, AllOf(HasSubstr("translate"), HasSubstr("beam-size")));
  if (!Has("fish")) GTEST_SKIP() << "fish is not installed";
  const std::string file = testing::TempDir() + "/trivium.fish";
  std::ofstream(file) << script;
  const auto completed = [&](const std::string& line) {
    return OutputOf("HOME=" + testing::TempDir() + " fish -N -c 'source " +
                    file + "; complete -C \"" + line + "\"'");
  };
  EXPECT_THAT(completed("trivium trans"), StartsWith("translate\t"));
  EXPECT_THAT(completed("trivium translate --beam-s"),
              StartsWith("--beam-size\t"));
  EXPECT_EQ(completed("trivium models --beam-s"), "");
  EXPECT_THAT(completed("trivium help trans"), StartsWith("translate"));
  EXPECT_THAT(completed("trivium completion f"), StartsWith("fish"));
}

TEST_F(CommandsTest, ZshCompletesCommandsAndFlags) {
  const std::string script = Run({"completion", "zsh"}).out;
  EXPECT_THAT(script, AllOf(HasSubstr("translate"), HasSubstr("beam-size")));
  EXPECT_EQ(Run({"completion", "tcsh"}).code, kExitFailed);
  if (!Has("zsh")) GTEST_SKIP() << "zsh is not installed";
  const std::string file = testing::TempDir() + "/_trivium";
  std::ofstream(file) << script;
  // Stands in for the completion system and prints what it is given.
  const auto completed = [&](const std::string& words, int at) {
    return OutputOf(
        "zsh -f -c 'compdef() {}; _describe() { eval \"print -rl -- "
        "\\${${@[-1]}}\"; }; _files() { echo files; }; compadd() { "
        "print -l \"$@\"; }; words=(" +
        words + "); CURRENT=" + std::to_string(at) +
        "; PREFIX=$words[$CURRENT]; source " + file + "'");
  };
  EXPECT_THAT(completed("trivium trans", 2), HasSubstr("\ntranslate:"));
  EXPECT_THAT(completed("trivium help trans", 3), HasSubstr("\ntranslate:"));
  EXPECT_THAT(completed("trivium translate --beam", 3),
              HasSubstr("\n--beam-size:"));
  EXPECT_EQ(completed("trivium translate x", 3), "files\n");
  EXPECT_EQ(completed("trivium completion f", 3), "bash\nzsh\nfish\n");
}

TEST_F(CommandsTest, TheDoctorLooksAtThisMachine) {
  const CommandRun run = Run({"doctor"});
  EXPECT_EQ(run.code, kExitOk);
  for (const char* const fact :
       {"CPU ", "memory ", "huge pages ", "open files ", "ports "}) {
    EXPECT_THAT(run.out, HasSubstr(fact));
  }
}

TEST_F(CommandsTest, AMisspeltFlagIsToldTheNearestOne) {
  const CommandRun run = Run({"translate", "--bem-size=2", "one"});
  EXPECT_EQ(run.code, kExitUsage);
  EXPECT_THAT(run.err,
              StartsWith("trivium: unknown flag --bem-size; did you mean "
                         "--beam-size?"));
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
  // No progress bar, since this is not a terminal.
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(Run({"translate", "--file", path, "text"}).code, kExitFailed);
}

TEST_F(CommandsTest, LetsABadLineFailAloneAndKeepItsPlace) {
  const CommandRun run = Run({"translate"}, "one\nbad\n\xff\ntwo\n");
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out, "<one>\n\n\n<two>\n");
  EXPECT_THAT(run.err, AllOf(ErrorAt("text 2: input.text"), ErrorAt("line 3"),
                             ErrorAt("2 of")));
}

TEST_F(CommandsTest, KeepsNewlinesOnlyInASingleResult) {
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
  EXPECT_EQ(Run({"health", "--json"}).out, "{\"status\":\"serving\"}\n");
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
  EXPECT_THAT(run.err, AllOf(ErrorAt("text 2"), ErrorAt("text 4: line 4")));
}

TEST_F(CommandsTest, SortsInterleavedHypothesesOfGenerate) {
  EXPECT_EQ(Run({"generate", "--num-hypotheses", "2", "a"}).out,
            "one0 two0\none1 two1\n");
}

TEST_F(CommandsTest, AConstraintComesFromAFlagOrAFile) {
  const std::string path = testing::TempDir() + "/city.json";
  std::ofstream(path) << R"({"type": "boolean"})";
  Run({"generate", "--json-schema", path, "a"});
  const auto sent = [this]() -> const v1::Constraint& {
    return server_.last_generate.decoding().constraint();
  };
  EXPECT_EQ(sent().json_schema(), R"({"type": "boolean"})");
  Run({"generate", "--regex", "[ab]+", "a"});
  EXPECT_EQ(sent().regex(), "[ab]+");
  Run({"generate", "--choice", "yes", "--choice", "[no,", "a"});
  EXPECT_THAT(sent().choices().texts(), ElementsAre("yes", "[no,"));
  std::ofstream(path) << "root ::= \"a\"";
  Run({"generate", "--grammar", path, "a"});
  EXPECT_EQ(sent().grammar(), "root ::= \"a\"");
  Run({"generate", "--json-object", "a"});
  EXPECT_TRUE(sent().json_object());
  EXPECT_EQ(Run({"generate", "--grammar", path + ".none", "a"}).code,
            kExitUsage);
  EXPECT_EQ(Run({"generate", "--json-object", "--regex", "a", "a"}).code,
            kExitUsage);
  CommandRun run = Run({"generate", "--json-schema", path + ".none", "a"});
  EXPECT_EQ(run.code, kExitUsage);
  EXPECT_THAT(run.err, ErrorAt("--json-schema"));
  run = Run({"generate", "--regex", "a", "--choice", "b", "a"});
  EXPECT_EQ(run.code, kExitUsage);
}

TEST_F(CommandsTest, WritesFlagsIntoTheRequest) {
  Run({"generate",
       "--model",
       "m",
       "--beam-size",
       "4",
       "--num-hypotheses",
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
       "--min-p",
       "0.25",
       "--typical-p",
       "0.5",
       "--frequency-penalty",
       "-1",
       "--presence-penalty",
       "2",
       "--penalty-window",
       "64",
       "--logit-bias",
       "17=-2.5",
       "--ignore-eos",
       "--stop-id",
       "5",
       "--stop-id",
       "6",
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
      "decoding { beam_size: 4 num_hypotheses: 2 length_penalty: 0.5 "
      "early_stopping: EARLY_STOPPING_NEVER max_new_tokens: 0 "
      "min_new_tokens: 1 sample: false temperature: 0.7 top_k: 3 top_p: 0.9 "
      "seed: 18446744073709551615 repetition_penalty: 1.5 "
      "no_repeat_ngram_size: 2 stop: \"[a,b]\" stop: \"c\" "
      "banned { ids: 1 ids: 2 } banned { ids: 3 } forced_first_id: 8 "
      "forced_last_id: 9 top_logprobs: 5 min_p: 0.25 typical_p: 0.5 "
      "frequency_penalty: -1 presence_penalty: 2 "
      "logit_bias { key: 17 value: -2.5 } ignore_eos: true stop_ids: 5 "
      "stop_ids: 6 penalty_window: 64 } source_language: \"en\" "
      "target_language: \"de\" truncate: true tokens: false");
  Run({"encode", "--pooling", "cls", "--no-normalize", "--token-vectors",
       "--attention-layer", "1", "--attention-layer", "2", "--hidden-layer",
       "0", "--hidden-layer=-1", "--truncate", "--truncation-direction", "left",
       "a"});
  EXPECT_EQ(server_.last_encode.ShortDebugString(),
            "inputs { text: \"a\" } pooling: POOLING_CLS normalize: false "
            "token_vectors: true attention { layers: 1 layers: 2 } "
            "truncate: true truncation_direction: TRUNCATION_DIRECTION_LEFT "
            "hidden_layers: 0 hidden_layers: -1");
}

TEST_F(CommandsTest, LeavesFieldsWithoutFlagsUnset) {
  Run({"translate", "a"});
  EXPECT_EQ(server_.last_start.ShortDebugString(), "options { decoding { } }");
}

TEST_F(CommandsTest, ReadsConnectionAndOutputFlagsFromTheEnvironment) {
  const std::map<std::string, std::string> variables = {
      {"TRIVIUM_CLIENT_MODEL", "m"}, {"TRIVIUM_JSON", "true"},
      {"TRIVIUM_BEAM_SIZE", "3"},    {"TRIVIUM_IDS", "1"},
      {"TRIVIUM_TRUNCATE", "1"},     {"TRIVIUM_STOP", "x"}};
  for (const auto& [name, value] : variables) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  const CommandRun run = Run({"translate", "a"});
  EXPECT_EQ(server_.last_start.ShortDebugString(),
            "model: \"m\" options { decoding { } }");
  EXPECT_THAT(run.out, StartsWith("{"));
  Run({"translate", "--model", "n", "a"});
  EXPECT_EQ(server_.last_start.model(), "n");
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
}

TEST_F(CommandsTest, ChecksTlsFlags) {
  const CommandRun ignored = Run({"health", "--tls-ca", "ca.pem"});
  EXPECT_EQ(ignored.code, kExitUsage);
  EXPECT_THAT(ignored.err, ErrorAt("--tls"));
  EXPECT_EQ(Run({"health", "--tls", "--tls-key", "client.key"}).code,
            kExitUsage);
  const CommandRun missing =
      Run({"health", "--tls", "--tls-ca", "/nowhere/ca.pem"});
  EXPECT_EQ(missing.code, kExitUsage);
  EXPECT_THAT(missing.err, ErrorAt("/nowhere/ca.pem"));
  // This server does not use TLS.
  EXPECT_EQ(Run({"health", "--tls", "--timeout", "5"}).code, kExitUnavailable);
}

TEST_F(CommandsTest, ListsModels) {
  const std::string header =
      "MODEL\tFAMILY\tDESIGN\tPRECISION\tFROM\tTO\tDEFAULT\tCALLS\n";
  EXPECT_EQ(Run({"models"}).out,
            header +
                "first\tmarian\tencoder_decoder\tint8\ten\tde\tde\t"
                "Encode,Translate\n"
                "second\tmarian\tencoder_decoder\tint8\ten\tde\tde\t"
                "Encode,Translate\n");
  EXPECT_THAT(Run({"models", "--model", "x"}).out, StartsWith(header + "x\t"));
}

TEST_F(CommandsTest, ReportsHealthAsExitCode) {
  EXPECT_EQ(Run({"health"}).out, "SERVING\n");
  server_.health = grpc::health::v1::HealthCheckResponse::NOT_SERVING;
  const CommandRun run = Run({"health"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out, "NOT_SERVING\n");
}

TEST_F(CommandsTest, ReadsTheAddressForHealthFromThePortFile) {
  const std::string file = testing::TempDir() + "/ports";
  const auto run = [&](const std::string& ports) {
    std::ofstream(file) << ports;
    return RunWithFiles([&](const Io& io) {
      return RunTrivium({"health", "--port-file", file}, io);
    });
  };
  EXPECT_EQ(run("grpc 1\nmetrics 2\naddress " + server_.address() + "\n").out,
            "SERVING\n");
  const CommandRun early = run("");
  EXPECT_EQ(early.code, kExitUnavailable);
  EXPECT_THAT(early.err, ErrorAt(file));
  std::filesystem::remove(file);
}

TEST_F(CommandsTest, SendsThePriority) {
  EXPECT_EQ(Run({"encode", "a"}).code, kExitOk);
  EXPECT_EQ(server_.last_priority, "");
  EXPECT_EQ(Run({"encode", "--priority", "batch", "a"}).code, kExitOk);
  EXPECT_EQ(server_.last_priority, "batch");
}

TEST_F(CommandsTest, EndsWithTheExitCodeOfTheError) {
  EXPECT_EQ(Run({"translate", "--beem-size", "3", "a"}).code, kExitUsage);
  EXPECT_EQ(Run({"translate", "--beam-size", "-3", "a"}).code, kExitUsage);
  EXPECT_EQ(Run({"translate", "--early-stopping", "soon", "a"}).code,
            kExitUsage);
  EXPECT_EQ(Run({"generate", "--banned", "x", "a"}).code, kExitUsage);
  for (const char* bias : {"x", "17", "17=", "17=x", "=1", "1,2=1"}) {
    EXPECT_EQ(Run({"generate", "--logit-bias", bias, "a"}).code, kExitUsage)
        << bias;
  }
  EXPECT_EQ(Run({"translate", "--timeout", "nan", "a"}).code, kExitUsage);
  EXPECT_EQ(Run({"translate", "--priority", "first", "a"}).code, kExitUsage);
  EXPECT_EQ(Run({"models", "--priority", "batch"}).code, kExitUsage);
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
  // The rest of the text is gRPC's.
  EXPECT_THAT(gone.err, HasSubstr(server_.address()));
}

TEST_F(CommandsTest, PrintsHelpWithoutAnError) {
  const auto help = [](std::vector<std::string> arguments) {
    return RunWithFiles(
        [&](const Io& io) { return RunTrivium(arguments, io); });
  };
  EXPECT_EQ(help({"--help"}).code, kExitOk);
  EXPECT_THAT(help({"translate", "--help"}).out, HasSubstr("--beam-size"));
  EXPECT_THAT(help({"translate", "--help-all"}).out,
              HasSubstr("--repetition-penalty"));
  for (const char* command :
       {"translate", "encode", "generate", "chat", "classify", "tag", "answer",
        "fill-mask", "score", "rerank", "search", "tokens", "attention",
        "beams", "models", "health"}) {
    const std::string out = help({command, "--help"}).out;
    int rows = 0;  // in a terminal with 80 columns
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      rows += 1 + static_cast<int>(line.size()) / 81;
    }
    EXPECT_LE(rows, 24) << out;
  }
  // "help" with a command and without.
  const std::string all = help({"--help"}).out;
  EXPECT_THAT(all, HasSubstr("rerank"));
  EXPECT_EQ(help({"help"}).out, all);
  EXPECT_EQ(help({"help", "beams"}).out, help({"beams", "--help"}).out);
  EXPECT_EQ(help({"--version"}).code, kExitOk);
  EXPECT_THAT(help({"--version"}).out,
              ::testing::MatchesRegex("trivium [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

// What a reader that went away would have read is lost, and nothing is thrown.
TEST_F(CommandsTest, MessagesThatCannotBeWrittenAreLost) {
  FILE* const full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  std::setvbuf(full, nullptr, _IONBF, 0);
  Io io;
  io.out = full;
  io.err = full;
  EXPECT_EQ(RunTrivium({"nothing"}, io), kExitUsage);
  EXPECT_EQ(RunTrivium({"--help"}, io), kExitOk);
  EXPECT_EQ(RunTrivium({"translate", "--bad"}, io), kExitUsage);
  std::fclose(full);
}

TEST_F(CommandsTest, TellsWhatWasMeant) {
  const auto error = [](std::vector<std::string> arguments) {
    const CommandRun run =
        RunWithFiles([&](const Io& io) { return RunTrivium(arguments, io); });
    EXPECT_EQ(run.code, kExitUsage);
    return run.err;
  };
  EXPECT_THAT(error({"serve"}), HasSubstr("trivium-server serves models"));
  EXPECT_THAT(error({"embed", "a"}), HasSubstr("did you mean encode?"));
  EXPECT_THAT(error({"foo"}), Not(HasSubstr("did you mean")));
  EXPECT_THAT(error({"-v"}), HasSubstr("did you mean --version?"));
  EXPECT_THAT(error({"--address", "a:1", "models"}),
              HasSubstr("trivium COMMAND --address"));
  EXPECT_THAT(error({"translate", "--from", "de", "a"}),
              HasSubstr("--source-language?"));
  EXPECT_THAT(error({"translate", "--beam-size", "x", "a"}),
              HasSubstr("--beam-size: 'x' is no number"));
}

TEST_F(CommandsTest, ADashAloneIsStandardInput) {
  EXPECT_EQ(Run({"translate", "-"}, "one\ntwo\n").out, "<one>\n<two>\n");
  EXPECT_EQ(Run({"translate", "-", "two"}).out, "<->\n<two>\n");
}

TEST_F(CommandsTest, SuggestsTheNearestCommand) {
  const auto run = [](std::vector<std::string> arguments) {
    return RunWithFiles(
        [&](const Io& io) { return RunTrivium(arguments, io); });
  };
  for (const auto& [wrong, right] :
       std::map<std::string, std::string>{{"transalte", "translate"},
                                          {"model", "models"},
                                          {"hlep", "help"},
                                          {"fillmask", "fill-mask"}}) {
    const CommandRun said = run({wrong, "a"});
    EXPECT_EQ(said.code, kExitUsage);
    EXPECT_EQ(said.out, "");
    EXPECT_THAT(said.err, ErrorAt(right + "?"));
  }
  EXPECT_EQ(run({"help", "fly"}).code, kExitUsage);
  const CommandRun none = run({"--address", "x"});
  EXPECT_EQ(none.code, kExitUsage);
  EXPECT_NE(none.err, "");
}

TEST_F(CommandsTest, ReportsAReaderThatWentAway) {
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
  EXPECT_THAT(run.err, ErrorAt("reader"));
}

TEST(ProgressTest, FitsItsWidth) {
  EXPECT_EQ(ProgressLine(0.5, 1200, absl::Seconds(3), 80),
            "[###############               ]  50 %  1200 lines  400 lines/s"
            "  0:03 left");
  EXPECT_EQ(ProgressLine(0, 0, absl::ZeroDuration(), 80).size(), 47u);
  EXPECT_EQ(ProgressLine(7, 1, absl::Hours(3), 20).size(), 19u);
}

TEST_F(CommandsTest, ClassifiesTexts) {
  CommandRun run = Run({"classify", "one", "bad", "two"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out, "<one> 0.5000\t<> 0.5000\n\n<two> 0.5000\t<> 0.5000\n");
  run = Run({"classify", "--second", "x", "one"});
  EXPECT_EQ(run.out, "<one> 0.5000\t<x> 0.5000\n");
  run = Run({"classify", "--json", "one"});
  EXPECT_EQ(nlohmann::json::parse(run.out)["labels"][0]["label"], "<one>");
}

TEST_F(CommandsTest, TagsAnswersAndFillsMasks) {
  EXPECT_EQ(Run({"tag", "one", "two"}).out, "ALL one 0.2500\nALL two 0.2500\n");
  EXPECT_EQ(Run({"answer", "--question", "q", "one"}).out, "q=one 0.7500\n");
  EXPECT_EQ(
      Run({"answer", "--question", "q", "--top", "2", "--no-answer", "c"}).out,
      "q=c 0.7500\t- 0.0000\t- 0.0000\n");
  EXPECT_EQ(Run({"answer", "c"}).code, kExitUsage);
  EXPECT_EQ(Run({"fill-mask", "x"}).out,
            "xa 1.0000\txb 1.0000\t| xa 1.0000\txb 1.0000\n");
}

TEST_F(CommandsTest, ScoresPairsAndTexts) {
  const CommandRun run = Run({"score", "ab\tcde", "bad", "xyz"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out, "-3.0000\t3\n\n-0.0000\t3\n");
  EXPECT_THAT(run.err, ErrorAt("text 2"));
  EXPECT_THAT(Run({"score", "--json", "--top-logprobs", "2", "--no-end-token",
                   "--target-language", "de", "a\tb"})
                  .out,
              HasSubstr("\"piece\":\"b\""));
  EXPECT_EQ(server_.last_score.ShortDebugString(),
            "inputs { text: \"a\" target: \"b\" } end_token: false "
            "tokens: true top_logprobs: 2 target_language: \"de\"");
  EXPECT_EQ(Run({"score", "--ids", "1 2\t3,4"}).code, kExitOk);
  EXPECT_EQ(server_.last_score.ShortDebugString(),
            "inputs { ids { ids: 1 ids: 2 } target_ids { ids: 3 ids: 4 } } "
            "tokens: false");
  EXPECT_EQ(Run({"score", "--ids", "x"}).code, kExitFailed);
}

TEST_F(CommandsTest, ReranksDocuments) {
  CommandRun run = Run({"rerank", "--query", "q", "one", "two"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(run.out, "1.0000\t2\ttwo\n0.0000\t1\tone\n");
  run = Run({"rerank", "--query", "q", "--top", "1", "--truncate",
             "--truncation-direction", "left", "--return-text", "--json"},
            "a\nb\nc\n");
  EXPECT_EQ(server_.last_rerank.ShortDebugString(),
            "query: \"q\" documents: \"a\" documents: \"b\" documents: \"c\" "
            "top: 1 truncate: true return_text: true "
            "truncation_direction: TRUNCATION_DIRECTION_LEFT");
  EXPECT_EQ(
      nlohmann::json::parse(run.out.substr(0, run.out.find('\n')))["index"], 2);
  run = Run({"rerank", "--query", "q", "one", "bad"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, ErrorAt("text 2"));
  EXPECT_EQ(Run({"rerank", "one"}).code, kExitUsage);
}

TEST_F(CommandsTest, ComparesTextsOfTwoLists) {
  const CommandRun run =
      Run({"similarity", "--search", "--to", "x", "--to", "y", "--function",
           "dot", "--weights", "1,2,0", "a", "b"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(run.out, "0.5000\t0.5000\ta\n0.5000\t0.5000\tb\n");
  const v1::SimilarityRequest& sent = server_.last_similarity;
  EXPECT_EQ(sent.first().inputs_size(), 2);
  EXPECT_EQ(sent.first().kind(), v1::TEXT_KIND_QUERY);
  EXPECT_EQ(sent.second().inputs(1).text(), "y");
  EXPECT_EQ(sent.second().kind(), v1::TEXT_KIND_DOCUMENT);
  EXPECT_EQ(sent.function(), v1::SIMILARITY_FUNCTION_DOT);
  EXPECT_EQ(sent.weights().sparse(), 2);
  EXPECT_EQ(Run({"similarity", "a", "b"}).out,
            "0.5000\t0.5000\ta\n0.5000\t0.5000\tb\n");
  EXPECT_FALSE(server_.last_similarity.has_second());
  EXPECT_THAT(Run({"similarity", "a", "bad"}).err, ErrorAt("2"));
  EXPECT_THAT(Run({"similarity", "--to", "x", "--to", "bad", "a"}).err,
              ErrorAt("--to"));
  EXPECT_EQ(Run({"similarity", "--search", "a"}).code, kExitUsage);
  EXPECT_EQ(Run({"similarity", "--function", "sine", "a"}).code, kExitUsage);
}

TEST_F(CommandsTest, ReadsChunks) {
  for (const char* const chunk : {"1", "a:b", ":2", "-1:2", "1:2:3"}) {
    EXPECT_EQ(Run({"encode", "--chunk", chunk, "a"}).code, kExitUsage) << chunk;
  }
}

// The fake's vectors are (bytes, 0.1).
TEST_F(CommandsTest, PrintsSimilaritiesOfEmbeddings) {
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
