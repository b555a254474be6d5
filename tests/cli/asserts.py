# SPDX-License-Identifier: Apache-2.0
"""asserts.py ARGUMENT... - runs the program on standard input, as "python - ARGUMENT..." does. Where it fails its lines are
shown, and of an assertion without a text of its own the values that it compared."""
import ast
import linecache
import sys
import traceback

NAME = "<script>"
LONGEST = 400  # of a value's text
NO_ARGUMENTS = ast.parse("lambda: 0", mode="eval").body.args


def show_values(*values):
    """What reads on, or fails itself the second time, has no value any more."""
    shown = []
    for text, value in values:
        try:
            value = repr(value())
        except Exception as error:
            value = f"({error!r} when asked again)"
        shown.append(f"{text} = {value if len(value) <= LONGEST else value[:LONGEST] + '...'}")
    return "; ".join(shown)


class WithValues(ast.NodeTransformer):
    def visit_Assert(self, node):
        if node.msg is None:
            parts = [node.test.left, *node.test.comparators] if isinstance(node.test, ast.Compare) else [node.test]
            values = [ast.Tuple([ast.Constant(ast.unparse(part)), ast.Lambda(NO_ARGUMENTS, part)], ast.Load()) for part in parts
                      if not isinstance(part, ast.Constant)]
            node.msg = ast.Call(ast.Name("__show_values__", ast.Load()), values, [])
        return ast.fix_missing_locations(node)


program = sys.stdin.read()
linecache.cache[NAME] = len(program), None, program.splitlines(keepends=True), NAME
sys.excepthook = traceback.print_exception  # which reads lines there
sys.argv[0], sys.path[0] = "-", ""
exec(compile(WithValues().visit(ast.parse(program, NAME)), NAME, "exec"), {"__name__": "__main__", "__show_values__": show_values})
