"""Compares docs/reference/ with the code: what exists is named there, and what is named there exists.

usage: reference.py DIRECTORY PROGRAM

DIRECTORY is a checkout; PROGRAM is the built command line. Needs a PostgreSQL with the extension installed (PGHOST,
PGPORT, PGUSER), and pg_config on the PATH. Prints "ok" or "not ok" for each kind of thing.
"""

import os
import re
import subprocess
import sys

TOP, PROGRAM = sys.argv[1:3]


def read(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def files(folder, pattern):
    return [os.path.join(folder, name) for name in sorted(os.listdir(os.path.join(TOP, folder)))
            if re.fullmatch(pattern, name)]


def pages():
    return ["README.md"] + [page for folder in ("docs", "docs/reference") for page in files(folder, r".*\.md")]


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout


def sql(database, statements):
    return output("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", statements).split("\n")[:-1]


def code(text):
    """What stands in backticks, outside of blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


failed = False


def compare(what, existing, named):
    global failed
    missing, wrong = sorted(set(existing) - set(named)), sorted(set(named) - set(existing))
    print(f"{'not ok' if missing or wrong or not existing else 'ok'} {what}: {len(set(existing))}")
    for name in missing:
        print(f"    not in the reference: {name}")
    for name in wrong:
        print(f"    in the reference, but nowhere else: {name}")
    failed = failed or bool(missing or wrong or not existing)


def objects_and_settings():
    sql("postgres", "DROP DATABASE IF EXISTS reference")
    sql("postgres", "CREATE DATABASE reference")
    sql("reference", "CREATE EXTENSION fencelock")
    members = "pg_depend d WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND d.refobjid = " \
              "(SELECT oid FROM pg_extension WHERE extname = 'fencelock')"
    objects = sql("reference", f"SELECT DISTINCT coalesce((SELECT proname FROM pg_proc WHERE oid = d.objid AND d.classid = "
                  "'pg_proc'::regclass), (SELECT relname FROM pg_class WHERE oid = d.objid AND relkind IN ('r', 'v') AND "
                  f"d.classid = 'pg_class'::regclass), '') FROM {members}")
    columns = sql("reference", f"SELECT DISTINCT a.attname FROM pg_attribute a WHERE a.attnum > 0 AND a.attrelid IN "
                  f"(SELECT d.objid FROM {members} AND d.classid = 'pg_class'::regclass)")
    signatures = sql("reference", "SELECT proname || '(' || pg_get_function_arguments(oid) || ')' FROM pg_proc p WHERE "
                     f"p.oid IN (SELECT d.objid FROM {members} AND d.classid = 'pg_proc'::regclass)")
    settings = sql("reference", "LOAD 'fencelock'; SELECT name FROM pg_settings WHERE name LIKE 'fencelock.%'")
    sql("postgres", "DROP DATABASE reference")
    text = read("docs", "reference", "sql.md")
    words = code(text)
    compare("SQL functions, tables and views", set(objects) - {""},
            {m for word in words for m in re.findall(r"^fence_\w+", word)})
    compare("SQL settings", settings, {w for w in words if re.fullmatch(r"fencelock\.[a-z_]+", w)})
    everywhere = " ".join(word for page in pages() for word in code(read(page)))
    mentioned = set(re.findall(r"\bfence_[a-z_]*[a-z]\b", everywhere))
    compare("SQL objects in all pages", mentioned & set(objects), mentioned)
    mentioned = set(re.findall(r"\bfencelock\.(?:claims?|enforce\w*|preempt\w*)\b", everywhere))
    compare("settings in all pages", mentioned & set(settings), mentioned)
    compare("columns of tables and views", set(columns), set(columns) & set(words))
    # Of what users call: the arguments, with names, types and defaults.
    shown = {re.sub(r" → .*", "", w) for w in words if re.match(r"fence_\w+\([^']+[ )]", w) and " " in w}
    real = {re.sub(r"::\w+(\[\])?|^(fence_attach\(.*VARIADIC options text\[\]).*", "", s) for s in signatures}
    real |= {re.sub(r" DEFAULT '\{\}'", "", re.sub(r"::\w+(\[\])?", "", s)) for s in signatures}
    compare("signatures that are shown", shown & real, shown)


def sqlstates():
    """Those that the module and its scripts raise, with every message."""
    header = os.path.join(output("pg_config", "--includedir-server").strip(), "utils", "errcodes.h")
    with open(header, encoding="utf-8") as file:
        codes = {name: "".join(chars) for name, *chars in re.findall(
            r"#define (ERRCODE_\w+)\s+MAKE_SQLSTATE\('(.)','(.)','(.)','(.)','(.)'\)", file.read())}
    raised, messages = set(), set()
    for path in files("extension", r"(?!pg_compat).*\.[ch]pp"):
        text = read(path)
        raised |= {codes[name] for name in re.findall(r"\b(ERRCODE_\w+)\b", text)
                   if name in codes and path.startswith("extension/errors")}
        raised |= {"".join(c) for c in re.findall(r"MAKE_SQLSTATE\('(.)', '(.)', '(.)', '(.)', '(.)'\)", text)}
        text = re.sub(r"\bU?INT64_FORMAT\b", '"%d"', text)
        for call in re.findall(r'\berrmsg\(((?:\s*"(?:[^"\\]|\\.)*")+)', text):
            messages.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', call)))
        if path.endswith("errors.cpp"):
            for literal in re.findall(r'(?:sqlstate_\w+|ERRCODE_\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+),', text):
                messages.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal)))
    for path in files("extension", r"fencelock--.*\.sql"):
        text = read(path)
        raised |= set(re.findall(r"ERRCODE = '(\w{5})'", text))
        messages |= {m.replace("''", "'") for m in re.findall(r"RAISE EXCEPTION '((?:[^']|'')*)'", text)}
    text = read("docs", "reference", "errors.md")
    named = set(re.findall(r"^## SQLSTATE (\w{5})", text, re.M)) | set(re.findall(r"^\| ([0-9A-Z]{5}) \|", text, re.M))
    core = {"25006"}  # raised by PostgreSQL itself, and worth telling
    compare("SQLSTATEs", raised, named - core)
    plain = re.sub(r"\*([A-Z])\*", r"\1", text)
    compare("messages", {m for m in messages if m.strip("%s ")}, {m for m in messages if is_shown(m, plain)})


def is_shown(message, text):
    """Whether a line has the message, with anything in the places of its values."""
    message = re.sub(r'"\w+"', '"%s"', message.replace('\\"', '"'))
    pieces = re.split(r"%(?:\.\*s|zu|[sdu]|)", message)
    return re.search("[^|\n]{0,80}?".join(map(re.escape, pieces)), text) is not None


def cpp_names():
    """Names that the public headers declare; the namespace detail is nobody's."""
    names, classes = set(), set()
    for path in files("client/include/fencelock", r".*\.hpp"):
        text = re.sub(r"//[^\n]*", "", read(path))
        text = re.sub(r"namespace detail \{.*?\n\} // namespace detail|namespace detail \{.*?\n\}", "", text, flags=re.S)
        text = re.sub(r"\n  private:.*?\n\};", "\n};", text, flags=re.S)
        classes |= set(re.findall(r"^(?:class|struct|enum class)(?: FENCELOCK_EXPORT)? (\w+)\b(?!;)", text, re.M))
        names |= set(re.findall(r"^(?: {4})?(?=[^\s/])[^\n(]*?(\w+)\(", text, re.M))
        for body in re.findall(r"^struct (?:FENCELOCK_EXPORT )?\w+ \{(.*?)^\};", text, re.M | re.S):
            names |= set(re.findall(r"(\w+)(?:\s*=[^;]+|\{[^;]*\})?;", body))
        for body in re.findall(r"^enum class \w+ \{([^}]*)\}", text, re.M):
            names |= set(re.findall(r"\w+", body))
    return names, classes


def client():
    names, classes = cpp_names()
    names -= {"operator", "void", "__attribute__"}
    pages = "".join(read("docs", "reference", page) for page in ("client.md", "errors.md", "redis.md")) + \
        read("docs", "issuers.md")
    words = {m for word in re.findall(r"`([^`\n]+)`", pages) for m in re.findall(r"\w+", word)}
    words |= set(re.findall(r"\w+", "".join(re.findall(r"```cpp\n(.*?)```", pages, re.S))))
    compare("C++ classes", classes, classes & words)
    compare("C++ members", names - classes, (names - classes) & words)
    shown = {m for word in code(read("docs", "reference", "client.md")) for m in re.findall(r"\b(\w+)\(", word)} - {"find_package"}
    compare("C++ functions that are shown", shown & (names | classes), shown)
    exceptions = set(re.findall(r"^class FENCELOCK_EXPORT (\w+) : public error", read("client/include/fencelock/errors.hpp"), re.M))
    rows = read("docs", "reference", "errors.md").split("## Exceptions")[1]
    compare("exception classes", exceptions, set(re.findall(r"^\| `(\w+)` \|", rows, re.M)))


def command_line():
    help_text = output(PROGRAM, "--help")
    commands = set(re.findall(r"^  ([a-z]+) {2,}\S", help_text.split("Commands")[1].split("Options:")[0], re.M))
    options = set()
    for command in ["", *commands]:
        options |= set(re.findall(r"(?<![\w-])--[a-z-]+", output(PROGRAM, *command.split(), "--help")))
    text = read("docs", "reference", "command-line.md")
    words = code(text)
    compare("commands", commands, {re.match(r"[a-z]+", w)[0] for row in re.findall(r"^\| (`.*?) \| ", text.split(
        "## Commands")[1].split("## Exit codes")[0], re.M) for w in code(row)})
    compare("options", options, {m for word in words for m in re.findall(r"(?<![\w-])--[a-z-]+", word)})
    manual = read("client", "cli", "fencelock.1").replace("\\-", "-")
    compare("options in the man page", options, set(re.findall(r"(?<![\w-])--[a-z-]+", manual)))
    compare("options in the completion", options, set(re.findall(r"(?<![\w-])--[a-z-]+", read("client", "cli", "fencelock.bash"))))
    exit_codes(help_text, commands, text, manual)


def exit_codes(help_text, commands, reference, manual):
    """Help says what each of them means, and the pages say that too, with more where it helps."""
    def rows(said):
        return set(re.findall(r"^  (\S+(?: \+ n)?) {2,}(.*)$", said.split("Exit codes:\n")[1], re.M))

    meanings = rows(help_text)
    numbers = re.findall(r"= (\d+)", read("client", "cli", "exit_code.hpp"))
    compare("exit codes", numbers, {number for code, _ in meanings for number in re.findall(r"\d+", code)})
    of_commands = set.union(*(rows(output(PROGRAM, command, "--help")) for command in commands))
    compare("exit codes in the help of commands", meanings, of_commands)
    table = re.findall(r"^\| ([^|]+) \| (.*) \|$", reference.split("## Exit codes")[1], re.M)[2:]
    section = re.sub(r"\\f[IBP]", "", manual.split(".SH EXIT STATUS\n")[1].split(".SH ")[0])
    entries = re.findall(r"^\.TP\n\.B (.*)\n((?:[^.].*\n)+)", section, re.M)
    for page, listed in (("reference", table), ("man page", entries)):
        says = {code: re.sub(r"\s+", " ", text.replace("`", "")) for code, text in listed}
        named = {(code, meaning) for code, meaning in meanings if meaning in says.get(code, "")}
        unknown = {(code, "") for code in set(says) - {code for code, _ in meanings}}
        compare(f"exit codes in the {page}", meanings, named | unknown)


def redis_keys():
    text = read("docs", "reference", "redis.md")
    fields = {field for path in files("client/src/scripts", r".*\.lua")
              for call in re.findall(r"redis\.call\('H\w+', (?:state|KEYS\[\d\])((?:, [^()]*?)*)\)", read(path))
              for field in re.findall(r"'(\w+)'", call)}
    row = next(line for line in text.split("\n") if ":state` |" in line)
    compare("fields in Redis", fields, set(code(row)[1:]) - {"state_idle"})  # behind the key's name
    presets = re.findall(r'"(fencelock:v1:\{)"|"\}:"|stem \+ "(\w+)"|"(\w+:)" \+ name', read("client", "src", "keys.cpp"))
    parts = {part for found in presets for part in found if part}
    named = " ".join(code(text))
    compare("keys in Redis", parts, {part for part in parts if part in named})


def tests_in_failures():
    """docs/failures.md names tests."""
    cases = {f"{suite}.{name}" for path in files("client/tests", r".*_test\.cpp")
             for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", read(path), re.M)}
    scripts = {re.sub(r"\.\w+$", "", path) for folder in ("sql", "specs", "t") for path in files(folder, r".*\.(sql|spec|pl)")}
    scripts |= {f"examples/{name}" for name in os.listdir(os.path.join(TOP, "examples"))
                if os.path.exists(os.path.join(TOP, "examples", name, "check"))}
    last_cells = re.findall(r"\| ([^|]*) \|$", read("docs", "failures.md"), re.M)
    named = {word for cell in last_cells for word in code(cell)} - {"scripts/demo"}
    compare("tests that the failure matrix names", named & (cases | scripts), named)


def map_of_the_code():
    """docs/developing.md names files and what is in them."""
    sources = {name: os.path.join(folder, name) for folder, _, names in os.walk(TOP) for name in names
               if not {".git", "build"} & set(os.path.relpath(folder, TOP).split(os.sep))}
    text = read("docs", "developing.md")
    named = {word for word in code(text) if re.fullmatch(r"\w+\.(?:[ch]pp|lua|py)", word)}
    compare("files on the map", named & set(sources), named)
    pairs = re.findall(r"`(\w+\.cpp)`, `(\w+)`", text)
    found = {f"{name} in {file}" for file, name in pairs
             if file in sources and re.search(rf"\b{name}\b", read(sources[file]))}
    compare("functions on the map", found, {f"{name} in {file}" for file, name in pairs})
    compare("folders on the map", folders(), {word for word in code(text.split("## Map")[1].split("\n## ")[0])
                                             if word.endswith("/")})


def folders():
    """Those of the checkout, with the rooms of the larger ones; not what is built there."""
    built = set(re.findall(r"^/(\w+/)$", read(".gitignore"), re.M)) | {".git/"}
    within = {"": built, "client/": set(), "scripts/": set(), "tests/": set()}
    return {f"{above}{name}/" for above, without in within.items() for name in os.listdir(os.path.join(TOP, above))
            if os.path.isdir(os.path.join(TOP, above, name)) and f"{name}/" not in without}


def main():
    for check in (objects_and_settings, sqlstates, client, command_line, redis_keys, tests_in_failures,
                  map_of_the_code):
        check()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
