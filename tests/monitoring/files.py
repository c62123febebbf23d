"""What is in the files of monitoring/: names, expressions, and whether they fit each other and the documents."""

import json
import os
import re

import yaml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MONITORING = os.path.join(TOP, "monitoring")
VALUE_USAGES = {"COUNTER": "counter", "GAUGE": "gauge"}
METRIC = r"\bfencelock_[a-z_]+\b"


def read(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def load(name):
    return yaml.safe_load(read("monitoring", name))


def exported_metrics():
    """{name: type} of what the exporter's queries promise."""
    found = {}
    for section, query in load("postgres_exporter.yaml").items():
        for column in query["metrics"]:
            (name, about), = column.items()
            if about["usage"] in VALUE_USAGES:
                found[f"{section}_{name}"] = VALUE_USAGES[about["usage"]]
    return found


def alerts():
    return [rule for group in load("alerts.yaml")["groups"] for rule in group["rules"]]


def alert_tests():
    """[(alert's name, whether it is expected)]"""
    return [(case["alertname"], bool(case["exp_alerts"]))
            for test in load("alerts_test.yaml")["tests"] for case in test["alert_rule_test"]]


def headings(document):
    return {re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
            for line in read(document).splitlines() if line.startswith("#")}


def alerts_without_runbook():
    wrong = []
    for alert in alerts():
        document, _, anchor = alert["annotations"]["runbook_url"].partition("#")
        if anchor != alert["alert"].lower() or anchor not in headings(document):
            wrong.append(alert["alert"])
    return wrong


def dashboard():
    return json.loads(read("monitoring", "dashboard.json"))


def panels():
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def with_variables(expression):
    """As Grafana sends it where everything is chosen."""
    return re.sub(r"\$(instance|datname|job)\b", ".*", expression.replace("$__rate_interval", "1m"))


def dashboard_expressions():
    """[(where, expression)]"""
    board = dashboard()
    found = [(panel["title"], target["expr"]) for panel in panels() for target in panel["targets"]]
    found += [(one["name"], one["expr"]) for one in board["annotations"]["list"]]
    return [(where, with_variables(expression)) for where, expression in found]


def dashboard_variables():
    """[(metric, label)]"""
    return [re.fullmatch(r"label_values\((\w+), (\w+)\)", one["definition"]).groups()
            for one in dashboard()["templating"]["list"] if one["type"] == "query"]


def dashboard_problems():
    """What Grafana, or who looks at it, would stumble over."""
    board, taken, problems = dashboard(), {}, []
    for key in ("uid", "title", "schemaVersion", "time", "templating", "panels"):
        if not board.get(key):
            problems.append(f"no {key}")
    ids = [panel["id"] for panel in board["panels"]]
    if len(set(ids)) != len(ids):
        problems.append("panels with one id")
    variables = {one["name"] for one in board["templating"]["list"]} | {"__rate_interval"}
    for panel in board["panels"]:
        title, at = panel["title"], panel["gridPos"]
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                if x >= 24 or taken.setdefault((x, y), title) != title:
                    problems.append(f"{title} lies outside, or over {taken.get((x, y))}")
        if panel["type"] == "row":
            continue
        if not panel.get("description") or not panel["fieldConfig"]["defaults"].get("unit"):
            problems.append(f"{title} has no description or no unit")
        if len({target["refId"] for target in panel["targets"]}) != len(panel["targets"]) or not panel["targets"]:
            problems.append(f"{title}: targets with one refId, or none")
        for target in panel["targets"]:
            problems += [f"{title}: there is no ${name}" for name in re.findall(r"\$(\w+)", target["expr"])
                         if name not in variables]
            if target["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
                problems.append(f"{title} does not ask the chosen Prometheus")
    return sorted(set(problems))


def metrics_in(text):
    return set(re.findall(METRIC, text))


def documented_metrics():
    """Of the tables of the reference."""
    return {name for line in read("docs/reference/metrics.md").splitlines() if line.startswith("| `")
            for name in re.findall(METRIC, line.split("|")[1])}
