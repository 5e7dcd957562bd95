#include "model/chat_format/chat_format_cache.h"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "model/tokenizer/token_bytes.h"

namespace trivium {

namespace {

// The special tokens whose texts are in one of the marks.
std::map<int32_t, std::string> TokensOfMarks(const ChatFormat& format,
                                             const Tokenizer& tokenizer) {
  const TokenBytes bytes(tokenizer);
  std::map<int32_t, std::string> tokens;
  for (const std::string_view mark : format.Marks()) {
    for (size_t begin = 0; begin < mark.size(); ++begin) {
      for (size_t size = 1; begin + size <= mark.size(); ++size) {
        const std::string_view text = mark.substr(begin, size);
        const int32_t id = tokenizer.PieceToId(text, TextSide::kTarget);
        if (id < 0 || tokens.contains(id) || !bytes.Of(id).special) continue;
        tokens.emplace(id, text);
      }
    }
  }
  return tokens;
}

}  // namespace

ChatFormatCache::Known ChatFormatCache::Find(const ChatTemplate* chat_template,
                                             const std::string& variables) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.chat_template == chat_template &&
               entry.variables == variables;
      });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->known;
}

absl::StatusOr<ChatFormatCache::Known> ChatFormatCache::Learned(
    const ChatTemplate& chat_template, const std::string& variables,
    const Tokenizer& tokenizer, const AliveCheck& check_alive) {
  {
    MutexLock lock(&mutex_);
    if (Known known = Find(&chat_template, variables)) return known;
  }
  ChatFormat format = ChatFormat::Learn(
      chat_template, {.variables = variables, .check_alive = check_alive});
  // A rendering that was given up tells nothing.
  TRIVIUM_RETURN_IF_ERROR(check_alive());
  static std::atomic<uint64_t> last_id{0};
  auto tokens = TokensOfMarks(format, tokenizer);
  Known learned = std::make_shared<const KnownChatFormat>(
      KnownChatFormat{std::move(format), std::move(tokens), ++last_id});
  MutexLock lock(&mutex_);
  // Calls that learned it at the same time share one.
  if (Known known = Find(&chat_template, variables)) return known;
  entries_.push_front({&chat_template, variables, learned});
  if (entries_.size() > kMost) entries_.pop_back();
  return learned;
}

absl::StatusOr<std::shared_ptr<const KnownChatFormat>> ChatFormatCache::Get(
    const ChatTemplate& chat_template, const std::string& variables,
    const Tokenizer& tokenizer, const AliveCheck& check_alive) {
  TRIVIUM_ASSIGN_OR_RETURN(Known known,
                           Learned(chat_template, "", tokenizer, check_alive));
  if (known->format.renders_chats()) return known;
  return Learned(chat_template, variables, tokenizer, check_alive);
}

}  // namespace trivium
