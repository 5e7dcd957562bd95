#ifndef TRIVIUM_SERVER_ADAPTERS_HUGGING_FACE_H_
#define TRIVIUM_SERVER_ADAPTERS_HUGGING_FACE_H_

#include "server/adapters/codec.h"

namespace trivium {

// The shapes of Hugging Face's inference API, which huggingface_hub's
// InferenceClient speaks (https://huggingface.co/docs/inference-providers):
// `inputs`, and `parameters` of the task. Requests name no model; each gets the
// first one that does the task. A parameter that would be ignored is an error.
// Errors are those of TEI.
//
// POST /pipeline/TASK says which task it is. At POST / the body and the first
// model that does any of the tasks say it. The tasks of labels and of vectors
// are in tei.h.

// token-classification: finds the labelled spans of a text, or of each of a
// list. Places count characters.
NewCodec NewHfTokensCodec;
// fill-mask: finds what fits the masks of texts. A text with one mask gets a
// list of candidates, one with several a list for each.
NewCodec NewHfFillMaskCodec;
// question-answering: finds the answer to `question` in `context`; a list with
// top_k.
NewCodec NewHfAnswerCodec;
// translation and summarization. The third is the first if the model knows
// languages, else the second.
NewCodec NewHfTranslationCodec;
NewCodec NewHfSummarizationCodec;
NewCodec NewHfTextToTextCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_HUGGING_FACE_H_
