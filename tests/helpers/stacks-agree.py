#!/usr/bin/env python3
"""Compares the stacks that symfs prints of a core file with those of gdb and eu-stack (tests/check-stacks.sh).

In gdb: `source stacks-agree.py` prints the frames of all threads. Otherwise the arguments are the JSON of symfs, the
output of gdb and that of eu-stack; the output is "frames N" and a line "CLASS: ORACLE: ours | theirs" for each
difference. A class without an explanation begins with "unexplained"."""
# SPDX-License-Identifier: LGPL-2.1-or-later
import json
import os
import re
import sys

MOST = 20000


def in_gdb():
    import gdb
    kinds = {gdb.INLINE_FRAME: "inline", gdb.SIGTRAMP_FRAME: "signal", gdb.TAILCALL_FRAME: "tail"}
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        frame, n = gdb.newest_frame(), 0
        while frame is not None and n < MOST:
            sal, kind = frame.find_sal(), kinds.get(frame.type(), "normal")
            name = frame.name() or ""
            file = sal.symtab.filename if sal.symtab else ""
            print("FRAME\t%d\t%x\t%s\t%s\t%s\t%d" % (thread.ptid[1], frame.pc(), kind, name, file, sal.line))
            n += 1
            try:
                frame = frame.older()
            except gdb.MemoryError:
                frame = None


class Frame:
    def __init__(self, pc, name, file, line, inline=False, kind="normal"):
        self.pc, self.name, self.file, self.line = pc, name or "", os.path.basename(file or ""), line or 0
        self.inline, self.kind = inline, kind

    def __str__(self):
        return "%x %s%s %s:%d" % (self.pc, self.name, " (inlined)" if self.inline else "", self.file, self.line)


def read_gdb(path):
    threads = {}
    for row in open(path, errors="replace"):
        if row.startswith("FRAME\t"):
            _, tid, pc, kind, name, file, line = row.rstrip("\n").split("\t")
            frame = Frame(int(pc, 16), name, file, int(line), kind == "inline", kind)
            threads.setdefault(int(tid), []).append(frame)
    return threads


def read_eu(path):
    threads, tid = {}, None
    for row in open(path, errors="replace"):
        if row.startswith("TID "):
            tid = int(row[4:].rstrip(":\n"))
            threads[tid] = []
            continue
        at = re.match(r"#\d+ +0x([0-9a-f]+)(?: (.*))?$", row.rstrip())
        if at and tid is not None:
            threads[tid].append(Frame(int(at.group(1), 16), at.group(2), "", 0))
            continue
        place = re.match(r"    (.+?):(\d+)(?::\d+)?$", row.rstrip("\n"))
        if place and tid is not None and threads[tid]:
            last = threads[tid][-1]
            last.file, last.line = os.path.basename(place.group(1)), int(place.group(2))
    for frames in threads.values():
        for this, below in zip(frames, frames[1:]):
            this.inline = this.pc == below.pc  # recursion at one address has another place
    return threads


def read_symfs(path):
    doc = json.load(open(path))
    threads = {}
    for thread, stack in zip(doc["threads"], doc["answer"]["results"][0]["stacks"]):
        out = threads.setdefault(thread["id"], [])
        for frame, named in zip(thread["frames"], stack):
            pc = int(frame["address"], 16)
            for call in named.get("inlines", []):
                out.append(Frame(pc, call.get("function"), call.get("file"), call.get("line"), True))
            out.append(Frame(pc, named.get("function"), named.get("file"), named.get("line")))
    return threads


def bare(name):
    """The name of a function without parameters, template arguments, versions and marks of clones."""
    name = re.sub(r"@.*", "", name)
    name = re.sub(r"\.(cold|part|isra|constprop|localalias|llvm|lto_priv|abi0)(\.\d+)*", "", name)
    name = re.sub(r" \[clone [^]]*\]", "", name)
    name = re.sub(r"(\.llvm\.\d+)?$", "", name)
    name = re.sub(r"(::|17)h[0-9a-f]{16}E?$", "", name)  # Rust's hash
    name = name.replace("_$u7b$$u7b$closure$u7d$$u7d$", "{closure}")
    name = re.sub(r"\{+closure(_env)?(#\d+)?\}+", "{closure}", name)
    name = name.replace("(anonymous namespace)", "{anonymous}")
    name = re.sub(r"\[abi:\w+\]", "", name)
    name = re.sub(r"\boperator(<<|>>|<=>|->|[<>])", "operator", name)
    while True:
        less = re.sub(r"<[^<>]*>", "", name)
        if less == name:
            break
        name = less
    name = re.sub(r"::$", "", name)  # Rust's f::<T>
    if name.endswith("{closure}"):
        return "{closure}"
    depth, out = 0, ""
    for c in name:
        depth += c == "("
        if not depth:
            out += c
        depth -= c == ")"
    out = re.sub(r"( const| volatile|\[.*\])+$", "", out.strip())
    return out.split(" ")[-1].split("::")[-1]


def plain(name):
    """libc has several names for a function: raise, __raise, __GI_raise."""
    return re.sub(r"^_*(GI_|libc_|IO_)?_*", "", re.sub(r"_impl$|_implementation$", "", name))


def judge(ours, theirs):
    """The class of a difference; None: the frames are equal."""
    a, b = bare(ours.name), bare(theirs.name)
    if a != b and plain(a) != plain(b):
        if not theirs.name:
            return "the oracle has no name"
        if theirs.kind == "signal" or theirs.name == "__restore_rt":
            return "the trampoline of signals has no symbol of a function"
        if not ours.name:
            return "unexplained: no name"
        if not theirs.file or not ours.file:
            return "another symbol of the same function"
        return "unexplained: name"
    if (ours.file, ours.line) != (theirs.file, theirs.line):
        if not theirs.file:
            return "the oracle has no line"
        if ours.file == theirs.file and not theirs.line or not ours.line:
            return "line 0: code of no line" if ours.file else "unexplained: no line"
        return "unexplained: line"
    return "unexplained: inline" if ours.inline != theirs.inline else None


def groups(frames):
    """The frames of one address: the inlined calls, and at the end the function."""
    out, now = [], []
    for frame in frames:
        now.append(frame)
        if not frame.inline:
            out.append(now)
            now = []
    return out


class Comparison:
    """The frames of one thread against those of one oracle."""

    def __init__(self, oracle, ours, theirs):
        self.oracle, self.found = oracle, {}  # the place in our frames: class, text
        self.seen = 0  # our frames before this place were compared
        theirs = [f for f in theirs if f.kind != "tail"]
        for group in groups(ours):
            same = 0
            while same < min(len(group), len(theirs)) and theirs[same].pc == group[0].pc:
                same += 1
            if not same:
                if group[-1].pc or theirs:  # a last frame at 0 stands for the end
                    self.note("unexplained: address" if theirs else "unexplained: more frames", group[0], theirs[:1])
                return
            theirs[same - 1].inline = group[same - 1].inline
            for k in range(same):
                what = judge(group[k], theirs[k])
                if what:
                    self.note(what, group[k], theirs[k:k + 1])
                self.seen += 1
            if same < len(group):
                unread = all(not f.line for f in theirs[:same])
                self.note("%s reads neither lines nor inlined calls of the unit" % oracle if unread
                          else "unexplained: inlined calls", group[same], theirs[same:same + 1])
            self.seen += len(group) - same
            theirs = theirs[same:]
        if any(f.pc for f in theirs):
            self.note("unexplained: fewer frames", "", theirs[:1])
        self.seen += 1

    def note(self, what, mine, other):
        self.found.setdefault(self.seen, (what, "%s | %s" % (mine, "".join(map(str, other)))))


def main():
    ours, found = read_symfs(sys.argv[1]), []
    oracles = (("gdb", read_gdb(sys.argv[2])), ("eu-stack", read_eu(sys.argv[3])))
    frames = 0
    for oracle, theirs in oracles:
        if set(ours) != set(theirs):
            found.append("unexplained: threads: %s: %s | %s" % (oracle, sorted(ours), sorted(theirs)))
    for tid in sorted(ours):
        results = [Comparison(oracle, ours[tid], theirs.get(tid, [])) for oracle, theirs in oracles]
        frames += len(ours[tid])
        for one, other in (results, results[::-1]):
            for place, (what, text) in sorted(one.found.items()):
                if what.startswith("unexplained") and place < other.seen and place not in other.found:
                    what = "%s differs from symfs and %s, which agree" % (one.oracle, other.oracle)
                elif what == "the oracle has no line":  # the other one must have the line of symfs
                    agreed = place < other.seen and place not in other.found
                    what = "%s has no line, and %s that of symfs" % (one.oracle, other.oracle) if agreed \
                        else "unexplained: no oracle has the line"
                found.append("%s: %s: %s" % (what, one.oracle, text))
    print("frames %d" % frames)
    print("\n".join(found))


if __name__ == "__main__":
    try:
        import gdb  # noqa: F401
    except ImportError:
        main()
    else:
        in_gdb()
