// trivium chat: a conversation, on a terminal or line by line from a pipe.
// Answers go to the standard output; prompts, notes and errors go to the
// standard error.
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/print.h"
#include "base/status.h"
#include "base/utf8.h"
#include "client/commands/command.h"
#include "client/commands/conversation.h"
#include "client/commands/interrupts.h"
#include "client/commands/line_editor.h"
#include "client/commands/line_reader.h"
#include "fmt/format.h"
#include "google/protobuf/util/json_util.h"

namespace trivium {
namespace {

// Long answers of large models take minutes.
constexpr double kTimeoutSeconds = 600;

// Makes an answer, which may hold any characters, safe for a terminal.
std::string Shown(std::string_view text) {
  std::string shown;
  while (true) {
    const size_t end = text.find('\n');
    shown += Visible(text.substr(0, end));
    if (end == std::string_view::npos) return shown;
    shown += '\n';
    text.remove_prefix(end + 1);
  }
}

// Adds a part of an answer to the message that it becomes.
void AddPiece(const v1::GenerateResponse::Piece& piece,
              v1::Chat::Message* answer) {
  if (!piece.text().empty()) answer->mutable_content()->append(piece.text());
  if (!piece.reasoning().empty()) {
    answer->mutable_reasoning_content()->append(piece.reasoning());
  }
  for (const v1::GenerateResponse::ToolCallPiece& part : piece.tool_calls()) {
    if (!part.name().empty()) {
      v1::Chat::ToolCall* const call = answer->add_tool_calls();
      call->set_name(part.name());
      if (!part.id().empty()) call->set_id(part.id());
    }
    if (answer->tool_calls().empty()) continue;
    answer->mutable_tool_calls()->rbegin()->mutable_arguments()->append(
        part.arguments());
  }
}

class ChatCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    v1::DecodingOptions& decoding = *request_.mutable_decoding();
    decoding.set_sampling_defaults(v1::SAMPLING_DEFAULTS_CHAT);
    if (!decoding.has_temperature() && decoding.beam_size() <= 1) {
      decoding.set_sample(true);
    }
    request_.mutable_chat()->set_answer_parts(true);
    if (request_.decoding().num_hypotheses() > 1) {
      return absl::InvalidArgumentError(
          "--num-hypotheses: a conversation has one answer; generate returns "
          "more");
    }
    Session session(*this, client, io);
    return session.Run();
  }

 private:
  friend Subcommand trivium::AddChat(CLI::App& app);

  // One run of the command.
  class Session {
   public:
    Session(const ChatCommand& command, Client& client, const Io& io)
        : command_(command),
          texts_(command.inputs_.texts),
          client_(client),
          io_(io),
          talks_(texts_.empty() && isatty(io.in) == 1),
          colors_(ShowsColors(io.err)),
          prompt_(colors_.Bold("> ")),
          output_(io, /*keep_newlines=*/talks_ || texts_.size() == 1, nullptr),
          conversation_(command.request_.chat(), command.system_) {}

    absl::Status Run() {
      if (texts_.empty()) {
        TRIVIUM_ASSIGN_OR_RETURN(lines_, LineReader::Open("-", io_.in));
      }
      if (talks_) TRIVIUM_RETURN_IF_ERROR(Greet());
      while (true) {
        TRIVIUM_ASSIGN_OR_RETURN(const std::optional<std::string> line, Next());
        if (!line) return SomeFailed(failed_);
        TRIVIUM_ASSIGN_OR_RETURN(const bool more, Obey(*line));
        if (!more) return SomeFailed(failed_);
      }
    }

   private:
    absl::Status Greet() {
      TRIVIUM_ASSIGN_OR_RETURN(const v1::Model model,
                               client_.GetModel(command_.request_.model()));
      if (model.chat_templates().empty()) {
        return absl::FailedPreconditionError(
            model.chat_refusal().empty()
                ? fmt::format("the model '{}' has no chat template, so it "
                              "takes no chats; trivium generate continues a "
                              "text",
                              model.name())
                : fmt::format("the model '{}' takes no chats: {}", model.name(),
                              model.chat_refusal()));
      }
      TRIVIUM_ASSIGN_OR_RETURN(
          interrupts_, Interrupts::Create([this] {
            PrintTo(io_.err, "\n(Ctrl-D or /quit ends)\n{}", prompt_);
            std::fflush(io_.err);
          }));
      const bool bold = prompt_ != "> ";
      editor_ = LineEditor::Create(
          io_, bold ? fmt::format("\1{}\1 ", colors_.Bold("\1>\1")) : prompt_);
      Tell(fmt::format("{}: /help lists the commands, Ctrl-D ends",
                       Visible(model.name())));
      return absl::OkStatus();
    }

    void Tell(std::string_view note) {
      PrintTo(io_.err, "{}\n", note);
      std::fflush(io_.err);
    }

    absl::StatusOr<std::optional<std::string>> Next() {
      if (lines_ == nullptr) {
        if (number_ == texts_.size()) return std::nullopt;
        return texts_[number_++];
      }
      ++number_;
      if (talks_ && editor_ == nullptr) {
        PrintTo(io_.err, "{}", prompt_);
        std::fflush(io_.err);
      }
      absl::StatusOr<std::optional<std::string>> line =
          editor_ != nullptr ? editor_->Next() : lines_->Next();
      // Ctrl-D does not end the line of the prompt.
      if (talks_ && line.ok() && !*line) Tell("");
      return line;
    }

    // Handles a line of the user. Returns true if the conversation goes on.
    absl::StatusOr<bool> Obey(const std::string& line) {
      const absl::StatusOr<Conversation::Turn> turn =
          !IsUtf8(line) ? absl::InvalidArgumentError("is not UTF-8")
                        : conversation_.Read(line);
      if (!turn.ok()) return Failed(turn.status());
      if (!turn->note.empty()) Tell(turn->note);
      if (turn->next == Conversation::kQuit) return false;
      if (turn->next == Conversation::kGoOn) return true;
      return Answer();
    }

    absl::StatusOr<bool> Answer() {
      v1::GenerateRequest request = command_.request_;
      *request.mutable_chat() = conversation_.chat();
      v1::Chat::Message answer;
      v1::FinishReason reason = v1::FINISH_REASON_UNSPECIFIED;
      const auto on_event = [&](const v1::GenerateResponse& response) {
        AddPiece(response.piece(), &answer);
        reason = response.done().finish_reason();
        if (command_.json_) return output_.Json(response);
        ShowThought(response.piece().reasoning());
        return output_.Piece(talks_ ? Shown(response.piece().text())
                                    : response.piece().text());
      };
      const absl::Status status = client_.Generate(
          request, on_event,
          interrupts_ != nullptr ? interrupts_->Begin() : std::stop_token());
      const bool stopped = interrupts_ != nullptr && interrupts_->End() != 0;
      ShowThought("");
      const bool some = !answer.content().empty();
      if (!command_.json_ && (some || answer.tool_calls().empty()) &&
          (status.ok() || some)) {
        TRIVIUM_RETURN_IF_ERROR(output_.EndLine());
      }
      if (!command_.json_ && status.ok()) {
        TRIVIUM_RETURN_IF_ERROR(ShowCalls(answer));
      }
      // The part of an answer that came before Ctrl-C stays in the
      // conversation, save its calls.
      if (stopped) answer.clear_tool_calls();
      if (status.ok() || (stopped && some)) {
        conversation_.Answered(std::move(answer));
      } else {
        conversation_.Unanswered();
      }
      if (stopped) Tell("(stopped)");
      if (reason == v1::FINISH_REASON_REPETITION) {
        Tell("(ended: it only repeats itself)");
      }
      return stopped || status.ok() ? true : Failed(status);
    }

    // Shows a part of a thought dimmed, on a terminal or if it is asked for.
    // Empty: the answer has ended.
    void ShowThought(std::string_view text) {
      if (!talks_ && !command_.thoughts_) return;
      if (!text.empty()) {
        PrintTo(io_.err, "{}", colors_.Dim(Shown(text)));
        thought_ = true;
      } else if (thought_) {
        PrintTo(io_.err, "\n");
        thought_ = false;
      }
      std::fflush(io_.err);
    }

    absl::Status ShowCalls(const v1::Chat::Message& answer) {
      for (const v1::Chat::ToolCall& call : answer.tool_calls()) {
        TRIVIUM_RETURN_IF_ERROR(output_.Line(Shown(
            fmt::format("{}({})", call.name(),
                        call.arguments().empty() ? "{}" : call.arguments()))));
      }
      if (talks_ && !answer.tool_calls().empty()) {
        Tell("Tell the result of each call: /result TEXT");
      }
      return absl::OkStatus();
    }

    // Reports a failure. Returns true if the conversation can go on: on a
    // terminal always, in a pipe if only this text failed.
    absl::StatusOr<bool> Failed(const absl::Status& status) {
      if (ExitCodeOf(status) == kExitIo) return status;
      if (talks_) {
        output_.Complain(std::string(status.message()));
        // The message that failed is not in the conversation any more.
        if (absl::IsInvalidArgument(status) &&
            conversation_.chat().messages_size() > 1) {
          Tell("If the conversation is too long, /clear begins a new one.");
        }
        return true;
      }
      if (!absl::IsInvalidArgument(status)) return status;
      ++failed_;
      output_.Complain(
          fmt::format("text {}: {}", number_, std::string(status.message())));
      TRIVIUM_RETURN_IF_ERROR(output_.Failure(status, command_.json_));
      return true;
    }

    const ChatCommand& command_;
    const std::vector<std::string>& texts_;
    Client& client_;
    const Io io_;
    const bool talks_;  // true: to somebody at a terminal
    const Colors colors_;
    const std::string prompt_;
    Output output_;
    Conversation conversation_;
    std::unique_ptr<LineReader> lines_;
    std::unique_ptr<Interrupts> interrupts_;
    std::unique_ptr<LineEditor> editor_;  // null: the terminal has no cursor
    size_t number_ = 0;                   // of the current text, from 1
    int64_t failed_ = 0;
    bool thought_ = false;  // the line shows a thought
  };

  InputFlags inputs_;
  v1::GenerateRequest request_;
  std::string system_;
  bool json_ = false;
  bool thoughts_ = false;
};

// Adds the tools of a file, a list of JSON objects.
void AddTools(const std::string& path, v1::Chat* chat) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) {
    throw CLI::ValidationError("--tools", std::string(text.status().message()));
  }
  const absl::Status checked = CheckJson(*text, kConfigJson);
  if (!checked.ok()) {
    throw CLI::ValidationError(
        "--tools", fmt::format("{}: {}", path, std::string(checked.message())));
  }
  // Templates see the members in the file's order.
  const auto tools = nlohmann::ordered_json::parse(*text, nullptr, false);
  if (!tools.is_array() || tools.empty()) {
    throw CLI::ValidationError(
        "--tools", path +
                       ": must be a JSON list of tools, [{\"type\": "
                       "\"function\", \"function\": {...}}]");
  }
  for (const auto& tool : tools) chat->add_tools(tool.dump());
}

// Says which of the tools an answer calls: none, auto, required or a name.
void ChooseTool(const std::string& choice, v1::Chat* chat) {
  if (choice.empty()) {
    throw CLI::ValidationError(
        "--tool-choice", "give none, auto, required or the name of a tool");
  }
  if (choice == "none") {
    chat->set_tool_choice(v1::Chat::TOOL_CHOICE_NONE);
  } else if (choice == "auto") {
    chat->set_tool_choice(v1::Chat::TOOL_CHOICE_AUTO);
  } else {
    chat->set_tool_choice(v1::Chat::TOOL_CHOICE_REQUIRED);
    if (choice != "required") chat->set_tool_name(choice);
  }
}

void AddAnswerFlags(CLI::App& app, v1::Chat* chat) {
  app.add_option_function<std::string>(
         "--tools", [chat](const std::string& path) { AddTools(path, chat); },
         "File with a JSON list of tools that the model may call")
      ->group(kMoreFlags);
  app.add_option_function<std::string>(
         "--tool-choice",
         [chat](const std::string& choice) { ChooseTool(choice, chat); },
         "Tools that an answer calls: none, auto, required or a name")
      ->group(kMoreFlags);
  app.add_flag_function(
         "--parallel-tool-calls,!--no-parallel-tool-calls",
         [chat](int64_t count) { chat->set_parallel_tool_calls(count > 0); },
         "An answer may call several tools")
      ->group(kMoreFlags);
  app.add_option_function<uint32_t>(
         "--max-thinking-tokens",
         [chat](uint32_t most) { chat->set_max_thinking_tokens(most); },
         "Most tokens of the thoughts before an answer")
      ->group(kMoreFlags);
}

void AddTemplateFlags(CLI::App& app, v1::Chat* chat) {
  app.add_option_function<std::string>(
         "--variable",
         [chat](const std::string& text) {
           const size_t sign = text.find('=');
           if (sign == 0 || sign == std::string::npos) {
             throw CLI::ValidationError(
                 "--variable", "give NAME=VALUE, as enable_thinking=false");
           }
           const std::string value = text.substr(sign + 1);
           google::protobuf::Value& place =
               (*chat->mutable_variables()
                     ->mutable_fields())[text.substr(0, sign)];
           if (!google::protobuf::util::JsonStringToMessage(value, &place)
                    .ok()) {
             place.set_string_value(value);
           }
         },
         "NAME=VALUE for the chat template, JSON or text (repeatable)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse();
  app.add_option_function<std::string>(
         "--template-name",
         [chat](const std::string& name) { chat->set_template_name(name); },
         "Name of one of the model's chat templates")
      ->group(kMoreFlags);
}

}  // namespace

Subcommand AddChat(CLI::App& app) {
  auto command = std::make_unique<ChatCommand>();
  CLI::App* sub = app.add_subcommand(
      "chat", "A conversation; /help explains: trivium chat [flags] [TEXT...]");
  v1::GenerateRequest* request = &command->request_;
  command->connection.timeout_seconds = kTimeoutSeconds;
  AddModelFlag(*sub, request->mutable_model());
  sub->add_option("--system", command->system_,
                  "System message that begins the conversation");
  AddTemplateFlags(*sub, request->mutable_chat());
  AddAnswerFlags(*sub, request->mutable_chat());
  AddJsonFlag(*sub, &command->json_);
  sub->add_flag(
         "--thoughts", command->thoughts_,
         "Show the model's thoughts on the standard error in a pipe, too")
      ->excludes("--json")  // which shows them
      ->group(kMoreFlags);
  AddDecodingFlags(*sub, request->mutable_decoding());
  AddConstraintFlags(*sub, request->mutable_decoding());
  return {sub, std::move(command)};
}

}  // namespace trivium
