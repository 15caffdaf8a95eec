"""What must hold, whoever did what. The judge knows what the programs were told to write, and hears what they read.

A content is a pair of steps, that of dataset "all" and that of "part"; it is the same on all ranks. `safe` is what was protected
last, `may` what may be found: that, and what was written since. Promises:

  read      the values that one open gives are of one content, of the file that was opened, and of one that may be found
  together  ranks that open their files together find one content
  message   what is refused says why
  all       a commit succeeds on all ranks or on none
  kept      in the end all ranks find what was protected last, or what was written since
  there     what somebody wrote without the driver is somewhere, whatever the driver makes of it
  cause     what is refused because somebody changed it says that, and blames no node
  told      a run that is not protected says so
  deleted   what was deleted stays deleted, and after the next commit nothing of it is left

A file of one rank (root=) is written by `writer`; else each rank writes its own.
"""


def steps(line, name):
    """{step: values} of one dataset, and which ranks wrote them."""
    kinds = line.get(name, {})
    return {int(k.split(".")[0]): n for k, n in kinds.items()}, {int(k.split(".")[1]) for k in kinds}


class Opened:
    """One open of a file by one program, and what was read through it."""

    def __init__(self, line):
        self.who, self.file, self.ok = line["who"], line["file"], line["ok"]
        self.all, self.part, self.owners, self.bad, self.failed, self.read = {}, {}, set(), 0, False, False

    def take(self, line):
        self.failed = self.failed or not line["ok"]
        self.read = self.read or line["ok"]
        for name, found in (("all", self.all), ("part", self.part)):
            kinds, owners = steps(line, name)
            for step, n in kinds.items():
                found[step] = found.get(step, 0) + n
            self.owners |= owners
            self.bad += line.get(name + "_bad", 0)

    def content(self):
        """The pair of steps, or None."""
        if self.failed or not self.read or len(self.all) != 1 or len(self.part) != 1:
            return None
        return next(iter(self.all)), next(iter(self.part))

    def text(self):
        return "all %s, part %s, of ranks %s, %d of another place" % (self.all, self.part, sorted(self.owners), self.bad)


def opens(lines):
    """The opens for reading among these lines of the log."""
    at, out = {}, []
    for line in lines:
        if "ok" not in line:
            continue
        word = line["word"].split("=")[0]
        if word == "open":
            at[line["who"]] = Opened(line)
            out.append(at[line["who"]])
        elif word in ("read", "half", "rest") and line["who"] in at:
            at[line["who"]].take(line)
        elif word in ("close", "create", "change"):
            at.pop(line["who"], None)
    return out


class Judge:
    def __init__(self, alarm):
        self.alarm = alarm
        self.safe, self.may, self.older = None, set(), []
        self.writer = None
        self.lost = False  # more is lost than the scheme covers

    def first(self, content):
        self.safe, self.may, self.lost = content, {content}, False

    def owner(self, path, name):
        """Which rank wrote the file of this path."""
        if self.writer is not None:
            return self.writer
        return int(path.rsplit("/", 1)[-1].replace(name.split("#")[0], "").split(".")[0])

    # ---- one program ----

    def messages(self, lines):
        muted = {line["who"] for line in lines if line["word"] == "mute"}  # of them stderr is judged
        for line in lines:
            if line.get("ok") is False and line["word"] not in ("join",) and not line.get("said") and line["who"] not in muted:
                self.alarm("%s: %s is refused without a word" % (line["who"], line["word"]))
        for line in lines:
            if line.get("signal"):
                self.alarm("the child of %s died by signal %d" % (line["who"], line["signal"]))

    def reads(self, lines, name, flying=()):
        """The opens, each judged; `flying` are contents that may be committed meanwhile."""
        self.messages(lines)
        may = self.may | set(flying)
        found = opens(lines)
        for o in found:
            if not o.read:
                continue
            where = "%s, %s" % (o.who, o.file.rsplit("/", 1)[-1])
            if o.bad or o.owners - {self.owner(o.file, name)}:
                self.alarm("%s: wrong values: %s" % (where, o.text()))
            elif not o.failed and (len(o.all) != 1 or len(o.part) != 1):
                self.alarm("%s: values of several commits: %s" % (where, o.text()))
            elif o.content() is not None and o.content() not in may:
                self.alarm("%s: values of a commit that does not count: %s; it may be %s" % (where, o.text(), sorted(may)))
        return found

    def all_read(self, lines, name, why):
        """All were to succeed: nothing is lost that the scheme does not cover."""
        found = self.reads(lines, name)
        for o in found:
            if (not o.ok or o.failed) and not self.lost:
                said = [l["said"] for l in lines if l["who"] == o.who and l.get("ok") is False]
                self.alarm("%s is refused %s, although %s: %s" % (o.who, o.file.rsplit("/", 1)[-1], why, " | ".join(said)))
        if len({o.content() for o in found if o.content() is not None}) > 1:
            self.alarm("ranks that read together find different commits: %s" % [(o.who, o.content()) for o in found])
        return found

    # ---- a commit ----

    def commit(self, lines, who, new, ranks, died=False):
        """Outcome of the last close of each rank of job `who`: True, it is what was protected last now."""
        self.messages(lines)
        done = {}
        for line in lines:
            word = line["word"].split("=")[0]
            if line["who"].startswith(who + ".") and not line["who"].endswith("c") and word in ("create", "change", "write", "close"):
                if "begins" in line:
                    done[line["who"]] = False
                elif word == "close":
                    done[line["who"]] = line["ok"]
        writers = list(range(ranks)) if self.writer is None else [self.writer]
        good = [r for r in writers if done.get("%s.%d" % (who, r))]
        failed_writes = [l for l in lines if l["who"].startswith(who + ".") and l["word"].startswith("write") and l.get("ok") is False]
        if good == writers and not failed_writes:
            self.older.insert(0, self.safe)
            self.safe, self.may = new, {new}
            return True
        if good and not died and not failed_writes:
            self.alarm("%s: the commit of %s succeeds on ranks %s only" % (who, new, good))
        self.may.add(new)
        return False

    # ---- what the user did ----

    def there(self, written, found):
        """`written`, `found`: sums of what somebody wrote, by the names of the files, and of all that lies there."""
        for name, content in sorted(written.items()):
            if content not in found:
                self.alarm("what was written to %s without the driver is nowhere any more" % name)

    def cause(self, lines):
        """What is refused among these lines is refused because another program has changed files."""
        for line in lines:
            said = line.get("said") or ""
            changed = "another program" in said or "changed without this driver" in said
            if line.get("ok") is False and (not changed or "bring a lost node" in said):
                self.alarm("%s: %s is refused for another reason than that somebody changed files: %s" % (line["who"], line["word"], said))

    def told(self, text, who):
        if "not protected" not in text:
            self.alarm("%s is not protected, and does not say so: %s" % (who, text[-400:] or "nothing is said"))

    def deleted(self, lines, names, what, may_be_left=False):
        """Opens of files that were deleted; `names` lie there, of which those of `what` are of them."""
        self.messages(lines)
        for o in opens(lines):
            if o.ok:
                self.alarm("%s opens %s, which was deleted" % (o.who, o.file.rsplit("/", 1)[-1]))
        left = sorted(n for n in names if n.startswith(what) and (not may_be_left or n.endswith(".h5")))
        if left:
            self.alarm("of deleted files there is: %s" % ", ".join(left))

    # ---- a restart of all ranks ----

    def restart(self, lines, name, ranks=4):
        """All ranks have opened their files: True, with one content, which is what counts from now on."""
        found = self.reads(lines, name)
        contents = {o.content() for o in found}
        if len(found) == ranks and None not in contents and len(contents) == 1:
            self.safe = contents.pop()
            self.may = {self.safe}
            return True
        if any(o.ok and o.read and not o.failed for o in found):
            self.alarm("a restart: not one content on all ranks: %s" % [(o.who, o.ok, o.content()) for o in found])
        elif not self.lost:
            said = {l["said"] for l in lines if l.get("ok") is False}
            self.alarm("a restart: what was protected last, %s, is refused: %s" % (self.safe, " | ".join(sorted(said))))
        return False
