"""What the checker has found."""

from dataclasses import dataclass, field


@dataclass
class Violation:
    kind: str
    text: str
    about: list = field(default_factory=list)  # names of operations and transactions

    def lines(self, run, most=14):
        """The lines of history that matter, in their order."""
        events = [event for name in self.about for event in run.lines.get(name, [])]
        for name in self.about:
            op = name.rpartition(".")[0]
            if name in run.transactions and op not in self.about:
                events += run.lines.get(op, [])
        events.sort(key=lambda event: event["t"])
        return events[:most]
