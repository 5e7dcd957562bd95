#ifndef TRIVIUM_SERVER_ADAPTERS_OLLAMA_H_
#define TRIVIUM_SERVER_ADAPTERS_OLLAMA_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "server/adapters/codec.h"
#include "server/adapters/http_status.h"
#include "server/calls/allowed_models.h"

namespace trivium {

// The HTTP shapes of Ollama's API
// (https://github.com/ollama/ollama/blob/main/docs/api.md) that this server has
// calls for. A model "NAME:latest" is NAME, unless one is called so. An option
// that is not supported is an error, unless its value asks for what is done
// anyway. Errors are {"error": TEXT}.

// POST /api/chat: texts of messages, for models that take chats.
// POST /api/generate: a prompt, which is a chat of one message if the model
// takes chats and the request is not `raw`. Both stream unless `stream` is
// false, as application/x-ndjson: a JSON object a line.
NewCodec NewOllamaChatCodec;
NewCodec NewOllamaGenerateCodec;
// The same requests without a message or a prompt, which ask Ollama to load the
// model. Here it is loaded already (GetModel).
NewCodec NewOllamaChatLoadCodec;
NewCodec NewOllamaGenerateLoadCodec;

// POST /api/embed: a text or several. POST /api/embeddings, which is older:
// one. Texts that are too long are cut, unless `truncate` is false.
NewCodec NewOllamaEmbedCodec;
NewCodec NewOllamaEmbeddingsCodec;
// The same paths without a text: that the model is loaded.
NewCodec NewOllamaEmbedLoadCodec;
NewCodec NewOllamaEmbeddingsLoadCodec;

// GET /api/tags and /api/ps: the models, all of which are loaded. GET
// /api/version. POST /api/show: one model.
NewCodec NewOllamaTagsCodec;
NewCodec NewOllamaPsCodec;
NewCodec NewOllamaVersionCodec;
NewCodec NewOllamaShowCodec;

// A request of Ollama's shape. Its body is JSON whatever its type says, since
// `curl -d` says that it is a form; but a page's must say so, as browsers send
// others without asking first.
class OllamaCodec : public Codec {
 public:
  absl::Status Check(const RequestHead& head) override;
};

// The paths of Ollama's API begin so.
inline constexpr std::string_view kOllamaPaths = "/api/";
// The body of the answer to a path that begins so and has no route.
std::string OllamaNoPath(std::string_view path);

// The body of an error, and the whole answer to a call that failed. `names` are
// those of the request's fields.
std::string OllamaError(const Ending& ending,
                        std::span<const FieldName> names = {});
HttpAnswer OllamaFailure(const Ending& ending,
                         std::span<const FieldName> names = {});

// The name of a model as the server knows it: without ":latest", if that is
// none's name but the rest is.
std::string OllamaModelName(const AllowedModels& models, std::string name);

// A duration in nanoseconds, as Ollama tells times.
int64_t OllamaNanoseconds(const google::protobuf::Duration& duration);

// The time of an answer: "2026-01-02T03:04:05.678Z".
std::string OllamaTime(absl::Time time);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OLLAMA_H_
