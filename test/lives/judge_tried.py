#!/usr/bin/env python3
"""The judge of the lives is tried itself: with outcomes that it must notice, and with what it must not take for wrong."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from judge import Judge  # noqa: E402

RANKS = 4


def opened(who, rank, kinds, part=None, bad=0, said=None):
    """The lines of a program that opens and reads the file of a rank; said: it is refused with that."""
    path = "/d/ckpt.%d.h5" % rank
    lines = [{"who": who, "word": "open=%d" % rank, "ok": said is None, "file": path, "said": said or ""}]
    if said is None:
        lines += [{"who": who, "word": "read", "ok": True, "file": path, "said": "", "all": kinds, "part": part or kinds,
                   "all_bad": bad, "part_bad": 0},
                  {"who": who, "word": "close", "ok": True, "file": path, "said": ""}]
    return lines


def step(n, rank):
    return {"%d.%d" % (n or 0, rank): 100}


def restart(steps, said=None):
    return sum((opened("r.%d" % r, r, step(n, r), said=said if n is None else None) for r, n in enumerate(steps)), [])


def closed(outcomes, said="not protected: why"):
    lines = []
    for r, ok in enumerate(outcomes):
        for word, good in (("create=2", True), ("close", ok)):
            lines.append({"who": "job.%d" % r, "word": word, "begins": True})
            lines.append({"who": "job.%d" % r, "word": word, "ok": good, "file": "/d/ckpt.%d.h5" % r, "said": "" if good else said})
    return lines


def reads(lines):
    return lambda j: j.reads(lines, "ckpt.#.h5")


def all_read(lines):
    return lambda j: j.all_read(lines, "ckpt.#.h5", "nothing is lost")


def restarts(lines, lost=False, may=()):
    def f(j):
        j.lost, j.may = lost, j.may | set(may)
        j.restart(lines, "ckpt.#.h5")
    return f


def commits(lines, died=False):
    return lambda j: j.commit(lines, "job", (2, 2), RANKS, died)


def after_commit(lines):
    def f(j):
        j.commit(closed([True] * RANKS), "job", (2, 2), RANKS)
        j.restart(lines, "ckpt.#.h5")
    return f


def deleted(lines, names, may_be_left=False):
    return lambda j: j.deleted(lines, names, "ckpt.", may_be_left)


mixed = {"1.0": 50, "2.0": 50}
TRIED = [  # what it is, the words of the alarm or None, what the judge is asked
    ("values as they were protected", None, reads(opened("a.0", 1, step(1, 1)))),
    ("values of two commits", "several commits", reads(opened("a.0", 0, mixed))),
    ("two halves of one open, of two commits", "several commits",
     reads(opened("a.0", 0, step(1, 0))[:2] + opened("a.0", 0, step(2, 0))[1:])),
    ("a value of another place", "wrong values", reads(opened("a.0", 0, step(1, 0), bad=1))),
    ("the file of another rank", "wrong values", reads(opened("a.0", 1, step(1, 2)))),
    ("a commit that was never protected", "does not count", reads(opened("a.0", 0, step(7, 0)))),
    ("refused with a message", None, reads(opened("a.0", 0, {}, said="lost"))),
    ("refused without one", "without a word", reads([dict(opened("a.0", 0, {}, said="x")[0], said="")])),
    ("a child that crashed", "signal 11", reads([{"who": "a.0", "word": "join", "ok": False, "said": "", "signal": 11}])),
    ("one of two readers is refused, nothing is lost", "although nothing is lost",
     all_read(opened("a.0", 0, step(1, 0)) + opened("a.1", 0, {}, said="lost"))),
    ("readers find two commits", "different commits",
     lambda j: (j.may.add((2, 2)), all_read(opened("a.0", 0, step(1, 0)) + opened("a.1", 1, step(2, 1)))(j))),
    ("all closed", None, commits(closed([True] * RANKS))),
    ("nobody closed", None, commits(closed([False] * RANKS))),
    ("some closed", "on ranks [0, 1, 2] only", commits(closed([True, True, True, False]))),
    ("some closed, and the job died", None, commits(closed([True, True, True, False]), died=True)),
    ("what was protected is there", None, restarts(restart([1, 1, 1, 1]))),
    ("what was written since is there", None, restarts(restart([2, 2, 2, 2]), may=[(2, 2)])),
    ("the older one is there, after a commit", "does not count", after_commit(restart([1, 1, 1, 1]))),
    ("ranks have different commits", "not one content", restarts(restart([1, 1, 2, 2]), may=[(2, 2)])),
    ("some ranks are refused", "not one content", restarts(restart([1, 1, 1, None], said="lost"))),
    ("all are refused, nothing is lost", "is refused", restarts(restart([None] * RANKS, said="lost"))),
    ("all are refused, too much is lost", None, restarts(restart([None] * RANKS, said="lost"), lost=True)),
    ("refused without a word, muted", None, reads([{"who": "a.0", "word": "mute", "ok": True}, dict(opened("a.0", 0, {}, said="x")[0], said="")])),
    ("what a user wrote was put aside", None, lambda j: j.there({"ckpt.0.h5": "x"}, {"x", "y"})),
    ("what a user wrote is gone", "nowhere", lambda j: j.there({"ckpt.0.h5": "x"}, {"y"})),
    ("refused, and why is said", None, lambda j: j.cause(opened("a.0", 0, {}, said="the file of rank 0 was changed by another program"))),
    ("refused, and a node is blamed", "another reason", lambda j: j.cause(opened("a.0", 0, {}, said="unrecoverable. bring a lost node's directory back"))),
    ("a run that is not protected says so", None, lambda j: j.told("redset: not protected: why", "job")),
    ("or does not", "does not say so", lambda j: j.told("", "job")),
    ("what was deleted is missing", None, deleted(opened("a.0", 0, {}, said="No such file"), ["other.0.h5"])),
    ("but what protects it is left", "there is: ckpt.0.h5.redset.names", deleted([], ["ckpt.0.h5.redset.names"])),
    ("until the next commit", None, deleted([], ["ckpt.0.h5.redset.names"], True)),
    ("what was deleted is back", "which was deleted", deleted(opened("a.0", 0, step(1, 0)), [])),
]


def main():
    bad = 0
    for what, expected, ask in TRIED:
        alarms = []
        judge = Judge(alarms.append)
        judge.first((1, 1))
        ask(judge)
        right = not alarms if expected is None else any(expected in a for a in alarms)
        if not right:
            bad += 1
            print("VIOLATION %s: %s, expected %s" % (what, alarms or "no alarm", expected or "none"))
    print("lives judge: %d points, %d violations" % (len(TRIED), bad))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
