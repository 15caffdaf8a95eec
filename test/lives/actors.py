"""Who is there beside the job that writes: each actor is a function of a Life, draws what it does, and has it judged.

ACTORS tells their names. The number is the line of the issue that found the kind ("Never wrong: what is read is what was verified"),
0: none. What other tests try each time is `nightly` here: lives.long has it, and whoever asks for it, but not lives.sample."""
import os
import signal
import time

from world import COVERS, RANKS, WATCHDOG

ACTORS = {}


def actor(line, nightly=False):
    def note(f):
        f.line, f.nightly = line, nightly
        ACTORS[f.__name__] = f
        return f
    return note


# ---- damage that the scheme covers ----

def damage(life, kinds=("flip", "flip", "file", "all")):
    """One rank is damaged; which one."""
    w = life.w
    rank = w.draw.randrange(RANKS)
    data, beside = w.files_of(rank)
    kind = w.draw.choice(kinds)
    if kind == "flip":
        w.flip(data)
    else:
        w.lose(rank, beside=kind == "all")
    return rank


# ---- readers ----

def ranks_read(life, kinds):
    w = life.w
    rank = damage(life, kinds)
    n = w.draw.choice([2, 3, 4])
    run = w.job("readers", ["meet", "open=%d" % rank, "read", "close", "meet"], ranks=n)
    w.wait(run)
    life.judge.all_read(w.news(), w.name, "the scheme covers the damage of rank %d" % rank)


@actor(1)
def ranks_read_one_file(life):
    """Ranks open one damaged file, as their first open."""
    ranks_read(life, ("flip", "flip", "file"))


@actor(2)
def ranks_read_one_lost_file(life):
    """The same, and what protects the file of that rank is lost with it."""
    ranks_read(life, ("all",))


@actor(1)
def processes_read_one_file(life):
    """Processes without MPI open one damaged file at the same time."""
    w = life.w
    rank = damage(life)
    runs = [w.process("reader%d" % i, ["await=go", "open=%d" % rank, "half", "rest", "close"]) for i in range(w.draw.choice([2, 4, 6]))]
    w.sign("go")
    w.wait(*runs)
    life.judge.all_read(w.news(), w.name, "the scheme covers the damage of rank %d" % rank)


@actor(1, nightly=True)
def repaired_under_a_reader(life):
    """A process has a file open, or is about to open it, when another one repairs it."""
    w = life.w
    rank = damage(life)
    late = w.process("reader", ["open=%d" % rank, "half", "say=half", "await=go", "rest", "close"])
    w.await_sign("half", late)
    if w.draw.random() < 0.5:
        w.wait(w.process("other", ["open=%d" % rank, "read", "close"]))
    else:
        w.tool("rebuild", w.data)
    w.sign("go")
    w.wait(late)
    life.judge.reads(w.news(), w.name)


@actor(1)
def reader_beside_a_commit(life):
    """A process, or ranks, read a file while the job commits it; with a bit that flips at times."""
    w = life.w
    rank = w.draw.randrange(RANKS)
    locks = w.locks
    if w.draw.random() < 0.5:
        data, _ = w.files_of(rank)
        w.flip(data)
    words = ["open=%d" % rank, "half", "say=half", "await=go", "rest", "close"]
    reader = w.process("reader", words, settings=w.settings(required=w.draw.choice(["yes", "no"])))
    w.await_sign("half", reader)
    step = life.next_step()
    # Without locks nothing keeps a program from changing a file in place that another one reads: such a reader sees both.
    create = not locks or w.draw.random() < 0.5
    new = (step, step) if create else (life.judge.safe[0], step)
    job = w.job("job", ["create=%d" % step, "close"] if create else ["change", "write=%d" % step, "close"])
    w.wait(job)
    w.sign("go")
    w.wait(reader)
    lines = w.news()
    life.judge.reads(lines, w.name, flying=[new])
    # With locks a reader keeps the job from its file, which says so; without them nobody has a reason to refuse.
    if not life.judge.commit(lines, "job", new, RANKS) and not locks:
        life.w.alarm("the job is refused because somebody reads, without locks")


@actor(3)
def two_ranks_over_four(life):
    """Two ranks write over two of the files of four, which are opened one each after that."""
    w = life.w
    step = life.next_step()
    old = life.judge.safe
    w.wait(w.job("two", ["create=%d" % step, "close"], ranks=2, settings=w.settings().replace("checksums=2", "checksums=1")))
    life.judge.commit(w.news(), "two", (step, step), 2)
    w.wait(w.job("readers", ["open", "read", "close"]))
    lines = w.news()
    life.judge.may = {old, (step, step)}
    found = life.judge.reads(lines, w.name)
    contents = {o.content() for o in found if o.ok and o.read}
    refused = [o for o in found if not o.ok or not o.read or o.failed]
    if len(contents) > 1 or (contents and refused):
        w.alarm("a restart that reads finds different commits: %s" % [(o.who, o.content()) for o in found])
    life.over = True


@actor(4)
def nobody_can_verify(life):
    """A bit flips, and what would tell is lost with all that protects the files."""
    w = life.w
    rank = w.draw.randrange(RANKS)
    data, _ = w.files_of(rank)
    w.flip(data)
    for r in range(RANKS):
        w.lose(r, data=False)
    life.judge.lost = True
    w.wait(w.job("readers", ["open", "read", "close"]))
    found = life.judge.reads(w.news(), w.name)
    if len({o.read and not o.failed for o in found}) > 1:
        w.alarm("ranks come to different outcomes: %s" % [(o.who, o.ok) for o in found])
    life.over = True


# ---- a child ----

def child_beside(life, before):
    w = life.w
    rank, reader = w.draw.randrange(RANKS), w.draw.randrange(RANKS)
    step = life.next_step()
    words = [] if before else ["open", "read", "close"]
    # The child does what it does while its parent does the same with the other ranks.
    child = ["open=%d" % rank, "read", "close"]
    if w.draw.random() < 0.3:
        child = ["open", "read", "close"]
    words += ["%d@fork" % reader, *child, "end"]
    words += w.draw.choice([[], ["%d@join" % reader]])
    words += ["meet", "open", "read", "close", "meet", "%d@join" % reader, "create=%d" % step, "close", "meet"]
    w.wait(w.job("job", words))
    lines = w.news()
    own = [line for line in lines if not line["who"].endswith("c")]
    life.judge.reads(lines, w.name, flying=[(step, step)])
    life.judge.all_read([l for l in own if not l["word"].startswith(("create", "close"))], w.name, "nothing is lost")
    if not life.judge.commit(own, "job", (step, step), RANKS):
        said = {l["said"] for l in own if l.get("ok") is False}
        w.alarm("a child keeps its parents from a commit: %s" % " | ".join(sorted(said)))


@actor(5, nightly=True)
def child_before_first_use(life):
    child_beside(life, True)


@actor(5, nightly=True)
def child_after_first_use(life):
    child_beside(life, False)


@actor(5)
def child_of_open_files(life):
    """A rank forks while its file is open and changed: the child reads, writes, closes, and ends; none of that is the parent's."""
    w = life.w
    parent, old = w.draw.randrange(RANKS), life.judge.safe
    step, childs = life.next_step(), life.next_step()
    child = w.draw.choice([["half"], ["write=%d" % childs], ["half", "write=%d" % childs], ["write=%d" % childs, "close"], ["close"]])
    words = ["change", "write=%d" % step, "%d@fork" % parent, *child, "exit", "end", "%d@join" % parent, "meet", "close"]
    w.wait(w.job("job", words))
    if not life.judge.commit(w.news(), "job", (old[0], step), RANKS):
        w.alarm("a child keeps its parents from a commit")


# ---- another job ----

def pauses(w, word):
    """The word, before which some ranks pause."""
    return ["%d@sleep=0.%d" % (r, w.draw.randrange(1, 30)) for r in range(RANKS) if w.draw.random() < 0.5] + [word]


def orders_of_two(w, a, b):
    """What two jobs do that create the same files."""
    early = w.draw.randrange(1, RANKS)  # so many ranks of the first one close before the other one creates
    orders = {
        "race": (["meet", *pauses(w, "create=%d" % a), *pauses(w, "close")], ["meet", *pauses(w, "create=%d" % b), *pauses(w, "close")]),
        "both open": (["create=%d" % a, "meet", "0@say=a", "await=b", *pauses(w, "close")],
                      ["await=a", "create=%d" % b, "meet", "0@say=b", *pauses(w, "close")]),
        "some late": (["create=%d" % a, *["%d@say=a%d" % (r, r) for r in range(RANKS)],
                       *["%d@await=b" % r for r in range(early, RANKS)], "close"],
                      [*["await=a%d" % r for r in range(RANKS)], "create=%d" % b, "meet", "0@say=b", "close"]),
    }
    return orders[w.draw.choice(sorted(orders))]


@actor(9)
def two_jobs_under_one_name(life):
    """Two jobs create the same files at the same time, files that are protected or new ones."""
    w = life.w
    steps = [life.next_step(), life.next_step()]
    if w.draw.random() < 0.5:
        w.name = "new.#.h5"
        life.judge.first(None)
        life.judge.may = set()
    w.wait(*[w.job(who, words, settings=w.settings(timeout=10)) for who, words in zip(("jobA", "jobB"), orders_of_two(w, *steps))])
    lines = w.news()
    done = [life.judge.commit(lines, who, (step, step), RANKS) for who, step in zip(("jobA", "jobB"), steps)]
    if any(done):
        life.judge.may = {(step, step) for step in steps}
    life.judge.lost = life.judge.safe is None


# ---- the tool ----

def tool_beside(life, command):
    """The tool is run while ranks have their files open to change them, and have not changed them yet."""
    w = life.w
    if command == "restore":
        w.keep = 2
        life.commit(["create", "change"])
    old, step = life.judge.safe, life.next_step()
    older = life.judge.older[0] if life.judge.older else None
    rank = w.draw.randrange(RANKS)
    run = w.job("job", ["change", "meet", "0@say=opened", "await=go", "write=%d" % step, "close"])
    w.await_sign("opened", run)
    if command == "rebuild":
        w.flip(w.files_of(rank)[0])
    arguments = {"rebuild": ["rebuild", w.data], "restore": ["restore", "--generation=-1", w.data],
                 "unprotect": ["unprotect", w.data], "protect": ["protect", w.data], "status": ["status", "--verify", w.data],
                 "mv": ["mv", w.path().replace("#", "%r"), w.path("moved.#.h5").replace("#", "%r")]}[command]
    status = w.tool(*arguments)
    w.sign("go")
    w.wait(run)
    new = (old[0], step)
    done = life.judge.commit(w.news(), "job", new, RANKS)
    if command == "restore" and status == 0 and not done:
        life.judge.may.add(older)
    if command == "mv" and os.path.exists(w.path("moved.0.h5")):
        w.name = "moved.#.h5"
    if not done and command == "status":
        w.alarm("h5redset %s keeps a job from its commit" % command)


for _command in ("rebuild", "restore", "unprotect", "protect", "status", "mv"):
    def _beside(life, command=_command):
        tool_beside(life, command)
    _beside.__name__ = "tool_%s_beside_a_job" % _command
    actor(10, nightly=_command not in ("rebuild", "restore"))(_beside)


# ---- ranks that are late, and clocks ----

@actor(0, nightly=True)
def stopped_rank(life):
    """A rank stops before it closes, longer than the others wait; then it goes on, and all meet again."""
    w = life.w
    slow, step, then = w.draw.randrange(RANKS), life.next_step(), life.next_step()
    at = w.draw.choice(["open", "close"])
    words = ["create=%d" % step, "%d@stop" % slow, "close"] if at == "close" else ["%d@stop" % slow, "change", "write=%d" % step, "close"]
    old = life.judge.safe
    run = w.job("job", [*words, "meet", "create=%d" % then, "close"], settings=w.settings(timeout=5))
    stopped, until = None, time.monotonic() + WATCHDOG
    while stopped is None and run.process.poll() is None and time.monotonic() < until:
        stopped = next((l["pid"] for l in w.lines()[w.seen:] if l["word"] == "stop"), None)
        time.sleep(0.02)

    def others():
        return len({l["who"] for l in w.lines()[w.seen:] if l["word"] == "meet" and l["who"] != "job.%d" % slow})
    while stopped is not None and others() < RANKS - 1 and run.process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    if stopped is not None:
        w.signal(stopped, signal.SIGCONT)
    w.wait(run)
    lines = w.news()
    at = max((i for i, l in enumerate(lines) if l["word"] == "meet"), default=len(lines))
    life.judge.commit(lines[:at + 1], "job", (step, step) if words[0].startswith("create") else (old[0], step), RANKS)
    if not life.judge.commit(lines, "job", (then, then), RANKS):
        said = {l["said"] for l in lines if l.get("ok") is False}
        w.alarm("ranks that have met again cannot commit: %s" % " | ".join(sorted(said)))


def wrong_clocks(w):
    """Of some ranks the clock is behind or ahead, or it stands still; arguments of World.job."""
    if w.draw.random() < 0.3:
        slow = w.draw.choice(["0", "1", "2", "0123", "13"])
        return {"wrapper": ["sh", "-c", 'case $0 in *${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}*) '
                            'LD_PRELOAD=%s/test/vfd/libpreload_clock.so:$LD_PRELOAD; export LD_PRELOAD; esac; exec "$@"' % w.bin, slow]}
    shifts = [w.draw.choice([0, 0, -7200, 7200, -100000000, 100000000]) for _ in range(RANKS)]
    return {"more": {"CLOCK_SHIFT": " ".join(map(str, shifts)),
                     "LD_PRELOAD": "%s/test/vfd/libpreload_shift.so:%s" % (w.bin, os.environ.get("LD_PRELOAD", ""))}}


@actor(15)
def clocks_differ(life):
    """The clocks of some ranks are wrong while the job commits twice; then it goes on elsewhere."""
    w = life.w
    for _ in range(2):
        step = life.next_step()
        w.wait(w.job("job", ["create=%d" % step, "close", "open", "read", "close"], **wrong_clocks(w)))
        lines = w.news()
        if not life.judge.commit([l for l in lines if l["word"].split("=")[0] in ("create", "close")][:4 * RANKS], "job", (step, step), RANKS):
            w.alarm("clocks are wrong, and nothing is protected")
        life.judge.all_read(lines, w.name, "nothing is lost")
    if w.draw.random() < 0.5:
        damage(life)


# ---- a file of one rank ----

@actor(15)
def file_of_one_rank(life):
    """One rank writes a file (root=) again and again, with clocks that are wrong at times; a node is lost, or has an old or bad copy."""
    w, judge = life.w, life.judge
    if not w.mounted:
        w.left_out.append("file_of_one_rank left out, no file system can be mounted here")
        return
    w.on_nodes("meta.h5")
    w.more = {"root": "meta.h5"}
    judge.first(None)
    judge.may, judge.writer, life.over = set(), w.draw.randrange(RANKS), True
    for _ in range(w.draw.choice([1, 2, 3])):
        step, dies = life.next_step(), w.draw.random() < 0.3
        words = ["%d@create=%d" % (judge.writer, step), "%d@close" % judge.writer, "meet"]
        seen = w.draw.random() < 0.5  # all have it before the job ends, or is killed
        w.wait(w.job("job", words + ["open", "read", "close"] * seen + ["meet", "%d@kill" % w.draw.randrange(RANKS), "meet"] * dies,
                     dies=dies, **(wrong_clocks(w) if w.draw.random() < 0.5 else {})))
        lines = w.news()
        if not judge.commit([l for l in lines if l["word"] == words[0][2:] or l["word"] == "close"][:4], "job", (step, step), RANKS):
            w.alarm("a file of one rank is not protected, and nobody is there but the job")
        judge.all_read(lines, w.name, "nothing is lost")
        # Of a job that is killed the node of the writer may have the only one.
        rank = w.draw.randrange(RANKS)
        if dies and not seen or w.draw.random() < 0.4:
            pass
        elif w.draw.random() < 0.4 and os.path.exists(w.files_of(rank)[0]):
            w.flip(w.files_of(rank)[0])
        else:
            w.lose(rank)
        if w.alarms or not life.restart():
            break


# ---- a file system without room ----

@actor(11)
def no_space(life):
    """No inodes, or no blocks, are left: for all ranks, or on the node of one."""
    w = life.w
    if not w.mounted:
        w.left_out.append("no_space left out, no file system can be mounted here")
        return
    rank = w.draw.choice([None, None, *range(RANKS)])
    if rank is not None:
        w.on_nodes(w.name)
        life.over, life.commits = True, 0
        life.commit()
    step = life.next_step()
    old = life.judge.safe
    create = w.draw.random() < 0.7
    if w.draw.random() < 0.7:
        w.room(inodes=w.draw.choice([0, 0, 1, 2, 3, 4, 6, 9, 12]), rank=rank)
    else:
        w.room(blocks=w.draw.choice([0, 0, 1, 2, 4, 16, 64, 256]), rank=rank)
    w.wait(w.job("job", ["create=%d" % step, "close"] if create else ["change", "write=%d" % step, "close"]))
    done = life.judge.commit(w.news(), "job", (step, step) if create else (old[0], step), RANKS)
    if done:  # what is whole is read without room
        w.wait(w.job("readers", ["open", "read", "close"]))
        life.judge.all_read(w.news(), w.name, "all is whole")
    w.room(rank=rank)
    if not done and w.draw.random() < 0.4:
        w.lose(w.draw.randrange(RANKS))
    if rank is not None:
        life.restart()


@actor(11)
def no_inodes(life):
    """No inode is left for the file that would be written beside each protected one; and then a node is lost."""
    w = life.w
    if not w.mounted:
        w.left_out.append("no_inodes left out, no file system can be mounted here")
        return
    step = life.next_step()
    w.room(inodes=w.draw.choice([0, 1, 2]))
    w.wait(w.job("job", ["create=%d" % step, "close"]))
    life.judge.commit(w.news(), "job", (step, step), RANKS)
    w.room()
    if COVERS[w.scheme] > 0:
        w.lose(w.draw.randrange(RANKS))


# ---- a job that dies ----

@actor(0)
def killed(life):
    w = life.w
    step, victim = life.next_step(), w.draw.randrange(RANKS)
    old = life.judge.safe
    create = w.draw.random() < 0.5
    words = ["create=%d" % step] if create else ["change", "write=%d" % step]
    words += w.draw.choice([["meet", "%d@kill" % victim, "close"], ["%d@kill" % victim, "close"], ["close", "%d@kill" % victim]])
    w.wait(w.job("job", words, dies=True))
    life.judge.commit(w.news(), "job", (step, step) if create else (old[0], step), RANKS, died=True)
    if w.draw.random() < 0.5 and COVERS[w.scheme] > 0:
        damage(life)
