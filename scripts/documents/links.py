"""Checks the links between the documents: each file and anchor exists, and README.md leads to every document.

usage: links.py DIRECTORY
"""

import os
import re
import sys


def documents(top):
    for directory, folders, files in os.walk(top):
        folders[:] = sorted(f for f in folders if f not in (".git", "build", "node_modules"))
        for name in sorted(files):
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(directory, name), top)


def prose(text):
    """Without code and comments."""
    text = re.sub(r"^( *)```.*?^\1```\s*$", "", text, flags=re.M | re.S)
    return re.sub(r"<!--.*?-->", "", text, flags=re.S)


def slug(heading):
    """The anchor that code hosts give a heading."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip())
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(text):
    found, counts = set(), {}
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", prose(text), flags=re.M):
        name = slug(heading.replace("`", ""))
        count = counts.get(name, 0)
        counts[name] = count + 1
        found.add(name if count == 0 else f"{name}-{count}")
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def links(text):
    plain = re.sub(r"`[^`\n]*`", "", prose(text))
    yield from re.findall(r"\]\(([^)\s]+)\)", plain)
    yield from re.findall(r'(?:src|href|srcset)="([^"]+)"', plain)


def check(top):
    texts = {path: open(os.path.join(top, path), encoding="utf-8").read() for path in documents(top)}
    leads_to = {path: set() for path in texts}
    problems = []
    for path, text in texts.items():
        for link in links(text):
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if not os.path.exists(os.path.join(top, there)):
                problems.append(f"{path}: there is no {link}")
                continue
            if os.path.isdir(os.path.join(top, there)):
                there = os.path.join(there, "README.md")
            leads_to[path].add(there)
            if anchor and there in texts and anchor not in anchors(texts[there]):
                problems.append(f"{path}: {there} has no heading #{anchor}")
    reached, todo = set(), ["README.md"]
    while todo:
        path = todo.pop()
        if path in leads_to and path not in reached:
            reached.add(path)
            todo += leads_to[path]
    problems += [f"{path}: no link leads here from README.md" for path in texts
                 if path.startswith("docs/") and path not in reached]
    return problems, len(texts)


def main():
    problems, count = check(sys.argv[1])
    for problem in problems:
        print("not ok", problem)
    print(f"{'not ok' if problems else 'ok'} links of {count} documents")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
