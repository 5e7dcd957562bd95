#ifndef TRIVIUM_MODEL_TEXT_KIND_H_
#define TRIVIUM_MODEL_TEXT_KIND_H_

namespace trivium {

// Kinds of texts that a search compares. Some models read them differently.
enum class TextKind { kQuery, kDocument };

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TEXT_KIND_H_
