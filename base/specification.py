# SPDX-License-Identifier: Apache-2.0
"""Specifications in TOML from which the build generates source files: reading, checking, writing.

Build-time only. A generator reads its file with read_specification(), takes each table apart as an Entry, which refuses
unknown keys and wrong kinds with file, line and the entry's name, and writes its outputs with write_if_changed().
Generators run as `python3 -B SCRIPT` and need nothing but the standard library of Python 3.11.
"""

import re
import sys
import tomllib
from pathlib import Path


class SpecificationError(Exception):
    """What is wrong with a specification, where, and what would be right."""


class Entry:
    """One table of the file, with the words that name it in messages. keys: those that it may have; None: any."""

    def __init__(self, file, lines, what, table, keys):
        self.file = file
        self.what = what
        self.table = table
        self._lines = lines
        name = table.get("name")
        if isinstance(name, str):
            self.what += f" {name}"
            if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
                raise self.bad("name is not an identifier")
        if keys is not None:
            self.only(keys)

    def only(self, keys):
        """Refuses other keys."""
        for key in self.table:
            if key not in keys:
                raise self.bad(f"unknown key '{key}'; known keys: {', '.join(keys)}")

    def bad(self, message):
        """The error to raise: file, line, the entry's name and the message."""
        return SpecificationError(f"{self.file}:{self._lines.get(id(self.table), 1)}: {self.what}: {message}")

    def has(self, key):
        return key in self.table

    def string(self, key):
        value = self.table.get(key)
        if not isinstance(value, str):
            raise self.bad(f"'{key}' is missing or not a string")
        return value

    def text(self, key):
        """A string of one line."""
        value = self.string(key)
        if any(ord(character) < 0x20 for character in value):
            raise self.bad(f"'{key}' has a control character; it must be one line")
        return value

    def paragraph(self, key):
        """A string that is broken into lines for its readers only."""
        return " ".join(self.string(key).split())

    def choice(self, key, known, what, plural):
        """A string that is one of `known`, in the order in which a message lists them."""
        value = self.text(key)
        if value not in known:
            raise self.bad(f"unknown {what} '{value}'; {plural}: {', '.join(known)}")
        return value

    def number(self, key, limit):
        """An integer from 0 to limit."""
        value = self.table.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.bad(f"'{key}' is missing or not an integer")
        if value < 0 or value > limit:
            raise self.bad(f"'{key}' is {value}; it must be 0 to {limit:#x}")
        return value

    def flag(self, key):
        """true or false; false if the key is not there."""
        value = self.table.get(key, False)
        if not isinstance(value, bool):
            raise self.bad(f"'{key}' is not true or false")
        return value

    def each(self, key, what, keys):
        """The tables of the array `key`, none if it is not there."""
        array = self.table.get(key, [])
        if not isinstance(array, list):
            raise self.bad(f"'{key}' is not an array of tables")
        for table in array:
            if not isinstance(table, dict):
                raise self.bad(f"'{key}' has an element that is not a table")
            yield Entry(self.file, self._lines, what, table, keys)

    def tables(self, keys=None):
        """The tables of which this one consists, each with its key."""
        for key, table in self.table.items():
            if not isinstance(table, dict):
                raise self.bad(f"'{key}' is not a table")
            yield key, Entry(self.file, self._lines, f"{self.what}.{key}", table, keys)

    def sub_table(self, key, keys=None):
        """The table [key]."""
        table = self.table.get(key)
        if not isinstance(table, dict):
            raise self.bad(f"table [{key}] is missing")
        return Entry(self.file, self._lines, key, table, keys)


def read_specification(path, keys):
    """The file as an Entry with the top-level keys that it may have."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError:
        raise SpecificationError(f"{path}: cannot be opened; give the path of a specification") from None
    except UnicodeDecodeError:
        raise SpecificationError(f"{path}: is not UTF-8, which TOML asks for") from None
    try:
        root = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).partition(" (at ")
        line = re.search(r"line (\d+)", place)
        raise SpecificationError(f"{path}:{line[1] if line else text.count(chr(10)) + 1}: {message}") from None
    return Entry(path, _lines_of_tables(text, root), "spec", root, keys)


# A comment, a string of one of the four kinds, the header of a table, or a bracket.
_TOKEN = re.compile(
    r"""\#[^\n]* | \"\"\"(?:\\.|.)*?\"\"\" | \'\'\'.*?\'\'\' | "(?:\\.|[^"\\\n])*" | '[^'\n]*'
    | ^[ \t]*(?P<header>\[\[?)(?P<names>[\w. \t-]+)\]\]?[ \t]*(?=\#|$) | (?P<bracket>[\[\]{])""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)


def _lines_of_tables(text, root):
    """The line on which each table begins, by the identity of the table: tomllib does not tell.

    A section begins with its header, and its inline tables are met in the order of their opening braces.
    """
    lines = {}
    sections = [(root, 1, [])]  # the table, the line of its header, the lines of the braces below it
    begun = {}  # by the identity of an array: how many of its tables have begun
    depth = 0  # in brackets of arrays
    for match in _TOKEN.finditer(text):
        if match["bracket"]:
            if match["bracket"] == "{":
                sections[-1][2].append(text.count("\n", 0, match.start()) + 1)
            else:
                depth += 1 if match["bracket"] == "[" else -1
        elif match["header"] and depth == 0:
            table = root
            for name in match["names"].split("."):
                table = table[name.strip()]
                if isinstance(table, list):
                    array = table
                    table = table[begun.get(id(array), 0) - 1]
            if match["header"] == "[[":
                begun[id(array)] = begun.get(id(array), 0) + 1
                table = array[begun[id(array)] - 1]
            sections.append((table, text.count("\n", 0, match.start("header")) + 1, []))
    headers = {id(table) for table, _, _ in sections}

    def inline_tables(value):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, (dict, list)) and id(item) not in headers:
                if isinstance(item, dict):
                    yield item
                yield from inline_tables(item)

    for table, line, braces in sections:
        lines[id(table)] = line
        lines.update((id(item), brace) for item, brace in zip(inline_tables(table), braces))
    return lines


def quoted(text):
    """A string literal of C, C++, Python and SystemVerilog."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def pascal_from_upper(name):
    """SQ_HEAD -> SqHead"""
    return "".join(word.capitalize() for word in name.split("_"))


def snake_from_pascal(name):
    """ControlBlock -> control_block"""
    return re.sub("(?<!^)(?=[A-Z])", "_", name).lower()


def write_if_changed(path, text):
    """Leaves a file that would not change alone, so that nothing that includes it is built again."""
    path = Path(path)
    data = text.encode("utf-8")
    try:
        if path.exists() and path.read_bytes() == data:
            return
        path.write_bytes(data)
    except OSError as error:
        raise SpecificationError(f"{path}: cannot be written: {error.strerror}") from None


def run_generator(name, usage, generate):
    """The program: generate(arguments...), one for each word of `usage`; what is wrong goes to standard error, status 1."""
    if len(sys.argv) - 1 != len(usage.split()):
        print(f"usage: {name} {usage}", file=sys.stderr)
        return 1
    try:
        generate(*sys.argv[1:])
    except SpecificationError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0
