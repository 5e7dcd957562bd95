#include "client/commands/flag_words.h"

#include <gtest/gtest.h>

namespace trivium {
namespace {

std::string In(std::string_view message) {
  return InFlagWords(message,
                     {"model", "beam-size", "target-language", "protect",
                      "protect-pattern", "term", "words", "target-prefix"});
}

TEST(FlagWordsTest, AFieldThatAFlagSetsBecomesTheFlag) {
  EXPECT_EQ(
      In("start.options.decoding.beam_size: is 99; it must be in 1 .. 16"),
      "--beam-size: is 99; it must be in 1 .. 16");
  EXPECT_EQ(In("text 3: options.words: are not for ids"),
            "text 3: --words: are not for ids");
  EXPECT_EQ(
      In("options.target_language: 'zz' is not one; give target_language"),
      "--target-language: 'zz' is not one; give --target-language");
  EXPECT_EQ(In("options.protect.patterns[0]: missing )"),
            "--protect-pattern: missing )");
  EXPECT_EQ(In("options.glossary.terms[2].source: is empty"),
            "--term: is empty");
}

TEST(FlagWordsTest, TextsAreCounted) {
  EXPECT_EQ(In("inputs[0].text: is blank"), "text 1: is blank");
  EXPECT_EQ(In("text 7: is wrong; inputs[0].text: is blank"),
            "text 7: is wrong; it: is blank");
  EXPECT_EQ(In("inputs[11]: has target_prefix"),
            "text 12: has --target-prefix");
  EXPECT_EQ(In("first.inputs[2].text: is blank"), "text 3: is blank");
  EXPECT_EQ(In("second.inputs[1]: is empty"), "text 2 of --to: is empty");
  EXPECT_EQ(In("first.inputs: has 0"), "TEXT: has 0");
  EXPECT_EQ(In("second.inputs: has 9"), "--to: has 9");
}

TEST(FlagWordsTest, ATextIsNamedOnce) {
  EXPECT_EQ(In("text 3: inputs[0]: is blank"), "text 3: is blank");
  EXPECT_EQ(In("text 1: inputs[0]: has no source; set text or ids"),
            "text 1: has no source; write SOURCE<tab>TEXT, with a tab between "
            "the two");
}

TEST(FlagWordsTest, TextsOfOtherCallsAreTexts) {
  EXPECT_EQ(In("text 1: item.input.text: has 9 bytes"), "text 1: has 9 bytes");
  EXPECT_EQ(In("texts[1]: has 9 bytes"), "text 2: has 9 bytes");
  EXPECT_EQ(In("text 2: texts[0]: has 9 bytes"), "text 2: has 9 bytes");
}

TEST(FlagWordsTest, AWordWithinAMessageIsNoField) {
  EXPECT_EQ(In("words: are not for ids"), "--words: are not for ids");
  EXPECT_EQ(In("cannot read the model: no such file"),
            "cannot read the model: no such file");
}

TEST(FlagWordsTest, DocumentsAreTheCommandsTexts) {
  EXPECT_EQ(In("documents[1]: has 9 tokens and the model reads at most 8; send "
               "shorter text, or set truncate"),
            "text 2: has 9 tokens and the model reads at most 8; send shorter "
            "text, or give --truncate");
  EXPECT_EQ(In("documents: has 0; a call takes 1 .. 8"),
            "TEXT: has 0; a call takes 1 .. 8");
}

TEST(FlagWordsTest, CallsOfTheApiBecomeCommands) {
  EXPECT_EQ(In("text 1: outputs[0]: is sparse; the model 'a' makes dense "
               "embeddings"),
            "text 1: --sparse: the model 'a' makes dense embeddings");
  EXPECT_EQ(In("chat: is for models without an encoder; send the text as "
               "input (request 7)"),
            "the model takes no chats; `trivium translate` and `trivium "
            "generate` send it a text, and --model names another model "
            "(request 7)");
}

TEST(FlagWordsTest, OtherFieldsKeepTheirNames) {
  EXPECT_EQ(In("start.options.split: has no value 9"), "split: has no value 9");
  EXPECT_EQ(In("decoding.sample is set"), "decoding.sample is set");
}

TEST(FlagWordsTest, WhatIsNoFieldStays) {
  for (const char* text :
       {"", "the model 'a.words' is not there", "1.5 or 2.", "it has words.",
        "cannot read x/beam_size.txt", "see README.md", "words and model",
        "http://a.words/beam_size", "[0] ..", "\"beam_size\" [", "müßig"}) {
    EXPECT_EQ(In(text), text);
  }
}

}  // namespace
}  // namespace trivium
