#!/usr/bin/env python3
"""Random lives of files, with real programs: a job commits, somebody else is there (actors.py, user.py), and what must hold is judged
(judge.py).

    lives.py [--seed N] [--lives N] [--rounds N] [--actor NAME]... [--sample] [--tell]

Life i has the seed N + i and is the same each time, but for the time that programs take. Without --actor each life begins with
the next actor in turn. An alarm prints the whole story. Exit status 1: there was one."""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import user  # noqa: E402,F401
from actors import ACTORS  # noqa: E402
from judge import Judge  # noqa: E402
from world import RANKS, World, can_mount  # noqa: E402

class Life:
    def __init__(self, world):
        self.w, self.judge = world, Judge(world.alarm)
        self.step, self.commits, self.over = 0, 0, False

    def next_step(self):
        self.step += 1
        return self.step

    def commit(self, hows=("create", "change", "leave")):
        """All ranks create their files, change them in place, or leave them as they are."""
        how = self.w.draw.choice(hows) if self.commits else "create"
        step = self.next_step()
        words = {"create": ["create=%d" % step], "change": ["change", "write=%d" % step], "leave": ["change"]}[how]
        new = {"create": (step, step), "change": (self.judge.safe and self.judge.safe[0], step), "leave": self.judge.safe}[how]
        self.w.wait(self.w.job("job", [*words, "close"]))
        if self.commits == 0:
            self.judge.first(new)
        lines = self.w.news()
        if not self.judge.commit(lines, "job", new, RANKS):
            said = {line["said"] for line in lines if line.get("ok") is False}
            self.w.alarm("a commit fails, and nobody is there but the job: %s" % " | ".join(sorted(said)))
        self.commits += 1

    def restart(self):
        """True: all ranks have their files."""
        self.w.wait(self.w.job("restart", ["open", "read", "close"], settings=self.w.settings(verify="all")))
        good = self.judge.restart(self.w.news(), self.w.name)
        self.over = self.over or not good
        return good

    def round(self, name):
        self.w.tell("---- " + name)
        for sign in os.listdir(self.w.signs):
            os.remove(self.w.signs + "/" + sign)
        self.commit()
        if not self.w.alarms:
            ACTORS[name](self)
        if not self.w.alarms and not self.over:
            self.restart()


def short(line):
    """A line of the log in words."""
    found = ", ".join("%s %s" % (name, line[name]) for name in ("all", "part") if name in line)
    return "%s %s: %s %s%s" % (line["who"], line["word"], "ok" if line["ok"] else "error", line.get("said", ""), found)


def live(seed, first, allowed, given):
    """True: no alarm."""
    w = World(seed, given.inside)
    try:
        life, names = Life(w), [first] if first else []
        while len(names) < given.rounds:
            names.append(w.draw.choice(allowed))
        for name in names:
            if not life.over and not w.alarms:
                life.round(name)
        print("seed %d: %s verify=%s keep=%d%s, %d values: %s: %s" %
              (seed, w.scheme, w.verify, w.keep, "" if w.locks else " no locks", w.values, ", ".join(names),
               "ALARM" if w.alarms else "; ".join(["ok", *w.left_out])), flush=True)
        if w.alarms or given.tell:
            for text in w.story:
                print("  | " + text)
            for line in w.lines():
                if "ok" in line:
                    print("  | log: " + short(line))
            print("  | files: " + ", ".join(w.listing()), flush=True)
        return not w.alarms
    finally:
        w.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lives", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--actor", action="append", choices=sorted(ACTORS))
    parser.add_argument("--sample", action="store_true", help="without actors of the night")
    parser.add_argument("--tell", action="store_true", help="the whole story of each life")
    parser.add_argument("--inside", action="store_true", help="of the mount namespace that this program makes")
    given = parser.parse_args()
    command = None if given.inside else can_mount()
    if command is not None:
        os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")  # root of the namespace
        os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        os.execvp(command[0], [*command, sys.executable, *sys.argv, "--inside"])
    allowed = given.actor or [name for name, f in ACTORS.items() if not (given.sample and f.nightly)]
    bad = 0
    count = given.lives or len(allowed)
    for i in range(count):
        bad += not live(given.seed + i, allowed[i % len(allowed)], allowed, given)
    print("lives: %d points, %d violations" % (count, bad))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
