#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_LINKS_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_LINKS_STAGE_H_

#include <utility>

#include "base/alive_check.h"
#include "server/translation/pipeline/stage.h"

namespace trivium {

// Protects what is an address, a name or a text for programs: links, addresses
// of mail, names of files, identifiers, code, fields of messages. A model may
// translate their words: "haus.de" to "house.de", "hunter2" to "Jäger2".
class LinksStage : public Stage {
 public:
  explicit LinksStage(AliveCheck check_alive)
      : check_alive_(std::move(check_alive)) {}

  absl::Status Open(TranslationJob* job) const override;

 private:
  const AliveCheck check_alive_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_LINKS_STAGE_H_
