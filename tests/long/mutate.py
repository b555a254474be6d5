# SPDX-License-Identifier: Apache-2.0
"""mutate.py - where one line of C can be changed, and into what.

Works on the text, line by line, as the formatter leaves it: comments, strings, preprocessor lines and
declarations without a body are known well enough not to be touched. What does not compile is found out by
compiling. A site is a change of one line, but for a lock, which goes with its unlock: either alone is misuse,
and any test would see it.
"""
import collections
import re

Site = collections.namedtuple("Site", "file line kind old new also", defaults=((),))
Site.__doc__ = "line counts from 1; old and new are the whole line without its end; also: (line, old, new) of others."

TOKEN = re.compile(r"""
    (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<comment>/\*.*?\*/|//.*$)
  | (?P<shift><<=?|>>=?)
  | (?P<arrow>->)
  | (?P<relation><=|>=|==|!=|<|>)
  | (?P<logical>&&|\|\|)
  | (?P<step>\+\+|--)
  | (?P<assign>[-+*/%&|^]=)
  | (?P<arithmetic>(?<=\ )[-+*/%](?=\ ))
  | (?P<order>memory_order_(?:acquire|release|acq_rel|seq_cst)|__ATOMIC_(?:ACQUIRE|RELEASE|ACQ_REL|SEQ_CST))
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\b(?:0x[0-9a-fA-F]+|\d+)[uUlL]*\b(?!\.))
  | (?P<bool>\b(?:true|false)\b)
""", re.X)

RELATIONS = {"<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"], "==": ["!="], "!=": ["=="]}
ARITHMETIC = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"]}
ASSIGN = {"+=": ["-="], "-=": ["+="], "|=": ["="], "&=": ["="], "^=": ["="], "*=": ["/="], "/=": ["*="], "%=": ["="]}
LOGICAL = {"&&": ["||"], "||": ["&&"]}

# A statement of one line: a call or an assignment; not a declaration, nor what changes the flow.
STATEMENT = re.compile(r"^\s+(?:\(void\))?[A-Za-z_*(][\w.\->\[\]()*&+ ]*?(?:\(.*\)|\s[-+*/%&|^]?=\s.*|<<=.*|>>=.*|\+\+|--);$")
NO_STATEMENT = re.compile(r"^\s*(?:return|goto|break|continue|case|default|else|typedef|extern|static|struct|enum|"
                          r"union|const|unsigned|signed|char|short|int|long|float|double|bool|void|size_t|ssize_t|"
                          r"off_t|pid_t|u?int\d+_t|uintptr_t|FILE|DIR|_Atomic|atomic_\w+|_Alignas|sigset_t|pthread_\w+_t)\b(?!\))")
IGNORED = re.compile(r"TEST_POINT|_Static_assert|static_assert|__builtin_prefetch|__attribute__|^\s*#")
LOCK = re.compile(r"^(\s+)(\w*?(?:_|\b)(?:un)?lock)\((.*)\);$")
CONDITION = re.compile(r"^(\s*(?:\}? ?else )?(?:if|while) \()(.*)(\)(?: \{)?)$")


def code_lines(text):
    """The lines, and for each whether it is code inside a function, and what a function that opens there
    returns at once, or None."""
    inside_comment, continued, function, depth, returns = False, False, False, 0, "return 0;"
    for line in text.split("\n"):
        bare = line
        if inside_comment:
            inside_comment = "*/" not in line
            yield line, False, None
            continue
        if line.lstrip().startswith("#") or continued:
            continued = line.endswith("\\")
            yield line, False, None
            continue
        bare = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|//.*$', "", bare)
        if "/*" in bare:
            inside_comment = True
            yield line, False, None
            continue
        before = depth
        depth += bare.count("{") - bare.count("}")
        if before == 0 and re.match(r"[A-Za-z]", line):
            returns = "return;" if re.match(r"((static|inline) )*void [a-z]", line) else "return 0;"
        if before == 0:
            function = line == "{"  # a table or a type opens behind its name
        yield line, function and before > 0, returns if before == 0 and function else None


def replaced(line, match, new):
    return line[:match.start()] + new + line[match.end():]


def other_number(text):
    body = re.match(r"0x[0-9a-fA-F]+|\d+", text).group()
    value = int(body, 0) if body.startswith("0x") else int(body)
    return (hex(value + 1) if body.startswith("0x") else str(value + 1)) + text[len(body):]


def token_changes(line):
    for match in TOKEN.finditer(line):
        kind, text = match.lastgroup, match.group()
        if kind == "relation":
            yield from (("relation", replaced(line, match, new)) for new in RELATIONS[text])
        elif kind == "logical":
            yield from (("logical", replaced(line, match, new)) for new in LOGICAL[text])
        elif kind == "arithmetic":
            yield from (("arithmetic", replaced(line, match, new)) for new in ARITHMETIC[text])
        elif kind == "assign":
            yield from (("arithmetic", replaced(line, match, new)) for new in ASSIGN[text])
        elif kind == "step":
            yield "arithmetic", replaced(line, match, "--" if text == "++" else "++")
        elif kind == "number":
            yield "constant", replaced(line, match, other_number(text))
        elif kind == "word" and text in ("true", "false"):
            yield "constant", replaced(line, match, "false" if text == "true" else "true")
        elif kind == "order":
            relaxed = "memory_order_relaxed" if text.startswith("memory") else "__ATOMIC_RELAXED"
            yield "order", replaced(line, match, relaxed)


def line_changes(line):
    if STATEMENT.match(line) and not NO_STATEMENT.match(line) and line.count("(") == line.count(")"):
        if not re.match(r"^\s+\w+ \*?\w+(\[.*\])? = ", line):  # that is a declaration
            yield "statement", re.match(r"\s*", line).group() + ";"
    condition = CONDITION.match(line)
    if condition and condition.group(2).count("(") == condition.group(2).count(")"):
        yield "condition", f"{condition.group(1)}!({condition.group(2)}){condition.group(3)}"


def lock_sites(file, body):
    """One for each lock that its own function unlocks: both are gone. body: [(number, line)] of a function."""
    calls = [(number, line, *match.groups()) for number, line in body if (match := LOCK.match(line))]
    for number, line, indent, name, arguments in calls:
        unlock = name[:-4] + "unlock"
        ends = tuple((n, text, space + ";") for n, text, space, called, given in calls
                     if n > number and called == unlock and given == arguments)
        if ends and not name.endswith("unlock"):
            yield Site(file, number, "lock", line, indent + ";", ends)


def sites(file, text):
    """All sites of one file, in order; those of locks behind the function that they are in."""
    body = []
    for number, (line, inside, opens) in enumerate(code_lines(text), 1):
        if opens:
            body = []
            yield Site(file, number, "return", line, "{ " + opens)
        if not inside or IGNORED.search(line):
            continue
        body.append((number, line))
        if line == "}":
            yield from lock_sites(file, body)
        if LOCK.match(line):
            continue
        seen = {line}
        for kind, new in [*line_changes(line), *token_changes(line)]:
            if new not in seen:
                seen.add(new)
                yield Site(file, number, kind, line, new)


# ---- Python and JavaScript --------------------------------------------------------------------------------------

WORDS = {"py": {"and": "or", "or": "and", "True": "False", "False": "True", "is": "is not", "in": "not in", "min": "max", "max": "min"},
         "js": {"true": "false", "false": "true", "min": "max", "max": "min", "floor": "ceil", "ceil": "floor"}}
RELATIONS_JS = {**RELATIONS, "===": ["!=="], "!==": ["==="]}
SCRIPT_TOKEN = re.compile(r"""
    (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|(?<=[(,=] )/(?:\\.|[^/\\])+/|(?<=[(])/(?:\\.|[^/\\])+/)
  | (?P<comment>/\*.*?\*/|//\ .*$|\#.*$)
  | (?P<arrow>=>|->)
  | (?P<shift><<=?|>>>?=?)
  | (?P<relation><=|>=|===|!==|==|!=|<|>)
  | (?P<logical>&&|\|\|)
  | (?P<assign>[-+*]=)
  | (?P<arithmetic>(?<=\ )[-+*/%](?=\ ))
  | (?P<number>(?<![\w.])\d+(?![\w.]))
  | (?P<word>(?<![.\w])[A-Za-z_]\w*|(?<=Math\.)\w+)
""", re.X)
SCRIPT_STATEMENT = re.compile(r"^\s+(?!return|const|let|var|if|for|while|else|raise|yield|import|from|def|class|with|assert|throw|case|break|continue)"
                              r"[A-Za-z_][\w.\[\]\"' +-]*(?:\(.*\)| [-+*]?= .*[^\[({,\\]);?$")
SCRIPT_CONDITION = {"py": re.compile(r"^(\s*(?:el)?if )(.*)(:)$"), "js": re.compile(r"^(\s*(?:\} else )?if \()(.*?)(\) (?:return|continue|break).*;)$")}


def script_changes(line, language):
    for match in SCRIPT_TOKEN.finditer(line):
        kind, text = match.lastgroup, match.group()
        if kind == "comment":
            return
        if kind == "relation":
            yield from (("relation", replaced(line, match, new)) for new in RELATIONS_JS[text])
        elif kind == "logical":
            yield "logical", replaced(line, match, LOGICAL[text][0])
        elif kind == "arithmetic":
            yield "arithmetic", replaced(line, match, ARITHMETIC[text][0])
        elif kind == "assign":
            yield "arithmetic", replaced(line, match, ASSIGN[text][0])
        elif kind == "number":
            yield "constant", replaced(line, match, str(int(text) + 1))
        elif kind == "word" and text in WORDS[language]:
            yield "logical", replaced(line, match, WORDS[language][text])
    condition = SCRIPT_CONDITION[language].match(line)
    if condition:
        new = f"not ({condition.group(2)})" if language == "py" else f"!({condition.group(2)})"
        yield "condition", condition.group(1) + new + condition.group(3)
    if SCRIPT_STATEMENT.match(line) and line.count("(") == line.count(")"):
        yield "statement", re.match(r"\s*", line).group() + ("pass" if language == "py" else ";")


def script_sites(file, text):
    """All sites of a file of Python or JavaScript. Types and texts in several lines are left alone."""
    language, inside = file.rsplit(".", 1)[1], False
    for number, line in enumerate(text.split("\n"), 1):
        opens = line.count('"""') if language == "py" else line.count("/*") + line.count("*/")
        if inside or opens % 2:
            inside ^= bool(opens % 2)
            continue
        if opens and language == "py" or re.match(r"\s*(?:import|from|def|class|@|#|/\*|//)", line) or re.search(r"->.*:$|: (?:Optional|Any|List|Dict)\b", line):
            continue
        seen = {line}
        for kind, new in script_changes(line, language):
            if new not in seen:
                seen.add(new)
                yield Site(file, number, kind, line, new)
