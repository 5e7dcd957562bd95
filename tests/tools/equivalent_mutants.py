"""Mutants of mutate.py that no test can tell from the code: file, what is done,
code, and why. What a test could tell does not belong here."""

PHRASES = "model/search/beam_search_phrases.cc"
NO_LENGTH = "whether a token ends a text does not depend on the text's length"

EQUIVALENT = {
    (PHRASES, "+ becomes -",
     "rules_.EndOf(token.token, length_ + 1).has_value()"): NO_LENGTH,
    (PHRASES, "+ becomes -",
     "!rules_.EndOf(extension.token.token, length_ + 1).has_value()"):
    NO_LENGTH,
    ("model/search/search_constraint.cc", "the condition is never true",
     "thoughts_ == nullptr"):
    "without a bound a state is in no thought, so Forced reads no member",
    ("model/search/logits_rules.cc", "the statement is dropped",
     "edits->written.clear()"):
    "a search's rules stay, so what Watch does not fill was never filled",
    ("model/transformer/kv_cache.cc", "the statement is dropped",
     "free_.reserve(blocks)"):
    "the constructor pushes as many blocks as may ever be free",
    ("model/transformer/hypotheses.cc", "the condition is never true",
     "hypothesis->prefix.empty()"):
    "of an empty prefix RegisterBlocks registers nothing, and nothing is cleared",
    ("model/search/beam_search.cc", "> becomes >=",
     "a.log_probability > b.log_probability"):
    "it is asked of two that differ",
    ("model/search/row_scores.cc", "the condition is never true",
     "tokens->size() == count"):
    "Collect takes the best of what is found; the heap only keeps it short",
}
