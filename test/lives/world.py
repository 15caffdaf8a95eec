"""What a life happens in: a directory, the programs that run there, what they say, and what is done to the files.

A World has one family of files, NAME with # for the rank, which RANKS ranks write together. It starts programs (lives.h), waits
for them with a watchdog, and keeps the story: what was done, in words, for whoever has to explain an alarm."""
import glob
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

RANKS = 4
WATCHDOG = 300  # seconds until something counts as hanging; nothing else depends on it
COVERS = {"XOR": 1, "PARTNER replicas=1": 1, "RS checksums=2": 2}  # ranks that may lose all they have


def can_mount():
    """The command that gives a mount namespace, or None; then there are no file systems of our own."""
    for command in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        try:
            if subprocess.run(command + ["mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0:
                return command
        except OSError:
            return None
    return None


class Run:
    """A program that was started: `said` is the file with what it printed."""

    def __init__(self, who, process, said, dies):
        self.who, self.process, self.said, self.dies = who, process, said, dies

    def text(self):
        with open(self.said, errors="replace") as f:
            return f.read()


class World:
    def __init__(self, seed, mounts):
        self.seed, self.mounts = seed, mounts
        self.draw = random.Random(seed)
        self.dir = tempfile.mkdtemp(prefix="lives.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.mounted = mounts and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256m,nr_inodes=20000", "none", self.dir]).returncode == 0
        self.data, self.signs = self.dir + "/data", self.dir + "/signs"
        self.outside = tempfile.mkdtemp(prefix="lives.")  # where no inode is missing
        for d in (self.data, self.signs, self.dir + "/nodes", self.dir + "/ranks"):
            os.mkdir(d)
        self.log = self.outside + "/log"
        open(self.log, "w").close()
        self.bin = os.environ["REDSET_BUILD_DIR"]
        self.scheme = self.draw.choice(list(COVERS))
        self.verify = self.draw.choice(["open", "open", "all", "read"])
        self.keep = self.draw.choice([1, 2])
        self.locks = self.draw.random() < 0.6
        self.values = self.draw.choice([300, 20000, 60000])
        self.name = "ckpt.#.h5"
        self.nodes = False  # each rank has a node of its own (on_nodes)
        self.more = {}      # settings of all programs
        self.story, self.runs, self.alarms, self.left_out = [], [], [], []
        self.seen = 0  # lines of the log that were taken up
        self.started = 0

    def close(self):
        for run in self.runs:
            if run.process.poll() is None:
                self.end(run)
        if self.mounted:
            for place in [self.place(rank) for rank in range(RANKS) if self.nodes] + [self.dir]:
                subprocess.run(["umount", "-l", place])
        shutil.rmtree(self.dir, ignore_errors=True)
        shutil.rmtree(self.outside, ignore_errors=True)

    # ---- the story ----

    def tell(self, text):
        self.story.append(text)

    def alarm(self, text):
        self.alarms.append(text)
        self.tell("ALARM: " + text)

    # ---- programs ----

    def settings(self, **other):
        given = {"verify": self.verify, "keep": self.keep, "required": "yes", "timeout": 60}
        given.update(self.more)
        given.update(other)
        return "scheme=%s %s" % (self.scheme, " ".join("%s=%s" % item for item in given.items()))

    def environment(self, who, settings, locks, more):
        env = dict(os.environ)
        env.update(HDF5_DRIVER="redset", HDF5_DRIVER_CONFIG=settings, LIVES_LOG=self.log, LIVES_SIGNS=self.signs,
                   LIVES_WHO=who, HDF5_USE_FILE_LOCKING="TRUE" if locks else "FALSE")
        env.update(more)
        return env

    def start(self, who, command, env, dies=False):
        self.started += 1
        said = "%s/said.%d" % (self.outside, self.started)
        with open(said, "w") as out:
            process = subprocess.Popen(command, env=env, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=self.data,
                                       start_new_session=True)
        run = Run(who, process, said, dies)
        self.runs.append(run)
        return run

    def job(self, who, words, ranks=RANKS, dies=False, settings=None, locks=None, wrapper=(), name=None, more=None):
        """Starts ranks of an MPI program that do the words. `more`: of their environment."""
        settings, locks = settings or self.settings(), self.locks if locks is None else locks
        jobs = "%s/mpi.%d" % (self.outside, self.started)  # Open MPI: jobs of one directory get in each other's way
        os.mkdir(jobs)
        env = self.environment(who, settings, locks, {"OMPI_MCA_orte_tmpdir_base": jobs, "PRTE_MCA_prte_tmpdir_base": jobs})
        env.update(more or {})
        said = [" ".join(wrapper)] * bool(wrapper) + ["%s=%s" % item for item in (more or {}).items()]
        self.tell("%s: %d ranks%s, %s%s: %s" % (who, ranks, " (" + ", ".join(said) + ")" if said else "", settings,
                                                "" if locks else ", no locks", " ".join(words)))
        if self.nodes:
            env.update(CLUSTER_DIR=self.dir, CLUSTER_LOCAL=self.data, CLUSTER_MODE="root", CLUSTER_RANKS_PER_NODE="1")
            wrapper = [os.environ["REDSET_SOURCE_DIR"] + "/test/cluster/node.sh", *wrapper]
        command = [os.environ.get("MPIEXEC", "mpirun"), "-n", str(ranks), *os.environ.get("LIVES_MPI_FLAGS", "").split()]
        return self.start(who, [*command, *wrapper, self.bin + "/test/vfd/lives", self.path(name), str(self.values), *words],
                          env, dies)

    def process(self, who, words, rank=0, settings=None, locks=None):
        """Starts a program without MPI."""
        settings, locks = settings or self.settings(), self.locks if locks is None else locks
        env = self.environment(who, settings, locks, {"LIVES_RANK": str(rank), "LD_PRELOAD": ""})
        self.tell("%s: process of rank %d, %s%s: %s" % (who, rank, settings, "" if locks else ", no locks", " ".join(words)))
        return self.start(who, [self.bin + "/test/vfd/serial_lives", self.path(), str(self.values), *words], env)

    def tool(self, *arguments, locks=None):
        """Runs h5redset to its end; its exit status."""
        env = self.environment("tool", "", self.locks if locks is None else locks, {"LD_PRELOAD": ""})
        run = self.start("tool", [self.bin + "/tools/h5redset", *arguments], env, dies=True)
        self.wait(run)
        said = run.text().strip().replace("\n", " | ")
        self.tell("h5redset %s: status %d: %s" % (" ".join(arguments), run.process.returncode, said[-600:]))
        if run.process.returncode < 0:
            self.alarm("h5redset %s ended by signal %d" % (arguments[0], -run.process.returncode))
        if run.process.returncode != 0 and not said:
            self.alarm("h5redset %s fails without a word" % arguments[0])
        return run.process.returncode

    def path(self, name=None):
        return "%s/%s" % (self.data, name or self.name)

    def sign(self, name):
        open("%s/%s" % (self.signs, name), "w").close()

    def await_sign(self, name, *runs):
        """False: a program ended before it said so, or the watchdog came."""
        until = time.monotonic() + WATCHDOG
        while not os.path.exists("%s/%s" % (self.signs, name)):
            if time.monotonic() > until or all(run.process.poll() is not None for run in runs):
                return False
            time.sleep(0.01)
        return True

    def wait(self, *runs):
        """To their end; what hangs is ended. Ends that nobody asked for are alarms."""
        until = time.monotonic() + WATCHDOG
        for run in runs:
            try:
                run.process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.alarm("%s hangs; it has said: %s" % (run.who, run.text()[-400:]))
                self.end(run)
                continue
            status = run.process.returncode
            if not run.dies and (status != 0 or "exited on signal" in run.text()):
                self.alarm("%s ends with status %d: %s" % (run.who, status, run.text()[-800:]))

    def end(self, run):
        """Ends its processes by their numbers: those that it said, and those of its session."""
        for line in self.lines():
            if line["who"].startswith(run.who + "."):
                self.signal(line["pid"], signal.SIGKILL)
        try:
            os.killpg(run.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        run.process.wait()

    def signal(self, pid, number):
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                ours = b"lives" in f.read()
            if ours:
                os.kill(pid, number)
        except OSError:
            pass

    # ---- what they said ----

    def lines(self):
        with open(self.log) as f:
            return [json.loads(line) for line in f if line.endswith("\n")]

    def news(self):
        """What was logged since it was last asked for."""
        lines = self.lines()
        new, self.seen = lines[self.seen:], len(lines)
        return new

    # ---- where files are ----

    def on_nodes(self, name):
        """From now on each rank has a node of its own, with a file system of its own, which has no files yet."""
        self.name, self.nodes = name, True
        for rank in range(RANKS):
            os.mkdir(self.place(rank))
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,nr_inodes=2000", "none", self.place(rank)], check=True)
        self.tell("from now on each rank has a node of its own")

    def place(self, rank):
        """Where the files of a rank are."""
        return "%s/nodes/node%d" % (self.dir, rank) if self.nodes else self.data

    # ---- what is done to files ----

    def files_of(self, rank, name=None):
        """The data file of a rank, and what protects it."""
        data = "%s/%s" % (self.place(rank), (name or self.name).replace("#", str(rank)))
        return data, sorted(glob.glob(glob.escape(data) + ".*"))

    def flip(self, path, low=4096):
        size = os.path.getsize(path)
        at = self.draw.randrange(min(low, size // 2), size)
        with open(path, "r+b") as f:
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 1 << self.draw.randrange(8)]))
        self.tell("a bit of byte %d of %s flips" % (at, os.path.basename(path)))

    def lose(self, rank, data=True, beside=True):
        path, others = self.files_of(rank)
        for p in ([path] if data else []) + (others if beside else []):
            if os.path.exists(p):
                os.remove(p)
        self.tell("rank %d loses %s" % (rank, " and ".join(["its file"] * data + ["what protects it"] * beside)))

    def room(self, inodes=None, blocks=None, rank=None):
        """So many inodes and blocks are left: on the file system of all ranks, or of the node of one. None: many."""
        at = self.dir if rank is None else self.place(rank)
        s = os.statvfs(at)
        many = ("nr_inodes=20000", "size=256m") if rank is None else ("nr_inodes=2000", "size=64m")
        n = many[0] if inodes is None else "nr_inodes=%d" % (s.f_files - s.f_ffree + inodes)
        size = many[1] if blocks is None else "size=%d" % ((s.f_blocks - s.f_bfree + blocks) * s.f_frsize)
        subprocess.run(["mount", "-o", "remount,%s,%s" % (n, size), at], check=True)
        self.tell("%s: room for %s files and %s blocks" % ("all ranks" if rank is None else "rank %d" % rank,
                                                          "many" if inodes is None else inodes, "many" if blocks is None else blocks))

    def shell(self, command):
        """What a user does in the directory of the files."""
        self.tell("user: " + command)
        env = {k: v for k, v in os.environ.items() if not k.startswith("HDF5_DRIVER")}
        done = subprocess.run(["sh", "-ec", command], cwd=self.data, env=env, capture_output=True, text=True)
        if done.returncode != 0:
            self.alarm("the user's command fails: %s%s" % (done.stdout, done.stderr))

    def sums(self, names=None):
        """Sums of the contents of these files, or of all, by name."""
        sums = {}
        for name in names or os.listdir(self.data):
            with open("%s/%s" % (self.data, name), "rb") as f:
                sums[name] = hashlib.sha256(f.read()).hexdigest()
        return sums

    def listing(self):
        places = [self.place(rank) for rank in range(RANKS)] if self.nodes else [self.data]
        return ["%s %d" % (f, os.path.getsize(p + "/" + f)) for p in places for f in sorted(os.listdir(p))]
