#ifndef TRIVIUM_MODEL_GRAMMAR_JSON_TEXT_H_
#define TRIVIUM_MODEL_GRAMMAR_JSON_TEXT_H_

#include <map>
#include <string>

#include "model/grammar/code_points.h"
#include "model/grammar/frontends.h"
#include "model/grammar/grammar.h"
#include "model/grammar/schema_document.h"

namespace trivium {

// The parts of JSON texts (RFC 8259) as expressions. Each is made once.
class JsonText {
 public:
  // `grammar` outlives this.
  JsonText(Grammar* grammar, JsonSpace space);

  ExpressionId Comma() const { return comma_; }
  ExpressionId Colon() const { return colon_; }

  // One character of a string in any spelling: as itself, escaped, or as \u. A
  // character beyond U+FFFF may be two \u escapes; a surrogate alone is none.
  ExpressionId Character() const { return character_; }
  // One character of the set, escaped only if it must be.
  ExpressionId Encode(const CodePointSet& set);

  ExpressionId String() const { return string_; }
  ExpressionId Number() const { return number_; }    // unbounded
  ExpressionId Integer() const { return integer_; }  // without . and exponent
  ExpressionId Boolean() const { return boolean_; }
  ExpressionId Null() const { return null_; }
  ExpressionId Value() const { return value_; }
  ExpressionId Array() const { return array_; }  // of any elements

  // Returns the text as a JSON string, escaped only where it must be.
  static std::string Spelled(const std::string& text);
  // Exactly this value; strings are escaped only where they must be.
  ExpressionId Constant(const Schema& value);
  // `inside`, which is not empty, or with `empty_too` also nothing, between
  // brackets such as "[" and "]".
  ExpressionId Enclosed(const char* open, ExpressionId inside, bool empty_too,
                        const char* close);

 private:
  ExpressionId MakeCharacter();

  Grammar& grammar_;
  ExpressionId gap_, comma_, colon_, not_ascii_, character_;
  ExpressionId string_, number_, integer_, boolean_, null_;
  ExpressionId value_, object_, array_;
  std::map<CodePointSet, ExpressionId> encoded_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_JSON_TEXT_H_
