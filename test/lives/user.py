"""What the user does to the files of a job, and runs that the driver does not protect: actors, as those of actors.py, whose lines are of
the issue "Deleted, changed, silent: the rest of the world as known states"."""
import os
import shutil

from actors import actor
from world import RANKS

TIMEOUT = 4  # seconds that ranks wait for one that has no driver


def names(w, ranks=range(RANKS)):
    return [w.name.replace("#", str(rank)) for rank in ranks]


# ---- deleted on purpose ----

@actor(1)
def user_deletes(life):
    """The user deletes all files of an older step, or moves them away; the job goes on with newer steps of the same kind."""
    w, judge = life.w, life.judge
    family = ["step_%d.#.h5" % i for i in range(3)]
    for name in family[:2]:
        step = life.next_step()
        w.wait(w.job("job", ["create=%d" % step, "close"], name=name))
        if not judge.commit(w.news(), "job", (step, step), RANKS):
            w.alarm("a commit fails, and nobody is there but the job")
    moved = w.draw.random() < 0.3
    if moved:
        os.mkdir(w.data + "/away")
        w.shell("mv step_0.?.h5 away/")
    else:
        w.shell("rm step_0.?.h5")
    w.wait(w.job("readers", ["open", "read", "close"], name=family[0]))
    judge.deleted(w.news(), os.listdir(w.data), "step_0.", may_be_left=True)
    # What earlier runs left is known from the first commit on, and goes with the next one.
    middle, first, then = judge.safe, life.next_step(), life.next_step()
    w.wait(w.job("job", ["create=%d" % first, "close", "create=%d" % then, "close"], name=family[2]))
    if not judge.commit(w.news(), "job", (then, then), RANKS):
        w.alarm("files that were deleted keep a job from its commit")
    judge.deleted([], os.listdir(w.data), "step_0.", may_be_left=moved)
    if moved and len(os.listdir(w.data + "/away")) < RANKS:
        w.alarm("what was moved away is not all there: %s" % os.listdir(w.data + "/away"))
    w.name = w.draw.choice(family[1:])
    judge.safe = middle if w.name == family[1] else judge.safe
    judge.may = {judge.safe}
    life.restart()
    life.over = True


# ---- the same content ----

@actor(2)
def user_leaves_content(life):
    """The user touches files, copies them away and back, moves them away and back: all is as it was."""
    w = life.w
    of = names(w, w.draw.choice([[w.draw.randrange(RANKS)], range(RANKS)]))
    for _ in range(w.draw.choice([1, 2])):
        w.shell(w.draw.choice([
            "touch %s" % " ".join(of),
            "touch -d 2001-01-01 %s" % " ".join(of),
            "for f in %s; do cp $f copy && mv copy $f; done" % " ".join(of),
            "for f in %s; do cp -p $f copy && cat copy >$f && rm copy; done" % " ".join(of),
            "mkdir away && mv %s away && mv away/* . && rmdir away" % " ".join(of)]))
    run = w.job("readers", ["open", "read", "close"])
    w.wait(run)
    life.judge.all_read(w.news(), w.name, "the user has not changed any content")


# ---- another content ----

def change_files(w, of):
    """The user changes these files, whose values stay what they are."""
    how = w.draw.choice(["append", "append", "older", "older with its time", "tar", *filter(shutil.which, ["h5repack", "h5jam", "rsync"])])
    command = {"append": "echo a note of the user >>$f",
               "older": "cp kept.$f $f",
               "older with its time": "cp -p kept.$f $f",
               "rsync": "rsync -a kept.$f $f",
               "tar": "mkdir t && mv kept.$f t/$f && tar --format=posix -cf t.tar -C t $f && tar xf t.tar && rm -r t t.tar",
               "h5repack": "h5repack -f GZIP=1 $f new.h5 && mv new.h5 $f",
               "h5jam": "echo a note of the user >note && h5jam -i $f -u note -o new.h5 && mv new.h5 $f && rm note"}[how]
    w.shell("for f in %s; do %s; done" % (" ".join(of), command))


def user_changes(life, ranks):
    """Ranks whose files the user changes; who reads or writes then finds one commit, or all are refused; nothing of the user's is lost."""
    w, judge = life.w, life.judge
    w.shell("for f in %s; do cp -p $f kept.$f; done" % " ".join(names(w)))
    old, step = judge.safe, life.next_step()
    w.wait(w.job("job", ["create=%d" % step, "close"]))
    judge.commit(w.news(), "job", (step, step), RANKS)
    change_files(w, names(w, ranks))
    w.shell("rm -f kept.*")
    written = w.sums(names(w, ranks))
    judge.may |= {old}
    judge.lost = len(ranks) == RANKS  # nothing covers that: it may be refused
    w.wait(w.job("readers", ["open", "read", "close"]))
    lines = w.news()
    found = judge.reads(lines, w.name)
    judge.cause(lines)
    if len({o.content() for o in found}) > 1:
        w.alarm("files that a user has changed are not opened alike: %s" % [(o.who, o.ok, o.content()) for o in found])
    judge.there(written, set(w.sums().values()))
    life.over = True


@actor(2)
def user_changes_one(life):
    """The user changes the file of one rank, which the scheme covers."""
    user_changes(life, [life.w.draw.randrange(RANKS)])


@actor(2)
def user_changes_all(life):
    """The user changes the files of all ranks."""
    user_changes(life, list(range(RANKS)))


# ---- without the driver ----

def without_driver(ranks):
    """The driver does not come to these ranks: what World.job takes."""
    return ["sh", "-c", 'case $0 in *${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}*) unset HDF5_DRIVER HDF5_DRIVER_CONFIG; esac; exec "$@"',
            "".join(map(str, ranks))]


@actor(4)
def rank_without_driver(life):
    """The driver did not come to some ranks of a job, which creates files, new ones or over protected ones."""
    w, judge = life.w, life.judge
    new = w.draw.random() < 0.5
    if new:
        w.name = "new.#.h5"
        judge.first(None)
        judge.may = set()
    step, then = life.next_step(), life.next_step()
    ranks = w.draw.sample(range(RANKS), w.draw.choice([1, 1, 2, 3]))
    run = w.job("job", ["create=%d" % step, "close", "meet", "create=%d" % then, "close"], wrapper=without_driver(ranks),
                settings=w.settings(required="no", timeout=TIMEOUT))
    w.wait(run)
    judge.messages(w.news())
    judge.told(run.text(), "a job of which ranks %s have no driver" % ranks)
    judge.may |= {(step, step), (then, then)}
    judge.lost = True
    life.restart()
    life.over = True


@actor(2)
def job_without_driver(life):
    """A whole job without the driver writes the files anew, or changes them; the next one has the driver again."""
    w, judge = life.w, life.judge
    step = life.next_step()
    create = w.draw.random() < 0.5
    w.wait(w.job("other", ["create=%d" % step, "close"] if create else ["change", "write=%d" % step, "close"],
                 wrapper=without_driver(range(RANKS))))
    judge.messages(w.news())
    written = w.sums(names(w))
    judge.may.add((step, step) if create else (judge.safe[0], step))
    judge.lost = True
    life.restart()
    judge.there(written, set(w.sums().values()))
    life.over = True


# ---- a program that mutes errors ----

@actor(5)
def muted(life):
    """A program that has muted HDF5's errors is refused: more is lost than the scheme covers."""
    w, judge = life.w, life.judge
    for rank in range(1, RANKS):
        w.lose(rank)
    judge.lost = True
    run = w.job("job", ["mute", "open", "read", "close"])
    w.wait(run)
    found = judge.reads(w.news(), w.name)
    if any(o.ok for o in found):
        w.alarm("more is lost than covered, and some open their files: %s" % [(o.who, o.ok) for o in found])
    if "redset: " not in run.text():
        w.alarm("a program that mutes errors is refused without a line: %s" % run.text()[-400:])
    life.over = True
