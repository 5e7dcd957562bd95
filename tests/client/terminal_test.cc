// Tests of output to a terminal and to a pipe.
#include "client/commands/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "client/commands/command.h"
#include "gmock/gmock.h"
#include "tests/client/fake_server.h"

namespace trivium {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(VisibleTest, ReplacesControlCharacters) {
  EXPECT_EQ(Visible("a\x1b[31mb"), "a\u241b[31mb");
  EXPECT_EQ(Visible("\n\t"), "\u240a\u2409");
  EXPECT_EQ(Visible("\x7f"), "<7f>");
  EXPECT_EQ(Visible("\u202ex\u200b"), "<202e>x<200b>");
  EXPECT_EQ(Visible("\u0085"), "<85>");
  EXPECT_EQ(Visible("\u2581h\u00e9 \U0001F34E"), "\u2581h\u00e9 \U0001F34E");
  // A joiner belongs to an emoji.
  EXPECT_EQ(Visible("\U0001F469\u200d\U0001F469"),
            "\U0001F469\u200d\U0001F469");
  EXPECT_EQ(Visible("\u2764\ufe0f"), "\u2764\ufe0f");
  EXPECT_EQ(Visible(""), "");
}

TEST(VisibleTest, ReplacesInvisibleCharacters) {
  // A soft hyphen, separators, an isolate, a filler, a tag, a byte order mark.
  EXPECT_EQ(Visible("\u00ad"), "<ad>");
  EXPECT_EQ(Visible("\u2028\u2029"), "<2028><2029>");
  EXPECT_EQ(Visible("\u2066x\u2069"), "<2066>x<2069>");
  EXPECT_EQ(Visible("\u3164\u034f"), "<3164><34f>");
  EXPECT_EQ(Visible("\U000E0041"), "<e0041>");
  EXPECT_EQ(Visible("\ufeff"), "<feff>");
  // This one formats a number and is visible.
  EXPECT_EQ(Visible("\u0600"), "\u0600");
}

TEST(VisibleTest, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(Visible("a\xff"), "a<0xFF>");
  // Cut off in the middle: no byte is read beyond the end.
  EXPECT_EQ(Visible("\xe2\x96"), "<0xE2><0x96>");
  // An overlong escape, a surrogate, a bare C1 control.
  EXPECT_EQ(Visible("\xc0\x9b"), "<0xC0><0x9B>");
  EXPECT_EQ(Visible("\xed\xa0\x80"), "<0xED><0xA0><0x80>");
  EXPECT_EQ(Visible("\x9b[2J"), "<0x9B>[2J");
}

TEST(ColumnsTest, CountsCharactersThatTakeTwoColumnsOrNone) {
  EXPECT_EQ(Columns("abc"), 3);
  EXPECT_EQ(Columns("e\u0301"), 1);
  EXPECT_EQ(Columns("\u4f60\u597d"), 4);
  EXPECT_EQ(Columns("\uff21\uff71"), 3);              // full and half width
  EXPECT_EQ(Columns("\u1112\u1161\u11ab"), 2);        // a syllable in parts
  EXPECT_EQ(Columns("\u0e01\u0e34\u05d0\u05b8"), 2);  // marks of any script
  EXPECT_EQ(Columns("\u2764\ufe0f"), 1);
  EXPECT_EQ(Columns("\u200d"), 0);
  EXPECT_EQ(Columns(""), 0);
  EXPECT_EQ(InColumns("abc", 5), "abc  ");
  EXPECT_EQ(InColumns("abcdef", 4), "abc\u2026");
  EXPECT_EQ(InColumns("\u4f60\u597d\u5417", 4), "\u4f60\u2026 ");
}

// A terminal; `file` is the program's end.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    EXPECT_GE(master_, 0);
    EXPECT_EQ(grantpt(master_), 0);
    EXPECT_EQ(unlockpt(master_), 0);
    const int slave = open(ptsname(master_), O_RDWR | O_NOCTTY);
    EXPECT_GE(slave, 0);
    file_ = fdopen(slave, "w");
  }
  ~Terminal() { close(master_); }

  FILE* file() { return file_; }
  // Closes the file and returns what was written.
  std::string Take() {
    std::fflush(file_);
    std::string text;
    // A terminal buffers little, but a line fits.
    char buffer[4096];
    const ssize_t count = read(master_, buffer, sizeof(buffer));
    if (count > 0) text.assign(buffer, count);
    std::fclose(file_);
    return text;
  }

 private:
  int master_;
  FILE* file_;
};

class TokensTest : public testing::Test {
 protected:
  TokensTest() {
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
  }
  ~TokensTest() override { unsetenv("NO_COLOR"); }

  std::string OnATerminal() {
    Terminal terminal;
    Io io;
    io.out = terminal.file();
    io.err = std::tmpfile();
    EXPECT_EQ(
        RunTrivium({"tokens", "--address", server_.address(), "one two\x1b[2J"},
                   io),
        kExitOk);
    std::fclose(io.err);
    return terminal.Take();
  }

  FakeServer server_;
};

TEST_F(TokensTest, ColoursPiecesOnATerminal) {
  const std::string out = OnATerminal();
  EXPECT_THAT(out, HasSubstr("\x1b[30;46mone \x1b[0m\x1b[2m:7\x1b[0m"));
  // The next piece has another colour, and its own escape is a sign.
  EXPECT_THAT(out, HasSubstr("\x1b[30;43mtwo\u241b[2J\x1b[0m"));
  EXPECT_THAT(out, Not(HasSubstr("\x1b[2J")));
}

TEST_F(TokensTest, HonoursNoColor) {
  setenv("NO_COLOR", "1", 1);
  // Escapes in a text are replaced all the same.
  EXPECT_EQ(OnATerminal(), "one :7 two\u241b[2J:7\r\n");
  setenv("NO_COLOR", "", 1);  // no-color.org: only if it is not empty
  EXPECT_THAT(OnATerminal(), HasSubstr("\x1b[3"));
  setenv("TERM", "dumb", 1);
  EXPECT_THAT(OnATerminal(), Not(HasSubstr("\x1b[3")));
}

TEST(ColorsTest, PaintsNothingWhenOff) {
  EXPECT_EQ(Colors(false).Paint("31", "x"), "x");
  EXPECT_EQ(Colors(true).Paint("31", "x"), "\x1b[31mx\x1b[0m");
  EXPECT_FALSE(ShowsColors(std::tmpfile()));
}

}  // namespace
}  // namespace trivium
