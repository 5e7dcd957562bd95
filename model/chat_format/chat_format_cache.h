#ifndef TRIVIUM_MODEL_CHAT_FORMAT_CHAT_FORMAT_CACHE_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_CHAT_FORMAT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "base/mutex.h"
#include "model/chat_format/chat_format.h"
#include "model/chat_template.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

// The form of a model's messages and the special tokens that its marks are made
// of: decoders drop them, but readers need their texts.
struct KnownChatFormat {
  ChatFormat format;
  std::map<int32_t, std::string> mark_tokens;  // texts by id
  const uint64_t id;  // unique, for keys that outlive this
};

// The formats of one model's chat templates: learned when they are first
// needed, and kept for the requests that follow. Thread-safe.
class ChatFormatCache {
 public:
  // The formats that are kept; the one used least recently is dropped. Models
  // have few templates, and few templates need variables.
  static constexpr size_t kMost = 8;

  // Returns the format of a template of the model, which has this tokenizer.
  // `variables` is a JSON object; the format depends on it only if the template
  // renders no chat without it. Learning takes some 20 renderings, thus not on
  // a thread of a transport. The only error is that of check_alive.
  absl::StatusOr<std::shared_ptr<const KnownChatFormat>> Get(
      const ChatTemplate& chat_template, const std::string& variables,
      const Tokenizer& tokenizer, const AliveCheck& check_alive)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Known = std::shared_ptr<const KnownChatFormat>;
  struct Entry {
    const ChatTemplate* chat_template;  // the model's, which outlives this
    std::string variables;
    Known known;
  };

  // Null: there is none. What Find returns becomes the one used last.
  Known Find(const ChatTemplate* chat_template, const std::string& variables)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Known> Learned(const ChatTemplate& chat_template,
                                const std::string& variables,
                                const Tokenizer& tokenizer,
                                const AliveCheck& check_alive)
      ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // last used first
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_CHAT_FORMAT_CACHE_H_
