#ifndef TRIVIUM_CLIENT_COMMANDS_LINE_READER_H_
#define TRIVIUM_CLIENT_COMMANDS_LINE_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace trivium {

// Lines of a file or pipe, without their ends ("\n" or "\r\n"). A last line
// needs no end.
class LineReader {
 public:
  // Opens the file; "-" is `standard_input`, which stays open.
  static absl::StatusOr<std::unique_ptr<LineReader>> Open(
      const std::string& path, int standard_input);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Nothing at the end. An error for an unreadable file and for a line of
  // more than 64 MiB.
  absl::StatusOr<std::optional<std::string>> Next();
  // Whether Next would not have to wait for the writer of a pipe.
  bool Ready() const;
  // Makes a Next that waits, and every later one, give the end. From any
  // thread.
  void Interrupt();

 private:
  LineReader(std::string name, int file, bool owns_file, int wake);

  // Waits and reads more; false at the end.
  absl::StatusOr<bool> Fill();

  const std::string name_;
  const int file_;
  const bool owns_file_;
  const int wake_;  // an eventfd: readable once interrupted
  std::string buffer_;
  size_t begin_ = 0;  // of the next line in buffer_
  bool at_end_ = false;
};

// How many lines a regular file has; 0 for anything else and for what cannot
// be read.
int64_t CountLines(const std::string& path);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_LINE_READER_H_
