// The modes of a free answer are those of MarkedReader (marked_reader.cc) and
// HarmonyReader (harmony_reader.cc), with the same marks.
#include "model/chat_format/answer_grammar.h"

#include <string>
#include <utility>

#include "base/status.h"
#include "model/chat_format/grammar_parts.h"
#include "model/chat_format/json_scanner.h"
#include "model/chat_format/text_units.h"
#include "model/chat_format/tool_grammar.h"

namespace trivium {

namespace {

using Calls = AnswerGrammarOptions::Calls;
using Form = ToolCallFormat::Form;
using Kind = TextMode::Kind;

class AnswerGrammar {
 public:
  AnswerGrammar(const ChatFormat& format, const std::vector<ChatTool>& tools,
                const AnswerGrammarOptions& options)
      : format_(format),
        tools_(tools),
        options_(options),
        grammar_(options.limits) {}

  absl::StatusOr<Grammar> Make() {
    const bool harmony = format_.calls().form == Form::kHarmony;
    TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId answer,
                             harmony ? Channels() : Marked());
    const RuleId root = grammar_.AddRule();
    grammar_.Define(root, answer);
    grammar_.set_root(root);
    TRIVIUM_RETURN_IF_ERROR(grammar_.Check());
    return std::move(grammar_);
  }

 private:
  absl::StatusOr<ExpressionId> CallsOf(bool with_mark) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const Grammar calls,
        GrammarOfToolCalls(format_, tools_,
                           {.tool = options_.tool,
                            .parallel = options_.parallel,
                            .with_mark = with_mark,
                            .limits = options_.limits,
                            .check_alive = options_.check_alive}));
    return AddGrammar(calls, &grammar_);
  }

  absl::StatusOr<ExpressionId> Marked() {
    if (options_.content == nullptr && options_.calls != Calls::kMust) {
      return FreeAnswer();
    }
    std::vector<ExpressionId> choices;
    if (options_.calls != Calls::kNone) {
      TRIVIUM_ASSIGN_OR_RETURN(choices.emplace_back(),
                               CallsOf(/*with_mark=*/true));
    }
    if (options_.content != nullptr && options_.calls != Calls::kMust) {
      choices.push_back(grammar_.Sequence(
          {grammar_.Optional(grammar_.Literal(format_.content_begin())),
           AddGrammar(*options_.content, &grammar_)}));
    }
    return grammar_.Sequence({Thought(), grammar_.Choice(choices)});
  }

  // The thought before what must follow, and the white space behind it, which
  // ChatReader drops.
  ExpressionId Thought() {
    const ThinkingFormat& thinking = format_.thinking();
    if (!thinking.known()) return grammar_.Sequence({});
    const ExpressionId space = grammar_.Repeat(
        grammar_.Choice({grammar_.Literal(" "), grammar_.Literal("\n")}), 0, 8);
    const ExpressionId rest =
        grammar_.Sequence({TextUpTo(thinking.end, &grammar_), space});
    if (options_.thinking) return rest;
    if (thinking.begin.empty()) return grammar_.Sequence({});
    return grammar_.Optional(
        grammar_.Sequence({grammar_.Literal(thinking.begin), rest}));
  }

  // Content without the marks of calls, and then perhaps calls.
  absl::StatusOr<ExpressionId> FreeAnswer() {
    enum { kBegin, kContent, kThought, kCalls, kModes };
    std::vector<TextMode> modes(kModes);
    modes[kBegin] = {
        .kind = Kind::kStart, .otherwise = kContent, .may_end = true};
    modes[kContent] = {.kind = Kind::kText, .may_end = true};
    modes[kThought] = {.kind = Kind::kText, .may_end = true};
    const auto add = [&modes](int mode, std::string_view mark, int next) {
      mark = Trim(mark);
      if (!mark.empty()) {
        modes[mode].marks.push_back({std::string(mark), next});
      }
    };
    add(kBegin, format_.thinking().begin, kThought);
    add(kBegin, format_.thinking().end, kBegin);
    add(kThought, format_.thinking().end, kBegin);
    add(kBegin, format_.content_begin(), kContent);
    if (options_.calls == Calls::kMay) {
      const std::string_view mark = format_.CallMark();
      TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId calls,
                               CallsOf(/*with_mark=*/false));
      modes[mark.empty() ? kBegin : kCalls].then = calls;
      const ToolCallFormat& form = format_.calls();
      const bool has_section = !Trim(form.section_begin).empty();
      for (const int mode : {kBegin, kContent}) {
        add(mode, mark, kCalls);
        // A call outside of the section.
        if (has_section) add(mode, form.call_begin, TextMode::kNever);
      }
      if (form.in_list && !has_section) add(kBegin, "[", TextMode::kNever);
      if (mark.empty() && form.form == Form::kJson) {
        if (!form.in_list) add(kBegin, "{", TextMode::kNever);
      } else if (mark.empty()) {
        for (const ChatTool& tool : tools_) {
          modes[kBegin].marks.push_back(
              {tool.name + form.name_end, TextMode::kNever});
        }
        add(kContent, form.separator, kBegin);
      }
    }
    return TextInModes(modes, options_.thinking ? kThought : kBegin, &grammar_);
  }

  // gpt-oss's messages, each but the last with an end mark. Without tools, the
  // last is content.
  absl::StatusOr<ExpressionId> Channels() {
    std::vector<ExpressionId> last;
    if (options_.calls != Calls::kNone) {
      TRIVIUM_ASSIGN_OR_RETURN(const ExpressionId calls,
                               CallsOf(/*with_mark=*/false));
      const std::string mark(format_.CallMark());
      last.push_back(grammar_.Sequence(
          {grammar_.Choice({grammar_.Literal("<|channel|>commentary " + mark),
                            grammar_.Literal(" " + mark)}),
           calls, grammar_.Optional(grammar_.Literal("<|call|>"))}));
    }
    const ExpressionId thought =
        Message("<|channel|>analysis<|message|>", MessageText(true));
    std::vector<ExpressionId> before = {thought};
    if (options_.calls != Calls::kMust) {
      const bool free = options_.content == nullptr;
      if (free) {
        before.push_back(
            Message("<|channel|>commentary<|message|>", MessageText(true)));
      }
      last.push_back(grammar_.Sequence(
          {Message(format_.content_begin(),
                   free ? MessageText(false)
                        : AddGrammar(*options_.content, &grammar_)),
           grammar_.Optional(grammar_.Literal("<|return|>"))}));
    }
    return grammar_.Sequence(
        {grammar_.Repeat(
             grammar_.Sequence({grammar_.Choice(std::move(before)),
                                grammar_.Literal("<|start|>assistant")}),
             0, -1),
         grammar_.Choice(std::move(last))});
  }

  ExpressionId Message(std::string_view header, ExpressionId text) {
    return grammar_.Sequence({grammar_.Literal(header), text});
  }

  // A message's text without marks of other ends; `ends`: with its end mark.
  ExpressionId MessageText(bool ends) {
    TextMode text{.kind = Kind::kText, .may_end = !ends};
    text.marks = {{"<|end|>", ends ? 1 : TextMode::kNever},
                  {"<|return|>", TextMode::kNever},
                  {"<|call|>", TextMode::kNever},
                  {"<|start|>", TextMode::kNever}};
    return TextInModes({text, {.may_end = true}}, 0, &grammar_);
  }

  const ChatFormat& format_;
  const std::vector<ChatTool>& tools_;
  const AnswerGrammarOptions& options_;
  Grammar grammar_;
};

}  // namespace

absl::StatusOr<Grammar> GrammarOfAnswer(const ChatFormat& format,
                                        const std::vector<ChatTool>& tools,
                                        const AnswerGrammarOptions& options) {
  return AnswerGrammar(format, tools, options).Make();
}

bool MayBeginAsCalls(const ChatFormat& format) {
  if (format.calls().form == Form::kHarmony) return false;  // has channels
  JsonScanner json;
  for (const char c : format.CallMark()) {
    const JsonScanner::Result result = json.Feed(c);
    if (result == JsonScanner::Result::kError) return false;
    if (result != JsonScanner::Result::kMore) return true;
  }
  return true;
}

}  // namespace trivium
