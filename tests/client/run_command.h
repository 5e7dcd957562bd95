#ifndef TRIVIUM_TESTS_CLIENT_RUN_COMMAND_H_
#define TRIVIUM_TESTS_CLIENT_RUN_COMMAND_H_

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "client/commands/io.h"

namespace trivium {

struct CommandRun {
  ExitCode code;
  std::string out, err;
};

// Runs a program with `input` as its standard input and returns what it wrote.
inline CommandRun RunWithFiles(
    const std::function<ExitCode(const Io&)>& program,
    const std::string& input = "") {
  FILE* const in = std::tmpfile();
  std::fwrite(input.data(), 1, input.size(), in);
  std::rewind(in);
  Io io;
  io.in = fileno(in);
  io.out = std::tmpfile();
  io.err = std::tmpfile();
  CommandRun run;
  run.code = program(io);
  std::fclose(in);
  const auto take = [](FILE* file) {
    std::string text(std::ftell(file), '\0');
    std::rewind(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
  };
  run.out = take(io.out);
  run.err = take(io.err);
  return run;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_CLIENT_RUN_COMMAND_H_
