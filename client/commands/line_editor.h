#ifndef TRIVIUM_CLIENT_COMMANDS_LINE_EDITOR_H_
#define TRIVIUM_CLIENT_COMMANDS_LINE_EDITOR_H_

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "client/commands/io.h"

namespace trivium {

// Reads lines that a person types at a terminal, with the usual keys: arrows,
// Home and End, Ctrl-A, Ctrl-R through the earlier lines, and what the person's
// ~/.editrc says. The earlier lines are kept in memory only. While a line is
// typed, Ctrl-C is a key that drops it; between two lines it is a signal.
class LineEditor {
 public:
  // The prompt has its escape sequences between two "\1", none at its end. Null
  // if the input or the standard error is no terminal that can move its cursor.
  static std::unique_ptr<LineEditor> Create(const Io& io, std::string prompt);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // Returns the next line, without its end, or nothing at the end (Ctrl-D).
  // Calls of one editor come from one thread.
  std::optional<std::string> Next();

 private:
  struct State;

  explicit LineEditor(std::unique_ptr<State> state);

  const std::unique_ptr<State> state_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_LINE_EDITOR_H_
