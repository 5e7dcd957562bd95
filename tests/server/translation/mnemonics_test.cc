#include "server/translation/mnemonics.h"

#include <gtest/gtest.h>

namespace trivium {
namespace {

std::optional<size_t> Find(std::string_view label) {
  return FindMnemonic(label,
                      [](std::string_view word) { return word == "Save"; });
}

std::string Marked(const std::string& mnemonic, const std::string& label) {
  return EditedText(label, {MnemonicEdit(mnemonic, label)}).text();
}

TEST(MnemonicsTest, AreFoundInLabels) {
  EXPECT_EQ(Find("&File"), 0u);
  EXPECT_EQ(Find("_Open"), 0u);
  EXPECT_EQ(Find("Save &As..."), 5u);
  EXPECT_EQ(Find("&Über…"), 0u);
  EXPECT_EQ(Find("&Print\tCtrl+P"), 0u);
  EXPECT_EQ(Find("E&xit"), 1u);
  EXPECT_EQ(Find("Sa_ve"), 2u);
}

TEST(MnemonicsTest, OtherSignsAreText) {
  for (const char* const text :
       {"", "&", "R&D", "AT&T", "Q & A", "Find && Replace", "&File &Edit",
        "_emphasis_", "&copy; 2020", "my_name", "a=1&b=2", "(&x)", "& Son",
        "Smith &Son came.", "&One\nTwo", "Black&White", "M&ms"}) {
    EXPECT_FALSE(Find(text)) << text;
  }
  EXPECT_FALSE(Find("&File" + std::string(80, 'x')));
}

TEST(MnemonicsTest, MarkTheSameLetterOrTheFirst) {
  EXPECT_EQ(Marked("&F", "Datei"), "&Datei");
  EXPECT_EQ(Marked("&s", "unter Speichern"), "unter &Speichern");
  EXPECT_EQ(Marked("_x", "Beenden…"), "_Beenden…");
  EXPECT_EQ(Marked("&u", "„Über“"), "„&Über“");
  EXPECT_EQ(Marked("&f", "ファイル"), "ファイル(&F)");
}

}  // namespace
}  // namespace trivium
