#ifndef TRIVIUM_CLIENT_COMMANDS_IO_H_
#define TRIVIUM_CLIENT_COMMANDS_IO_H_

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace trivium {

// The files that a command reads and writes. Tests use their own.
struct Io {
  int in = 0;  // a file descriptor
  FILE* out = stdout;
  FILE* err = stderr;
  // The command's flags, so that messages speak of them (flag_words.h).
  std::vector<std::string> flags = {};
};

// Exit codes of `trivium`. They are part of its interface; docs/using.md lists
// them.
enum ExitCode {
  kExitOk = 0,
  // The server answered with an error, a text failed, or health is not SERVING.
  kExitFailed = 1,
  kExitUsage = 2,
  // No server answers, or it went away, or it is stopping.
  kExitUnavailable = 3,
  kExitTimeout = 4,
  // A file cannot be read, or the output cannot be written.
  kExitIo = 5,
  kExitInterrupted = 130,  // Ctrl-C
  kExitTerminated = 143,   // SIGTERM
};

// Returns the status of a failed read or write. Its exit code is kExitIo.
absl::Status IoError(const char* doing, const char* what, int error);
absl::Status IoError(const char* doing, const char* what,
                     const std::string& reason);

// Returns a status of local files with its exit code, kExitIo.
absl::Status AsIoError(absl::Status status);

// Writes a file, replacing an old one.
absl::Status WriteFile(const std::string& path, const std::string& bytes);

// Returns the exit code of a command that failed with `status`.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_IO_H_
