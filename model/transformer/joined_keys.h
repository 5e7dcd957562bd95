#ifndef TRIVIUM_MODEL_TRANSFORMER_JOINED_KEYS_H_
#define TRIVIUM_MODEL_TRANSFORMER_JOINED_KEYS_H_

#include <vector>

#include "model/kernels/attention.h"
#include "model/kernels/buffer.h"

namespace trivium {

struct AttentionGroup;
struct AttentionTask;

// The tokens that a query sees, and the place of the first in a call's keys.
struct NearKeys {
  int begin;
  int end;
  int place;
};

// The memory of a call of one query that sees other keys before the tokens near
// it. Each thread has one.
struct JoinedKeys {
  std::vector<const char*> tiles;
  Buffer<float> bias;

  // Makes `call` the one of the query at `position` of the group. Its keys are
  // those of `tiles`, then the tokens near the query, whose tiles are appended.
  // `own`: `tiles` are already those of the group's first tokens.
  NearKeys Join(const AttentionTask& task, const AttentionGroup& group,
                int position, bool own, AttentionCall* call);
  // Gives each of `heads` heads biases of its own, or all heads the same if
  // `heads` is 1. Returns those of key 0, with which no key is seen; the
  // caller sets those of the keys that are.
  float* HideKeys(int heads, AttentionCall* call);
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_JOINED_KEYS_H_
