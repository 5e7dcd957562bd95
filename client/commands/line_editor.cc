#include "client/commands/line_editor.h"

#include <histedit.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/print.h"

namespace trivium {
namespace {

constexpr int kKeptLines = 1000;

}  // namespace

struct LineEditor::State {
  ~State() {
    if (editor != nullptr) el_end(editor);
    if (history != nullptr) history_end(history);
    if (in != nullptr) std::fclose(in);
  }

  static State& Of(EditLine* editor) {
    State* state = nullptr;
    el_get(editor, EL_CLIENTDATA, &state);
    return *state;
  }

  FILE* in = nullptr;   // a duplicate of the input
  FILE* err = nullptr;  // not owned
  std::string prompt;
  EditLine* editor = nullptr;
  History* history = nullptr;
  HistEvent event;
  bool dropped = false;  // Ctrl-C ended the line
};

std::unique_ptr<LineEditor> LineEditor::Create(const Io& io,
                                               std::string prompt) {
  const char* const terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb" ||
      isatty(io.in) != 1 || isatty(fileno(io.err)) != 1) {
    return nullptr;
  }
  // Texts are UTF-8 whatever LANG says. An unknown locale changes nothing.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  auto state = std::make_unique<State>();
  state->in = fdopen(dup(io.in), "r");
  if (state->in == nullptr) return nullptr;
  state->err = io.err;
  state->prompt = std::move(prompt);
  state->editor = el_init("trivium", state->in, io.err, io.err);
  state->history = history_init();
  if (state->editor == nullptr || state->history == nullptr) return nullptr;
  EditLine* const editor = state->editor;
  history(state->history, &state->event, H_SETSIZE, kKeptLines);
  history(state->history, &state->event, H_SETUNIQUE, 1);
  el_set(editor, EL_CLIENTDATA, state.get());
  el_set(editor, EL_HIST, history, state->history);
  el_set(editor, EL_EDITOR, "emacs");
  const auto show = +[](EditLine* one) { return State::Of(one).prompt.data(); };
  el_set(editor, EL_PROMPT_ESC, show, '\1');
  const auto drop = +[](EditLine* one, int) -> unsigned char {
    State::Of(one).dropped = true;
    return CC_NEWLINE;
  };
  const auto suspend = +[](EditLine* one, int) -> unsigned char {
    el_set(one, EL_PREP_TERM, 0);
    std::raise(SIGTSTP);
    el_set(one, EL_PREP_TERM, 1);
    return CC_REDISPLAY;
  };
  el_set(editor, EL_SETTY, "-d", "-isig", nullptr);
  el_set(editor, EL_ADDFN, "trivium-drop", "Drop the line", drop);
  el_set(editor, EL_ADDFN, "trivium-suspend", "Suspend", suspend);
  el_set(editor, EL_BIND, "^C", "trivium-drop", nullptr);
  el_set(editor, EL_BIND, "^Z", "trivium-suspend", nullptr);
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  // A Ctrl-D from before the prompt: the terminal kept it as the end of a line
  // of no bytes, which reads as NUL once lines are edited.
  el_set(editor, EL_BIND, "^@", "em-delete-or-list", nullptr);
  el_source(editor, nullptr);
  return std::unique_ptr<LineEditor>(new LineEditor(std::move(state)));
}

LineEditor::LineEditor(std::unique_ptr<State> state)
    : state_(std::move(state)) {}

LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::Next() {
  while (true) {
    state_->dropped = false;
    el_resize(state_->editor);
    // Keys have their meaning from the prompt on: el_gets() would show it
    // first.
    el_set(state_->editor, EL_PREP_TERM, 1);
    int count = 0;
    const char* const text = el_gets(state_->editor, &count);
    if (state_->dropped) {
      PrintTo(state_->err, "^C\n(Ctrl-D or /quit ends)\n");
      std::fflush(state_->err);
      continue;
    }
    if (text == nullptr || count <= 0) return std::nullopt;
    std::string line = text;
    while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
    if (!line.empty()) {
      history(state_->history, &state_->event, H_ENTER, line.c_str());
    }
    return line;
  }
}

}  // namespace trivium
