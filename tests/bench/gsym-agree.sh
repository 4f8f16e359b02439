#!/bin/sh
# Compares the answers of GSYM with those of other tools, at random addresses of a program's code.
# There are 10,000 addresses, or AGREE_ADDRESSES; AGREE_SEED chooses others. Each address is looked
# up in the GSYM that is made from the debug file, and in the debug file itself by addr2line. Where
# the two differ, llvm-symbolizer and eu-addr2line are asked, too. Each difference is put into a
# class: which tool agrees with symfs, and what differs from addr2line. The output is each class
# with its count and one example, the share of answers that equal addr2line's, and the share that
# equal those of at least one tool. AGREE_LIST=FILE gets all differences.
#
#   tests/bench/gsym-agree.sh DEBUGFILE...      (top_builddir says where symfs is)
#
# An answer is equal when the names, files and lines of all its frames are those of one tool. It is
# also equal when each name and each place is that of some tool that has as many frames. The reason:
# addr2line 2.40 doubles directories and files of DWARF 5, and llvm-symbolizer names the outermost
# function after a symbol. Names are compared as they are in the file, not demangled. Names that
# differ only in their scope (`ns::f`, `f`) or in the compiler's suffix of a copy (`f.cold`) are the
# same. Discriminators are not compared. At padding, which belongs to no function, other tools
# answer with the line of the code before it; this does not count as an answer.
#
# The line table itself, row by row as `readelf --debug-dump=decodedline` prints it, is the judge of
# files and lines. The output says for each class at how many of its addresses symfs has the file
# and line of the row, and at how many addr2line has. (readelf does not print directories there: see
# dir_index in `llvm-dwarfdump --debug-line`. In DWARF 5, entry 0 is the directory of the
# compilation itself, so a path relative to it must not get that directory twice.) Rows that are not
# statements (flag is_stmt) count, too. An instruction belongs to the line of its row, wherever a
# debugger would stop. The three tools and LLVM's GSYM use these rows; gdb's `info line` answers
# with the statement before.
#
# AGREE_GSYM names a GSYM file to use instead of the one that symfs makes. With
# AGREE_THROUGH=symbolicate the answers are those of `symfs symbolicate` to one request with all
# addresses. The request has only the build id of the module, and the source is a directory without
# Breakpad files.
#
# Fails when less than AGREE_WANTED per cent (99.5) of the answers equal those of at least one tool.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need awk addr2line readelf
# make bench, which names no files.
[ $# -gt 0 ] || eval "set -- ${BENCH_GSYM:-$(find /usr/lib/debug/.build-id -name '*.debug' -size +2000k 2>/dev/null |
  sort | head -n 1)}"
[ $# -gt 0 ] && [ -n "$1" ] || skip "of which debug files? see the head of this file"
count=${AGREE_ADDRESSES:-10000} seed=${AGREE_SEED:-6} wanted=${AGREE_WANTED:-99.5}
LLVM=
for tool in llvm-symbolizer llvm-symbolizer-14 llvm-symbolizer-19 llvm-symbolizer-22; do
  command -v $tool >/dev/null && LLVM=$tool
done

# Sections with instructions, but not those that a linker makes: `high low size`, in 32-bit halves.
text_of() {
  readelf -SW "$1" 2>/dev/null | awk '
    { sub(/^ *\[ *[0-9]+\] */, "") }
    $1 ~ /^[.]plt/ || $1 ~ /^[.](init|fini)$/ { next }
    $2 ~ /BITS$/ && $7 ~ /X/ && $7 ~ /A/ { print substr($3, 1, 8), substr($3, 9), $5 }'
}

# Numbers of 64 bits are too long for awk: an address is kept in halves.
random_addresses() { # COUNT SEED
  awk -v count="$1" -v seed="$2" '
    function value(s, n, i) {
      n = 0;
      for (i = 1; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1;
      return n
    }
    { high[NR] = value($1); low[NR] = value($2); size[NR] = value($3); all += size[NR] }
    END {
      srand(seed)
      for (i = 0; i < count; i++) {
        at = int(rand() * all)
        for (k = 1; k < NR && at >= size[k]; k++) at -= size[k]
        h = high[k]; l = low[k] + at
        if (l >= 4294967296) { l -= 4294967296; h++ }
        if (h) printf "0x%x%08x\n", h, l; else printf "0x%x\n", l
      } }'
}

# What the tools print, as symfs does: `name@file:line < ...`; eu-addr2line has a column, too.
as_line() {
  sed 's/ (discriminator [0-9]*)$//; s/^ (inlined by) //; s/ inlined at .*//' | awk '
    function end() { if (at) print at "\t" (line ~ /^@/ && line !~ / < / ? "-" : line) }
    /^0x[0-9a-f]+$/ { end(); at = $0; sub(/^0x0+/, "0x", at); line = ""; next }
    {
      name = $0; getline place
      if (place ~ /:[0-9]+:[0-9]+$/) sub(/:[0-9]+$/, "", place)
      file = place; sub(/:[0-9?]+$/, "", file)
      row = substr(place, length(file) + 2)
      if (name == "??") name = ""
      if (file == "??") file = ""
      if (row == "?") row = 0
      line = line (line == "" ? "" : " < ") name "@" file ":" (row == "" ? 0 : row)
    }
    END { end() }'
}

ours() {
  case ${AGREE_THROUGH:-} in
  symbolicate) through_symbolicate "$1" "$2" ;;
  *) "$SYMFS" gsym lookup --stdin "$gsym" <"$1" ;;
  esac
}

# Where the first segment that is loaded begins: offsets of frames count from there.
image_base() { readelf -lW "$1" 2>/dev/null |
  awk '$1 == "LOAD" { sub(/^0x0*/, "0x", $3); print $3 == "0x" ? "0x0" : $3; exit }'; }

through_symbolicate() { # ADDRESSES FILE
  rm -rf "$TMP/tree" "$TMP/agree-store"
  put_gdb "$TMP/tree" "$2" .debug
  ts_base=$(image_base "$2")
  {
    printf '{"memoryMap": [{"type": "elf", "debug_file": "module", "code_id": "%s"}], "stacks": [[' "$(build_id "$2")"
    while read -r address; do
      printf '%s[0, %u]' "$comma" $((address - ts_base))
      comma=,
    done <"$1"
    printf ']]}'
  } >"$TMP/request.json"
  "$SYMFS" symbolicate --no-default-sources --cache "$TMP/agree-store" --source "gdb@$TMP/tree" "$TMP/request.json" \
    >"$TMP/answer.json" 2>"$TMP/symbolicate.log" || fail "symbolicate: $(cat "$TMP/answer.json")"
  sed 's/{"frame": /\n&/g; s/\]\], "found_modules".*//' "$TMP/answer.json" | sed 1d | frames_as_lines >"$TMP/frames"
  paste "$1" "$TMP/frames"
}

# A frame of JSON a line -> `name@file:line < ...`, innermost first; - for none.
frames_as_lines() {
  awk '
    # The value of a member that is a text, as far as it needs no escapes.
    function text(s, key, at, v) {
      at = index(s, "\"" key "\": \"")
      if (!at) return ""
      v = substr(s, at + length(key) + 5)
      match(v, /^([^"\\]|\\.)*/)
      v = substr(v, 1, RLENGTH)
      gsub(/\\\\/, "\\", v)
      gsub(/\\"/, "\"", v)
      return v
    }
    function number(s, key, at, v) {
      at = index(s, "\"" key "\": ")
      return at ? substr(s, at + length(key) + 4) + 0 : 0
    }
    function place(s) { return text(s, "function") "@" text(s, "file") ":" number(s, "line") }
    {
      own = $0
      inlines = ""
      at = index(own, ", \"inlines\": [")
      if (at) {
        inlines = substr(own, at + 13)
        own = substr(own, 1, at - 1)
      }
      if (!index(own, "\"function\": ")) { print "-"; next }
      line = ""
      n = split(inlines, part, /\}, \{/)
      for (i = 1; i <= n; i++) if (index(part[i], "\"function\": ")) line = line place(part[i]) " < "
      print line place(own)
    }'
}
gnu() { addr2line -ifa -e "$2" <"$1" 2>/dev/null | as_line; }
llvm() {
  if [ -n "$LLVM" ]; then
    $LLVM --obj="$2" --output-style=GNU --functions=linkage --inlines --addresses --no-demangle <"$1" 2>/dev/null |
      as_line
  else
    sed 's/$/\tnot here/' "$1"
  fi
}
elfutils() {
  if command -v eu-addr2line >/dev/null; then
    eu-addr2line -a -i -f -A -e "$2" <"$1" 2>/dev/null | as_line
  else
    sed 's/$/\tnot here/' "$1"
  fi
}

# Lines `address ours addr2line llvm-symbolizer eu-addr2line` of what differs from addr2line -> the same
# with a class in front, and before that whether it is equal to one of them.
classify() {
  awk -F '\t' '
    function name_of(s) { sub(/@[^@]*$/, "", s); return s }
    function place_of(s) { return substr(s, length(name_of(s)) + 2) }
    function plain(s) { sub(/[.](cold|part|isra|constprop)([.].*)?$/, "", s); return s }
    function same_name(a, b, n) {
      if (a == b) return 1
      a = plain(a); b = plain(b)
      n = length(a) - length(b)
      return a == b || (n > 2 && b != "" && substr(a, n + 1) == b && substr(a, n - 1, 2) == "::")
    }
    # Whether each part of `a` is in one of the others; what_is tells what is not.
    function in_parts(a, n, i, k, f, o, m, names, places) {
      n = split(a, f, " < ")
      what_is = "the number of frames"
      for (k = 3; k <= 5; k++) {
        if ($k == "-" || split($k, o, " < ") != n) continue
        what_is = ""
        for (i = 1; i <= n; i++) {
          if (same_name(name_of(f[i]), name_of(o[i]))) names[i] = 1
          if (place_of(f[i]) == place_of(o[i])) places[i] = 1
        }
      }
      if (what_is) return 0
      for (i = 1; i <= n; i++) {
        if (!names[i]) what_is = "a name"
        else if (!places[i] && what_is == "") what_is = f[i] ~ /:0$/ ? "no line here" : "a place"
      }
      return what_is == ""
    }
    # What differs from one other answer.
    function differs(a, b, n, i, f, o, what) {
      if (a == "-") return b ~ /@:0$/ ? "no function, and there the symbol before it" : "no function"
      if (b == "-") return "an answer where there is none"
      n = split(a, f, " < ")
      if (split(b, o, " < ") != n) return "the number of frames"
      what = "what a name is in"
      for (i = 1; i <= n; i++) {
        pa = place_of(f[i]); pb = place_of(o[i]); fa = pa; fb = pb
        sub(/.*\//, "", pa); sub(/.*\//, "", pb); sub(/:[0-9]*$/, "", fa); sub(/:[0-9]*$/, "", fb)
        if (!same_name(name_of(f[i]), name_of(o[i]))) return pa == pb ? "a name" : "a function"
        if (pa == pb && fa != fb && what == "what a name is in") what = "the directory"
        if (pa == pb) continue
        sub(/.*\//, "", fa); sub(/.*\//, "", fb)
        what = fa == fb ? "a line" : "a file"
      }
      return what
    }
    {
      who = ""
      if ($2 == $4) who = "as llvm-symbolizer"
      if ($2 == $5) who = who (who ? " and" : "as") " eu-addr2line"
      if (who == "" && $2 != "-" && in_parts($2)) who = "each part as one of them"
      if (who) print "equal\t" who "; addr2line has another: " differs($2, $3) "\t" $0
      else print "not\tlike none: " ($2 == "-" || $3 == "-" ? differs($2, $3) : what_is) "\t" $0
    }'
}

# The row of the line table that each address belongs to: `address<tab>file:line`, - for none.
raw_rows() { # ADDRESSES FILE
  {
    readelf -W --debug-dump=decodedline "$2" 2>/dev/null | awk '
      {
        k = 0
        for (i = NF; i > 1; i--) if ($i ~ /^0x[0-9a-f]+$/) { k = i; break }
        if (!k || $(k - 1) !~ /^([0-9]+|-)$/) next
        name = $1
        sub(/.*\//, "", name)
        printf "%16s\t%d\t%09d\t%s:%s\n", substr($k, 3), $(k - 1) != "-", NR, name, $(k - 1)
      }'
    awk '{ printf "%16s\t2\t0\t%s\n", substr($1, 3), $1 }' "$1"
  } | tr ' ' 0 | LC_ALL=C sort -t "$(printf '\t')" -k1,1 -k2,2 -k3,3 | awk -F '\t' '
    $2 == 0 { row = "-"; next }
    $2 == 1 { row = $4; next }
    { print $4 "\t" (row == "" ? "-" : row) }'
}

missed=0
for file in "$@"; do
  name=$(basename "$(readlink -f "$file")")
  gsym=${AGREE_GSYM:-$TMP/a.gsym}
  [ -n "${AGREE_GSYM:-}" ] || "$SYMFS" gsym create -o "$gsym" "$file" 2>"$TMP/run.log" || fail "create $file"
  text_of "$file" | random_addresses "$count" "$seed" >"$TMP/addresses"
  [ "$(sort -u "$TMP/addresses" | wc -l)" -gt $((count * 3 / 4)) ] || fail "$name: no addresses of code"
  ours "$TMP/addresses" "$file" >"$TMP/ours"
  gnu "$TMP/addresses" "$file" >"$TMP/gnu"
  [ "$(cut -f 1 "$TMP/ours" | cksum)" = "$(cut -f 1 "$TMP/gnu" | cksum)" ] ||
    fail "$name: the answers are not of the same addresses"
  cut -f 2- "$TMP/gnu" | paste "$TMP/ours" - | awk -F '\t' '$2 != $3' | sort -u >"$TMP/pairs"
  cut -f 1 "$TMP/pairs" >"$TMP/asked"
  llvm "$TMP/asked" "$file" | cut -f 2- >"$TMP/llvm"
  elfutils "$TMP/asked" "$file" | cut -f 2- >"$TMP/elfutils"
  paste "$TMP/pairs" "$TMP/llvm" "$TMP/elfutils" | classify | sort >"$TMP/classes"
  [ "$(wc -l <"$TMP/classes")" -eq "$(wc -l <"$TMP/pairs")" ] || fail "$name: not every difference has a class"
  [ -z "${AGREE_LIST:-}" ] || cp "$TMP/classes" "$AGREE_LIST"
  answered=$(awk -F '\t' '$2 != "-"' "$TMP/ours" | wc -l)
  # An address may have been drawn twice: each counts.
  awk -F '\t' -v name="$name" -v all="$count" -v answered="$answered" -v wanted="$wanted" '
    FILENAME == ARGV[1] { how[$3] = $1; next }
    { n++; if (!($1 in how)) same++; else if (how[$1] == "equal") one++ }
    END {
      printf "%s: %d addresses, %d in functions; as addr2line %d (%.2f %%), as one of the tools " \
        "%d (%.2f %%, wanted %s)\n",
        name, n, answered, same, 100 * same / n, same + one, 100 * (same + one) / n, wanted
      exit n != all || !same || 100 * (same + one) / n < wanted
    }' "$TMP/classes" "$TMP/ours" || missed=$((missed + 1))
  raw_rows "$TMP/asked" "$file" >"$TMP/raw"
  awk -F '\t' '
    # The innermost frame as the print of the table has it.
    function row_of(s) { sub(/ < .*/, "", s); sub(/^[^@]*@/, "", s); sub(/.*\//, "", s); return s }
    FILENAME == ARGV[1] { raw[$1] = $2; next }
    { as_us[$2] += row_of($4) == raw[$3]; as_them[$2] += row_of($5) == raw[$3] }
    { n[$2]++; if (!($2 in first)) { order[++k] = $2
        first[$2] = $3 "\n      symfs      " $4 "\n      addr2line  " $5 "\n      llvm       " $6 \
          "\n      elfutils   " $7 } }
    END {
      for (i = 1; i <= k; i++) {
        c = order[i]
        printf "%7d  %s; the row of the table is symfs\047s at %d, addr2line\047s at %d; as at %s\n",
          n[c], c, as_us[c], as_them[c], first[c]
      }
    }' "$TMP/raw" "$TMP/classes"
done
[ $missed = 0 ] || [ "${BENCH_BOUNDS:-}" = no ] || fail "$missed files below what is wanted"
