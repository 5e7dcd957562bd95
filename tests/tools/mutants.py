"""Finds places of C++ code that can be broken in a small way, and rewrites them
so that one build has all of the mutants:

    (trivium::MutantRuns(7) ? (a <= b) : (a < b))

The code is as clang-format leaves it: binary operators have spaces around them,
template brackets have none. What is not understood is left alone.
"""

import dataclasses
import re

# An operator, and what stands in its place.
SWAPS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ",
         " == ": " != ", " != ": " == ", " && ": " || ", " || ": " && ",
         " + ": " - ", " - ": " + "}
OPERATOR = re.compile("|".join(re.escape(each) for each in
                               sorted(SWAPS, key=len, reverse=True)))
CHOICE = re.compile(r"std::(min|max)\b")
ASSIGNMENT = re.compile(r"(?<![=!<>+\-*/|&^%])=(?!=)")
CONDITION = re.compile(r"\b(if|while) \(")
FOR = re.compile(r"\bfor \(")
RETURN = re.compile(r"\breturn (?=[^;{]*;)")
VALUE = re.compile(r"(?<=[\w\])]) (?:=|\+=|-=) (?=[^;{}]*;)")
# A whole statement that is an expression: a call, an assignment, a ++.
STATEMENT = re.compile(
    r"(?<=[;{}])(\s+)((?:\+\+|--)?\*?[A-Za-z_][\w.:]*(?:->[\w.]+|\[[^\]{};]*\]|"
    r"\([^(){};]*\)[.][\w.]+)*(?: (?:=|\+=|-=) [^;{}]*|\([^;{}]*\))?);")
NO_STATEMENT = re.compile(r"(return|break|continue|using|default|public|"
                          r"private|goto|throw|assert|static_assert|delete)\b")
# A macro that returns an error.
CHECK = "TRIVIUM_RETURN_IF_ERROR("

DECLARATION = "namespace trivium { bool MutantRuns(int number); }\n#line 1\n"


@dataclasses.dataclass
class Place:
    """A region of a file, and the texts that may stand there instead."""
    begin: int
    end: int
    kind: str  # condition, value or statement
    others: list  # (what is done, other text)


NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'
                     r"(?<![\w'])'(?:\\.|[^'\\\n])+'|^#[^\n]*", re.S | re.M)


def code_only(text):
    """`text` with comments, strings and directives as spaces."""
    return NO_CODE.sub(
        lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def on_one_line(text):
    """`text` without comments and line ends."""
    return NO_CODE.sub(
        lambda found: "" if found.group().startswith("/") else found.group(),
        text).replace("\n", " ")


def closing(code, begin):
    """Where the bracket that was opened before `begin` is closed."""
    depth = 1
    for at in range(begin, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at
    return len(code)


def swaps(code, text, begin, end):
    """The region with one operator changed, each in turn."""
    for found in OPERATOR.finditer(code, begin, end):
        other = SWAPS[found.group()]
        yield (f"{found.group().strip()} becomes {other.strip()}",
               text[begin:found.start()] + other + text[found.end():end])
    for found in CHOICE.finditer(code, begin, end):
        other = "std::max" if found.group() == "std::min" else "std::min"
        # With std::max({a, b}), too.
        yield (f"{found.group()} becomes {other}",
               text[begin:found.start()] + other + text[found.end():end])


def condition(code, text, begin, end):
    part = code[begin:end]
    if ";" in part:
        begin += part.rindex(";") + 1
        part = code[begin:end]
    if not part.strip() or re.search(r"[{}]|\bconstexpr\b", part):
        return None
    if ASSIGNMENT.search(part):
        return None  # a declaration
    others = list(swaps(code, text, begin, end))
    others.append(("the condition is never true", "false"))
    if not OPERATOR.search(part):
        others.append(("the condition is negated", f"!({text[begin:end]})"))
    return Place(begin, end, "condition", others)


def value(code, text, begin):
    end = code.index(";", begin)
    part = code[begin:end]
    if re.search(r"[{}?]|\[[^\]]*\]\s*\(|\[[&=]", part) or not part.strip():
        return None
    line_begin = max(code.rfind(each, 0, begin) for each in ";{}")
    if re.search(r"\b(constexpr|static|auto\*|operator)\b|&\s*\w+ = $",
                 code[line_begin + 1:begin]):
        return None
    others = list(swaps(code, text, begin, end))
    bare = part.strip()
    if bare in ("true", "false"):
        others.append(("the opposite", "false" if bare == "true" else "true"))
    elif re.fullmatch(r"-?\d+", bare):
        others.append(("one more", f"{bare} + 1"))
    return Place(begin, end, "value", others) if others else None


def places(text):
    """All places of a file that do not overlap, in order."""
    code = code_only(text)
    found = []
    for each in CONDITION.finditer(code):
        found.append(condition(code, text, each.end(),
                               closing(code, each.end())))
    for each in FOR.finditer(code):
        end = closing(code, each.end())
        first = code.find(";", each.end(), end)
        second = code.find(";", first + 1, end)
        if -1 not in (first, second):
            found.append(condition(code, text, first + 1, second))
    for each in list(RETURN.finditer(code)) + list(VALUE.finditer(code)):
        found.append(value(code, text, each.end()))
    for each in STATEMENT.finditer(code):
        part = each.group(2)
        does = "(" in part or "=" in part or part.startswith(("++", "--"))
        if not does or NO_STATEMENT.match(part):
            continue
        if part.startswith(CHECK):
            found.append(Place(each.start(2) + len(CHECK), each.end(2) - 1,
                               "value", [("the check is dropped",
                                          "absl::OkStatus()")]))
            continue
        found.append(Place(each.start(2), each.end(2), "statement",
                           [("the statement is dropped", "")]))
    chosen = []
    for place in sorted((each for each in found if each),
                        key=lambda each: (each.begin, -each.end)):
        if not chosen or chosen[-1].end <= place.begin:
            chosen.append(place)
    return chosen


def rewritten(text, mutants):
    """`text` with mutants (place, number, other text) that one number selects.
    Compilers see the lines at their numbers."""
    by_place = {}
    for place, number, other in mutants:
        by_place.setdefault((place.begin, place.end, place.kind), []).append(
            (number, other))
    for (begin, end, kind), others in sorted(by_place.items(), reverse=True):
        original = text[begin:end]
        runs = [(f"trivium::MutantRuns({number})", other)
                for number, other in others]
        if kind == "statement":
            new = f"{runs[0][0]} ? (void)0 : (void)({original})"
        else:
            cast = "static_cast<bool>" if kind == "condition" else ""
            new = "".join(f"{test} ? {cast}({on_one_line(other)}) : "
                          for test, other in runs) + f"{cast}({original})"
        text = text[:begin] + new + text[end:]
    return DECLARATION + text
