#!/usr/bin/env python3
"""Plants each kind of object under each kind of name that lies beside a data file, before each operation, as the user whose files they are
and as root. alice has three files that are protected together, where everybody may add names; mallory adds some.

    planter.py [--every N] [--first K] [--name TEXT] [--object NAME] [--operation NAME] [--tell]

One case in N is tried. What must hold, whatever is planted:

  outside   nothing that is not alice's own in that directory was read into it, written, removed, or given to somebody
  values    the file of alice that is read has values of one commit of hers, or an error says why
  good      of files that are whole reading, status and scavenge succeed
  private   nothing that is made is more open than her files, or somebody else's
  ends      every operation ends, not by a signal, and says why where it fails"""
import argparse
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile

MALLORY = 20003
RANKS, RANK, VALUES = 3, 1, 300
SECRET, ROOTS = b"for alice alone", b"for root alone"
GENERATION = "%016x" % (1 << 40 | 77)

SET = "a_1.h5.1.xor.grp_1_of_1.mem_2_of_3.redset"
NAMES = [SET] + [SET + s for s in (".void", ".new", ".fix", ".redo")] + \
    ["a_1.h5.1.redset", "a_1.h5.1.redset.new", "a_1.h5.1.redset.fix", "a_1.h5.1.redset.0.fix"] + \
    ["a_1.h5.redset." + s for s in ("0000000000000000.undo", "0000000000000000.fix", "names")] + \
    ["a_1.h5.redset.%s%s" % (GENERATION, s) for s in (".new", ".data", ".undo", ".fix", "", ".newer", ".lost", ".changed")] + \
    ["a_1.h5.redset.0.displaced"]


class World:
    def __init__(self, top, alice):
        self.top, self.alice = top, alice
        self.scratch, self.target, self.root = top + "/scratch", top + "/target", top + "/private"
        self.secrets, self.model, self.log = top + "/secrets", top + "/model", top + "/log"
        self.bin, self.lib = top + "/bin", top + "/lib"

    # ---- programs ----

    def install(self):
        """Other users may not look into the directories where programs are built."""
        build = os.environ["REDSET_BUILD_DIR"]
        os.mkdir(self.bin)
        os.mkdir(self.lib)
        for path in (build + "/tools/h5redset", build + "/test/vfd/serial_lives"):
            shutil.copy(path, self.bin)
        plugin = os.environ["HDF5_PLUGIN_PATH"] + "/libhdf5_vfd_redset.so"
        shutil.copy(plugin, self.lib)
        for path in (plugin, build + "/test/vfd/serial_lives"):
            for line in subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout.splitlines():
                if "libhdf5" in line:
                    shutil.copy(line.split("=> ")[1].split(" ")[0], self.lib)

    def run(self, user, command, **more):
        env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": self.lib, "HDF5_PLUGIN_PATH": self.lib, "LIVES_LOG": self.log,
               "LIVES_WHO": "who", "LIVES_SIGNS": self.top, "LIVES_RANK": str(RANK), "ASAN_OPTIONS": "verify_asan_link_order=0"}
        env.update(more)
        as_user = {} if user == 0 else {"user": user, "group": user, "extra_groups": []}
        try:
            done = subprocess.run(command, env=env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                                  umask=0o077, timeout=60, **as_user)
        except subprocess.TimeoutExpired:
            return None, "it hangs"
        return done.returncode, done.stdout + done.stderr

    def tool(self, user, *arguments):
        return self.run(user, [self.bin + "/h5redset", *arguments])

    def lives(self, user, directory, words, driver=True, rank=RANK):
        """The lines that it logs; (status, text)."""
        open(self.log, "w").close()
        os.chmod(self.log, 0o666)
        more = {"LIVES_RANK": str(rank)}
        if driver:
            more.update(HDF5_DRIVER="redset", HDF5_DRIVER_CONFIG="scheme=XOR")
        ended = self.run(user, [self.bin + "/serial_lives", directory + "/a_#.h5", str(VALUES), *words], **more)
        with open(self.log) as f:
            return [line for line in map(json.loads, f) if "ok" in line], ended

    # ---- files ----

    def files(self, user, directory, step, times):
        os.mkdir(directory)
        os.chown(directory, user, user)
        for rank in range(RANKS):
            _, (status, text) = self.lives(user, directory, ["create=%d" % step, "close"], driver=False, rank=rank)
            assert status == 0, text
        for i in range(times):
            status, text = self.tool(user, "protect", "--scheme=XOR", *["%s/a_%d.h5" % (directory, rank) for rank in range(RANKS)])
            assert status == 0, text

    def prepare(self):
        self.install()
        self.files(self.alice, self.scratch, 1, 1)
        os.rename(self.scratch, self.model)
        self.files(MALLORY, self.top + "/mallorys", 7, 3)
        for path, user, text in ((self.secrets, self.alice, SECRET), (self.root, 0, ROOTS)):
            os.mkdir(path, 0o700)
            with open(path + "/it", "wb") as f:
                f.write(text * 100)
            os.chown(path, user, user)
            os.chown(path + "/it", user, user)

    def begin(self, lost):
        shutil.rmtree(self.scratch, ignore_errors=True)
        shutil.rmtree(self.target, ignore_errors=True)
        subprocess.run(["cp", "-a", self.model, self.scratch], check=True)
        os.chmod(self.scratch, 0o1777)
        os.mkdir(self.target)
        os.chown(self.target, self.alice, self.alice)
        for name in os.listdir(self.scratch):
            if lost != "nothing" and name == "a_1.h5" or lost == "all" and name.startswith("a_1.h5."):
                os.remove(self.scratch + "/" + name)

    # ---- objects ----

    def plant(self, kind, name):
        """False: alice has that name herself."""
        path = self.scratch + "/" + name
        if os.path.lexists(path):
            return False
        forged = self.top + "/mallorys/" + SET
        if kind == "link to root's":
            os.symlink(self.root + "/it", path)
        elif kind == "link to alice's":
            os.symlink(self.secrets + "/it", path)
        elif kind == "hard link":
            os.link(self.secrets + "/it", path)
            return True
        elif kind == "FIFO":
            os.mkfifo(path, 0o666)
        elif kind == "directory":
            os.mkdir(path, 0o777)
        elif kind == "device":
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
        elif kind == "empty":
            open(path, "w").close()
        elif kind == "huge":
            with open(path, "wb") as f:
                f.truncate(1 << 42)
        elif kind in ("forged", "forged, open to all"):
            shutil.copyfile(forged, path)
        user = self.alice if kind == "forged, open to all" else MALLORY
        os.chown(path, user, user, follow_symlinks=False)
        if kind not in ("link to root's", "link to alice's", "FIFO", "directory", "device"):
            os.chmod(path, 0o666)
        return True

    def state(self, paths):
        """What lies there, and is none of alice's business in that directory."""
        found = {}
        for top in paths:
            for path in [top] + [os.path.join(d, n) for d, ds, fs in os.walk(top) for n in ds + fs]:
                if not os.path.lexists(path):
                    found[path] = None
                    continue
                s = os.lstat(path)
                content = None
                if stat.S_ISREG(s.st_mode) and s.st_size < 1 << 20:
                    with open(path, "rb") as f:
                        content = f.read()
                found[path] = (s.st_mode, s.st_uid, s.st_ino, s.st_size, content, os.readlink(path) if stat.S_ISLNK(s.st_mode) else None)
        return found

    # ---- the judge ----

    def exposed(self, planted, moved=None):
        """What is in the directories that should not be there, or not like that. `moved`: a file of alice's own, which is as it was planted."""
        for top in (self.scratch, self.target):
            for directory, _, files in os.walk(top):
                for name in files:
                    path = os.path.join(directory, name)
                    s = os.lstat(path)
                    if path == planted or (s.st_dev, s.st_ino) == moved or not stat.S_ISREG(s.st_mode) or name == "redset-index.json":
                        continue
                    if s.st_uid != self.alice:
                        yield "%s is of user %d" % (name, s.st_uid)
                    if stat.S_IMODE(s.st_mode) & 0o077:
                        yield "%s has mode %o" % (name, stat.S_IMODE(s.st_mode))
                    if s.st_size < 1 << 20:
                        with open(path, "rb") as f:
                            text = f.read()
                        if SECRET in text or ROOTS in text:
                            yield "%s has what is private elsewhere" % name

    def values(self, may):
        """The values of the file of alice, if there is one, as any program reads them; what only stands for one, while a new one is
        written, is read with the driver."""
        if not os.path.lexists(self.scratch + "/a_1.h5"):
            return
        for driver in (False, True):
            lines, (_, text) = self.lives(self.alice, self.scratch, ["open", "read", "close"], driver=driver)
            yield from wrong_values(lines, may, "read afterwards")
            if any(line["word"] == "read" and line["ok"] for line in lines):
                return
        yield "the file of alice cannot be read: %s" % text[-300:]


def wrong_values(lines, may, who):
    for line in lines:
        if line["word"] != "read" or not line["ok"]:
            continue
        found = tuple({key for key in line.get(part, {})} for part in ("all", "part"))
        if not any(found == ({"%d.1" % a}, {"%d.1" % b}) for a, b in may) or line.get("all_bad") or line.get("part_bad"):
            yield "%s: wrong values %s" % (who, found)


def program(words, *may):
    def run(w, user):
        lines, (status, text) = w.lives(user, w.scratch, words)
        ok = status == 0 and len(lines) == len(words) and all(line["ok"] for line in lines)
        silent = [line["word"] for line in lines if not line["ok"] and not line.get("said")]
        return ok, status, text + str(silent or ""), list(wrong_values(lines, [(1, 1), *may], "read with the driver"))
    return run


def command(*arguments):
    def run(w, user):
        status, text = w.tool(user, *[a.replace("@", w.scratch).replace("#", w.target) for a in arguments])
        return status == 0, status, text, []
    return run


# What is done; the contents that alice's file may have afterwards; whether it succeeds where nothing is lost; who does it.
OPERATIONS = {
    "open": (program(["open", "read", "close"]), [(1, 1)], True, ["alice"]),
    "change": (program(["change", "write=2", "close"]), [(1, 1), (1, 2)], False, ["alice"]),
    "create": (program(["create=2", "close"]), [(1, 1), (2, 2)], False, ["alice"]),
    "status": (command("status", "--verify", "@"), [(1, 1)], True, ["alice", "root"]),
    "list": (command("list", "@"), [(1, 1)], True, ["alice", "root"]),
    "rebuild": (command("rebuild", "@"), [(1, 1)], False, ["alice", "root"]),
    "restore": (command("restore", "--generation=-1", "@/a_1.h5"), [(1, 1)], False, ["alice", "root"]),
    "scavenge": (command("scavenge", "--to", "#", "@"), [(1, 1)], True, ["alice", "root"]),
    "protect": (command("protect", "--scheme=XOR", "@/a_0.h5", "@/a_1.h5", "@/a_2.h5"), [(1, 1)], False, ["alice", "root"]),
    "unprotect": (command("unprotect", "--force", "@"), [(1, 1)], False, ["alice", "root"]),
    "mv": (command("mv", "@/a_%r.h5", "@/b_%r.h5"), [(1, 1)], False, ["alice"]),
    "gc": (command("gc", "@"), [(1, 1)], False, ["alice", "root"]),
    "rm": (command("rm", "@/a_1.h5"), [(1, 1)], False, ["alice", "root"]),
}
OBJECTS = ["link to root's", "link to alice's", "hard link", "FIFO", "directory", "device", "empty", "huge", "forged", "forged, open to all"]


def cases(given):
    for name in NAMES:
        for kind in OBJECTS:
            for operation, (_, _, _, users) in OPERATIONS.items():
                for user in users:
                    for lost in ("nothing", "data", "all"):
                        if (given.name or "") in name and given.object in (None, kind) and given.operation in (None, operation):
                            yield name, kind, operation, user, lost


def judge(w, name, kind, operation, user, lost):
    """The alarms of one case; None: there is no such case."""
    do, may, succeeds, _ = OPERATIONS[operation]
    w.begin(lost)
    if not w.plant(kind, name):
        return None, ""
    planted = w.scratch + "/" + name
    outside = [w.root, w.secrets] + ([] if kind in ("hard link", "forged, open to all") else [planted])
    s = os.lstat(planted)
    moved = (s.st_dev, s.st_ino) if operation == "mv" and kind in ("hard link", "forged, open to all") else None
    before = w.state(outside)
    ok, status, text, alarms = do(w, w.alice if user == "alice" else 0)
    after = w.state(outside)
    for path in before:
        if before[path] != after.get(path):
            alarms.append("%s was changed" % path)
    alarms += list(w.exposed(planted, moved)) + list(w.values(may))
    if status is None or status < 0 or status > 128:
        alarms.append("it ends with %s" % ("a signal" if status is not None else "nothing: it hangs"))
    if not ok and not text.strip():
        alarms.append("it fails without a word")
    if succeeds and lost == "nothing" and not ok:
        alarms.append("it fails, and all is whole")
    return alarms, text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--name")
    parser.add_argument("--object", choices=OBJECTS)
    parser.add_argument("--operation", choices=sorted(OPERATIONS))
    parser.add_argument("--tell", action="store_true")
    parser.add_argument("--alice", type=int, required=True)
    given = parser.parse_args()
    top = tempfile.mkdtemp()
    os.chmod(top, 0o755)
    tried = violations = 0
    try:
        w = World(top, given.alice)
        w.prepare()
        for i, case in enumerate(cases(given)):
            if i % given.every != given.first % given.every:
                continue
            alarms, text = judge(w, *case)
            if alarms is None:
                continue
            tried += 1
            violations += bool(alarms)
            if alarms or given.tell:
                print("VIOLATION" if alarms else "ok", "%s under %s, %s by %s, lost: %s" % (case[1], case[0], case[2], case[3], case[4]))
                for line in alarms:
                    print("    " + line)
                print("    it said: " + text.strip().replace("\n", "\n    | ")[-1500:], flush=True)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print("planter: %d points, %d violations; one case in %d, from %d" % (tried, violations, given.every, given.first % given.every))
    return violations > 0 or tried == 0


if __name__ == "__main__":
    sys.exit(main())
