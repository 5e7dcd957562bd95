#include "server/calls/convert/call_fields.h"

#include "server/calls/convert/convert.h"

namespace trivium {

void WriteTimings(const CallTimings& timings, v1::Timings* out) {
  *out->mutable_queue() = ConvertDuration(timings.queue);
  *out->mutable_tokenize() = ConvertDuration(timings.tokenize);
  *out->mutable_inference() = ConvertDuration(timings.inference);
  *out->mutable_total() = ConvertDuration(timings.total);
}

void WriteModelVersion(const ServedModel& model, v1::ModelVersion* out) {
  out->set_name(model.name);
  out->set_revision(model.model->info().revision);
}

}  // namespace trivium
