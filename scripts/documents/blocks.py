"""Runs the code blocks of Markdown documents, so that what they show stays true.

usage: blocks.py DOCUMENT...

Needs a running PostgreSQL with the extension installed (PGHOST, PGPORT, PGUSER), a Redis (DOCUMENTS_REDIS: host:port),
and the client's flags (DOCUMENTS_CXX: the compiler's command up to the file). Prints "ok" or "not ok" for each block.

Each document has a scratch database "shop" and a scratch directory; its blocks are run in their order:
  sql   by psql, each block a session. The errors and warnings it gets must be those that its comments announce
        ("-- ERROR:  ..."), in their order. Where a text block follows at once, that must be all that psql prints.
  sh    by bash in the scratch directory; exported variables are kept for the next block. It must succeed, or, where a
        text block follows at once, print that.
  cpp   without main: the inside of a function that has redis, locks, lock, locks_of_two and connection; compiled. With
        main: compiled.
A comment before a block changes that:
  <!-- not run: REASON -->   shown only
  <!-- file: NAME -->        written to the scratch directory, for later sh blocks
Hidden blocks prepare or check: <!-- sql ... --> and <!-- sh ... -->, run like the others.
In what is to be printed an ellipsis character stands for any text within a line.
In URLs "redis://localhost" (with or without :6379, or a user) stands for the private Redis, which redis-cli must reach.
Documents that do not create the extension themselves find it there.
"""

import os
import re
import subprocess
import sys
import tempfile

REDIS = os.environ["DOCUMENTS_REDIS"]
LIMIT = 300  # seconds for a block

PRELUDE = """#include <fencelock/fencelock.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
using namespace std::chrono_literals;
"""
FUNCTION = """
[[maybe_unused]] static void block_%d([[maybe_unused]] fencelock::redis_locks& redis,
    [[maybe_unused]] fencelock::client& locks, [[maybe_unused]] fencelock::lock& lock,
    [[maybe_unused]] fencelock::lock_set& locks_of_two, [[maybe_unused]] pqxx::connection& connection)
{{
#line %d "%s"
%s
}}
"""


class Block:
    def __init__(self, path, line, language):
        self.path, self.line, self.language = path, line, language
        self.lines = []
        self.reason = None    # why it is not run
        self.file = None
        self.expected = None  # the text block behind it

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"

    @property
    def name(self):
        return f"{self.path}:{self.line} {self.language}"


def read_blocks(path):
    blocks, block, fence, indent = [], None, None, ""
    directive, last = {}, None
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if block is not None:
            if line.strip() == fence:
                if block.language == "text" and last is not None:
                    last.expected = block.text
                elif block.language != "text":
                    blocks.append(block)
                last, block = (block if block.language in ("sql", "sh") else None), None
                continue
            block.lines.append(line[len(indent):] if line.startswith(indent) else line)
            continue
        opening = re.match(r"(\s*)```(\w+)\s*$", line)
        hidden = re.match(r"<!-- (sql|sh)$", line)
        comment = re.match(r"<!-- (not run|file): (.*) -->$", line.strip())
        if opening or hidden:
            indent = opening.group(1) if opening else ""
            fence = "```" if opening else "-->"
            block = Block(path, number, opening.group(2) if opening else hidden.group(1))
            block.reason, block.file = directive.get("not run"), directive.get("file")
            directive = {}
            if block.language != "text":
                last = None
        elif comment:
            directive[comment.group(1)] = comment.group(2)
        elif line.strip():
            last = None
            if directive:
                raise SystemExit(f"{path}:{number}: a comment for a block, but no block behind it")
    if block is not None:
        raise SystemExit(f"{path}:{block.line}: the block is never closed")
    return blocks


def private(text):
    return re.sub(r"(redis://([^\s/@]*@)?)localhost(:6379)?", r"\g<1>" + REDIS, text)


def public(text):
    return text.replace(REDIS, "localhost")


def matches(expected, found):
    """Whether the lines are the same, an ellipsis being any text; trailing white space does not count."""
    wanted = [line.rstrip() for line in expected.strip("\n").split("\n")]
    got = [line.rstrip() for line in found.strip("\n").split("\n")]
    return len(wanted) == len(got) and all(
        re.fullmatch(".*".join(map(re.escape, w.split("…"))), g) for w, g in zip(wanted, got))


def run(command, stdin=None, cwd=None):
    """(status, all output)"""
    done = subprocess.run(command, input=stdin, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=LIMIT, encoding="utf-8", errors="replace")
    return done.returncode, done.stdout


def psql(sql, database="shop", *options):
    return run(["psql", "-Xq", "-d", database, *options], stdin=sql)


def announced(text):
    return re.findall(r"^\s*-- ((?:ERROR|WARNING|NOTICE):  .*)$", text, re.M)


class Document:
    """The state that one document's blocks share."""

    def __init__(self, path, directory):
        self.blocks = read_blocks(path)
        self.directory = directory
        self.environment = os.path.join(directory, ".environment")
        open(self.environment, "w").close()
        psql("DROP DATABASE IF EXISTS shop WITH (FORCE)", "postgres")
        psql("CREATE DATABASE shop", "postgres")
        run(["redis-cli", "FLUSHALL"])
        if not any(re.search("CREATE EXTENSION (IF NOT EXISTS )?fencelock", b.text) for b in self.blocks):
            psql("CREATE EXTENSION fencelock")
        self.roles = self.all_roles()

    @staticmethod
    def all_roles():
        return set(psql("SELECT rolname FROM pg_roles", "postgres", "-At")[1].split())

    def close(self):
        for role in self.all_roles() - self.roles:
            psql(f'DROP OWNED BY "{role}"')
        psql("DROP DATABASE shop WITH (FORCE)", "postgres")
        for role in self.all_roles() - self.roles:
            psql(f'DROP ROLE "{role}"', "postgres")

    def run(self, block):
        """None where it did what it should, else what went wrong."""
        if block.file:
            with open(os.path.join(self.directory, block.file), "w", encoding="utf-8") as file:
                file.write(private(block.text))
        if block.file and block.language != "cpp":
            return None
        return {"sql": self.sql, "sh": self.shell, "cpp": self.cpp}[block.language](block)

    def sql(self, block):
        if block.expected is None:
            status, output = psql(block.text, "shop", "-v", "VERBOSITY=terse")
            told = re.findall(r"^(?:ERROR|WARNING|NOTICE):  .*$", output, re.M)
            if status != 0 or told != announced(block.text):
                return output
            return None
        output = psql(block.text)[1]
        return None if matches(block.expected, public(output)) else output

    def shell(self, block):
        script = f"set -a; . {self.environment}; set +a\n"
        script += "" if block.expected is not None else "set -e\n"
        script += private(block.text)
        script += f"\nstatus=$?\nexport -p >{self.environment}\nexit $status\n"
        status, output = run(["bash", "-c", script], cwd=self.directory)
        if block.expected is None:
            return None if status == 0 else output + f"(status {status})"
        return None if matches(block.expected, public(output)) else output

    def cpp(self, block):
        if "int main(" in block.text:
            source = block.text
        else:
            source = PRELUDE + FUNCTION % (block.line, block.line + 1, block.path, block.text)
        file = os.path.join(self.directory, "block.cpp")
        with open(file, "w", encoding="utf-8") as to:
            to.write(source)
        status, output = run(os.environ["DOCUMENTS_CXX"].split() + ["-fsyntax-only", file])
        return None if status == 0 else output


def run_document(path):
    failures = 0
    with tempfile.TemporaryDirectory(prefix="document.") as directory:
        document = Document(path, directory)
        for block in document.blocks:
            if block.language not in ("sql", "sh", "cpp") and not block.file or block.reason:
                continue
            try:
                problem = document.run(block)
            except subprocess.TimeoutExpired:
                problem = f"did not end within {LIMIT} s"
            print(("not ok " if problem is not None else "ok ") + block.name, flush=True)
            if problem is not None:
                failures += 1
                print("    shown:\n" + (block.expected or block.text) + "    found:\n" + problem, flush=True)
        document.close()
    return failures


def main():
    sys.exit(1 if sum(map(run_document, sys.argv[1:])) else 0)


if __name__ == "__main__":
    main()
