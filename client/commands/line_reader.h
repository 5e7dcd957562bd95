#ifndef TRIVIUM_CLIENT_COMMANDS_LINE_READER_H_
#define TRIVIUM_CLIENT_COMMANDS_LINE_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace trivium {

// Reads the lines of a file or pipe, without their ends ("\n" or "\r\n"). The
// last line needs no end.
class LineReader {
 public:
  // Opens the file. "-" means `standard_input`, which the reader does not
  // close.
  static absl::StatusOr<std::unique_ptr<LineReader>> Open(
      const std::string& path, int standard_input);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Returns the next line, or nothing at the end. An unreadable file, or a line
  // of more than 64 MiB, is an error.
  absl::StatusOr<std::optional<std::string>> Next();
  // True if Next would not wait for the writer of a pipe.
  bool Ready() const;
  // Makes a waiting Next, and every later one, return the end. May be called
  // from any thread.
  void Interrupt();

 private:
  LineReader(std::string name, int file, bool owns_file, int wake);

  // Waits for more bytes and reads them. Returns false at the end.
  absl::StatusOr<bool> Fill();

  const std::string name_;
  const int file_;
  const bool owns_file_;
  const int wake_;  // an eventfd that is readable once interrupted
  std::string buffer_;
  size_t begin_ = 0;  // of the next line in buffer_
  bool at_end_ = false;
};

// Counts the lines of a regular file. Returns 0 for anything else and for a
// file that cannot be read.
int64_t CountLines(const std::string& path);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_LINE_READER_H_
