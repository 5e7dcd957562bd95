#include "model/chat_format/chat_format.h"

#include <utility>

#include "model/chat_format/format_learner.h"
#include "model/chat_format/text_units.h"

namespace trivium {

namespace {

// The content of an answer of gpt-oss. Its calls and thoughts are messages of
// their own with headers in any of several orders, of which a template shows
// one, so harmony_reader.cc knows the form.
constexpr char kHarmonyContent[] = "<|channel|>final<|message|>";

// The variables that switch thinking, and their values.
struct Switch {
  const char* variable;
  const char* on;
  const char* off;
};
constexpr Switch kSwitches[] = {
    {"enable_thinking", "true", "false"},
    {"thinking", "true", "false"},
    {"reasoning_effort", "\"high\"", "\"low\""},
};

SampleChats::Json Reply(std::string_view content) {
  return {{"role", "assistant"}, {"content", content}};
}

bool HasText(std::string_view text) { return !Trim(text).empty(); }

}  // namespace

ChatFormat ChatFormat::Learn(const ChatTemplate& chat_template,
                             const Options& options) {
  return FormatLearner(chat_template, options).Learn();
}

std::string_view ChatFormat::CallMark() const {
  if (calls_.form == ToolCallFormat::Form::kHarmony) return "to=functions.";
  return Trim(Trim(calls_.section_begin).empty() ? calls_.call_begin
                                                 : calls_.section_begin);
}

bool ChatFormat::OpensThinking(std::string_view prompt) const {
  return !thinking_.begin.empty() && TrimEnd(prompt).ends_with(thinking_.begin);
}

std::vector<std::string_view> ChatFormat::Marks() const {
  std::vector<std::string_view> marks = {
      thinking_.begin,       thinking_.end,
      content_begin_,        content_end_,
      calls_.section_begin,  calls_.section_end,
      calls_.call_begin,     calls_.call_end,
      calls_.separator,      calls_.name_end,
      calls_.id_end,         calls_.parameter_begin,
      calls_.string_key_end, calls_.other_key_end,
      calls_.parameter_end,  calls_.parameter_separator,
      calls_.parameters_end, calls_.quote};
  if (calls_.form == ToolCallFormat::Form::kHarmony) {
    for (const std::string_view mark :
         {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>",
          "<|call|>", "<|return|>"}) {
      marks.push_back(mark);
    }
  }
  return marks;
}

ChatFormat FormatLearner::Learn() && {
  const auto plain = chats_.Prompt(/*tools=*/false, Json::object());
  const auto with_tools = chats_.Prompt(/*tools=*/true, Json::object());
  // Some templates cannot do without tools.
  format_.knows_tools_ = chats_.MayRead("tools") && with_tools &&
                         (!plain || *plain != *with_tools);
  const auto prompt = chats_.Answer(nullptr, Json::object());
  const auto content = chats_.Answer(Reply(sample::kContent), Json::object());
  if (!prompt || !content ||
      content->find(sample::kContent) == std::string::npos) {
    return std::move(format_);
  }
  format_.renders_chats_ = true;
  prompts_.push_back(*prompt);
  content_answer_ = *content;
  LearnSwitch();
  LearnHeader();
  LearnThinking();
  CutHeader();
  LearnTail();
  return std::move(format_);
}

void FormatLearner::LearnSwitch() {
  for (const Switch& one : kSwitches) {
    if (!chats_.MayRead(one.variable)) continue;
    const Json on = {{one.variable, Json::parse(one.on)}};
    const Json off = {{one.variable, Json::parse(one.off)}};
    const auto with = chats_.Prompt(/*tools=*/true, on);
    const auto without = chats_.Prompt(/*tools=*/true, off);
    if (!with || !without || *with == *without) continue;
    format_.thinking_.variable = one.variable;
    format_.thinking_.on = one.on;
    format_.thinking_.off = one.off;
    thinking_on_ = on;
    for (const Json& variables : {off, on}) {
      if (auto prompt = chats_.Answer(nullptr, variables)) {
        prompts_.push_back(*std::move(prompt));
      }
    }
    return;
  }
}

// The header is what stands before the content, unless the generation prompt
// ends earlier or goes on otherwise.
void FormatLearner::LearnHeader() {
  const std::string_view answer = content_answer_;
  const std::string_view before =
      answer.substr(0, answer.find(sample::kContent));
  const std::string_view prompt = prompts_.front();
  if (HasText(CommonEnd(before, prompt))) {
    header_ = before;
  } else {
    header_ = CommonStart(before, prompt);
  }
}

std::string_view FormatLearner::WithoutHeader(std::string_view answer) const {
  if (answer.starts_with(header_)) return answer.substr(header_.size());
  return answer.substr(CommonStart(answer, header_).size());
}

std::string_view FormatLearner::WithoutThinking(std::string_view text) const {
  const ThinkingFormat& thinking = format_.thinking_;
  if (thinking.known()) {
    const size_t end = text.rfind(thinking.end);
    if (end != std::string_view::npos) {
      text.remove_prefix(end + thinking.end.size());
    }
  }
  return TrimStart(text);
}

void FormatLearner::LearnThinking() {
  const std::string reasoning(sample::kReasoning), content(sample::kContent);
  std::vector<Json> answers;
  for (Json answer : {Reply(content), SampleChats::Calls(1, false)}) {
    for (const char* field : {"reasoning_content", "reasoning", "thinking"}) {
      answers.push_back(answer);
      answers.back()[field] = reasoning;
    }
  }
  // Mistral's templates take thoughts as a part of the content.
  answers.push_back(Reply(content));
  answers.back()["content"] =
      Json::array({{{"type", "thinking"}, {"thinking", reasoning}},
                   {{"type", "text"}, {"text", content}}});
  for (const Json& variables : {Json(Json::object()), thinking_on_}) {
    for (const Json& answer : answers) {
      if (LearnThinkingFromAnswer(answer, variables)) return;
    }
    if (thinking_on_.empty()) break;
  }
  LearnThinkingFromPrompts();
}

bool FormatLearner::LearnThinkingFromAnswer(const Json& answer,
                                            const Json& variables) {
  const auto rendered = chats_.Answer(answer, variables);
  if (!rendered) return false;
  const size_t at = rendered->find(sample::kReasoning);
  if (at == std::string::npos) return false;
  const std::string_view text = *rendered;
  std::string_view behind = text.substr(at + sample::kReasoning.size());
  // The end mark is the first unit behind the thought that is no white space;
  // thoughts and content with nothing between them cannot be told apart.
  const std::string_view next = TrimStart(behind);
  const auto units = TextUnits(next);
  if (units.empty() || next.starts_with(sample::kContent)) return false;
  std::string_view end = units.front();
  if (end == "[" || end.size() == 1) {
    // A mark of several units ends at the line's end: "[BEGIN FINAL RESPONSE]".
    end = TrimEnd(next.substr(0, next.find('\n')));
  }
  if (end.find(sample::kContent) != std::string_view::npos) return false;
  format_.thinking_.end = end;
  std::string_view before = Trim(WithoutHeader(text.substr(0, at)));
  if (!before.empty()) {
    format_.thinking_.begin = before;
    return true;
  }
  // The generation prompt opens the thought, in whole or in part.
  const std::string_view opened = TrimEnd(text.substr(0, at));
  const auto opening = TextUnits(opened);
  if (!opening.empty() && ClosingTag(opening.back()) == end) {
    format_.thinking_.begin = opening.back();
    return true;
  }
  for (const std::string& prompt : prompts_) {
    const std::string_view rest = Trim(WithoutHeader(prompt));
    if (!rest.empty() && rest.find(end) == std::string_view::npos) {
      format_.thinking_.begin = rest;
      return true;
    }
  }
  return true;
}

// Templates that drop thoughts of earlier messages show the marks in their
// generation prompts only: "<think></think>" if thinking is off, or "<think>".
bool FormatLearner::LearnThinkingFromPrompts() {
  for (const std::string& prompt : prompts_) {
    std::vector<std::string_view> units;
    for (const std::string_view unit : TextUnits(prompt)) {
      if (HasText(unit)) units.push_back(unit);
    }
    if (units.size() < 2) continue;
    const std::string_view last = units.back(),
                           before = units[units.size() - 2];
    if (ClosingTag(before) == last) {
      format_.thinking_.begin = before;
      format_.thinking_.end = last;
      return true;
    }
    if (const std::string end = ClosingTag(last);
        !end.empty() && header_.find(last) == std::string::npos) {
      format_.thinking_.begin = last;
      format_.thinking_.end = end;
      return true;
    }
  }
  return false;
}

// Takes thinking marks off the header's end, where the prompts that it was
// learned from agree on an empty thought.
void FormatLearner::CutHeader() {
  const ThinkingFormat& thinking = format_.thinking_;
  if (!thinking.known()) return;
  std::string_view header = TrimEnd(header_);
  bool cut = false;
  for (const std::string& mark : {thinking.end, thinking.begin}) {
    if (!mark.empty() && header.ends_with(mark)) {
      header.remove_suffix(mark.size());
      header = TrimEnd(header);
      cut = true;
    }
  }
  if (cut) header_ = header;
}

void FormatLearner::LearnTail() {
  const size_t at = content_answer_.find(sample::kContent);
  if (at == content_answer_.npos) return;
  const std::string_view behind =
      std::string_view(content_answer_).substr(at + sample::kContent.size());
  const std::string_view before =
      std::string_view(content_answer_).substr(0, at);
  format_.content_begin_ = TrimEnd(WithoutThinking(WithoutHeader(before)));
  if (format_.content_begin_ == kHarmonyContent) {
    format_.calls_.form = ToolCallFormat::Form::kHarmony;
    format_.thinking_.begin = "<|channel|>analysis<|message|>";
    format_.thinking_.end = "<|end|>";
    return;
  }
  tail_ = behind;
  for (const bool as_text : {false, true}) {
    const auto one =
        chats_.Answer(SampleChats::Calls(1, as_text), Json::object());
    if (!one || one->find(sample::kFirstTool) == std::string::npos) continue;
    const auto two =
        chats_.Answer(SampleChats::Calls(2, as_text), Json::object());
    tail_ = CommonEnd(behind, *one);
    const auto calls_of = [&](std::string_view answer) {
      if (answer.ends_with(tail_)) answer.remove_suffix(tail_.size());
      const std::string_view text = WithoutHeader(answer);
      const size_t name = text.find(sample::kFirstTool);
      if (name == text.npos) return std::string_view();
      const std::string_view start = WithoutThinking(text.substr(0, name));
      return text.substr(name - start.size());
    };
    const bool has_two = two &&
                         two->find(sample::kFirstTool) != std::string::npos &&
                         two->find(sample::kSecondTool) != std::string::npos;
    format_.calls_ =
        LearnCallFormat(calls_of(*one), has_two ? calls_of(*two) : "");
    if (format_.calls_.form == ToolCallFormat::Form::kUnknown) continue;
    format_.calls_.arguments_as_text = as_text;
    break;
  }
  if (behind.ends_with(tail_)) {
    format_.content_end_ = Trim(behind.substr(0, behind.size() - tail_.size()));
  }
}

}  // namespace trivium
