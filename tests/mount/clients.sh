# Shared code of the tests with real debuggers, on top of lib.sh: a stripped program and its
# library, with debug files only on servers, and functions that check the output of a debugger.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh

FAR=$TMP/far      # what the servers have: files/ for debuginfod, gdb/.build-id/ for nginx
NEAR=$TMP/near    # what the user has: bin/ with stripped programs (and src/ that they came from)

# far_put STRIPPED DEBUGFILE: both onto the servers.
far_put() {
  mkdir -p "$FAR/files"
  cp "$1" "$2" "$FAR/files" || fail "cp"
  put_gdb "$FAR/gdb" "$1"
  put_gdb "$FAR/gdb" "$2" .debug
}

# far_program: $NEAR/bin/{prog,libprog.so} without a symbol, and nothing else of them nearby. Its
# lines: lib deeper 3, prog_entry 4; prog work 2, main 4.
far_program() {
  make_program "$NEAR" prog
  PROG=$NEAR/bin/prog
  PROG_ID=$(build_id "$PROG") LIB_ID=$(build_id "$NEAR/bin/libprog.so")
  PROG_MAIN=0x$(nm "$NEAR/full/prog" | sed -n 's/ T main$//p')
  LIB_ENTRY=0x$(nm "$NEAR/full/libprog.so" | sed -n 's/ T prog_entry$//p')
  for fp in prog libprog.so; do
    far_put "$NEAR/bin/$fp" "$NEAR/debug/$fp.debug"
  done
  rm -r "$NEAR/full" "$NEAR/debug"
}

# far_core FILE: a core of the program, which three arguments make it dump. The kernel's own core
# may go anywhere, so gdb writes this one.
far_core() {
  command -v gdb >/dev/null || skip "gdb, which writes the core, is not installed"
  timeout 300 gdb -nx -batch -ex 'set debuginfod enabled off' -ex run -ex "generate-core-file $1" \
    --args "$PROG" a b >"$TMP/core.log" 2>&1
  [ -s "$1" ] || skip "gdb cannot run a program here: $(tail -n 1 "$TMP/core.log")"
}

# far_mounts [SERVER...]: the mounts `debuginfod`, `nginx`, `stored` (those that are named), and
# `empty`, which has no source at all. `stored` has none either: the files were added to its store.
far_mounts() {
  for fm in "$@"; do
    if [ "$fm" = nginx ]; then
      nginx_start http "$FAR/gdb"
      symfs_mount nginx --source "gdb@$URL_http"
    elif [ "$fm" = stored ]; then
      "$SYMFS" add -r --cache "$TMP/store-stored" "$FAR/files" >"$TMP/add.log" || fail "add: $(cat "$TMP/add.log")"
      symfs_mount stored --cache "$TMP/store-stored" --offline
    else
      debuginfod_start stock "$FAR/files"
      # A question that comes too early would be answered with a miss.
      for fm_file in "$FAR"/files/*.debug; do
        wait_for fetch_url -f -o /dev/null "$URL_stock/buildid/$(build_id "$fm_file")/debuginfo" ||
          fail "debuginfod did not find $fm_file"
        fm_id=$(build_id "${fm_file%.debug}")
        wait_for fetch_url -f -o /dev/null "$URL_stock/buildid/$fm_id/executable" ||
          fail "debuginfod did not find $fm_id"
      done
      symfs_mount debuginfod --source "debuginfod@$URL_stock"
    fi
  done
  symfs_mount empty
}

# expect WHAT TEXT REGEX..., refuse WHAT TEXT REGEX...: each matches a line of TEXT, or none does.
expect() {
  ex_what=$1 ex_text=$2
  shift 2
  for ex_re; do
    printf '%s\n' "$ex_text" | grep -qE -- "$ex_re" || fail "$ex_what: no line matches: $ex_re
$ex_text"
  done
}
refuse() {
  re_what=$1 re_text=$2
  shift 2
  for re_re; do
    printf '%s\n' "$re_text" | grep -qE -- "$re_re" && fail "$re_what: a line matches: $re_re
$re_text"
  done
  return 0
}

# first_of PROGRAM...: the first that is installed, in its versions from new to old.
first_of() {
  for fo in "$@"; do
    for fo_v in '' -22 -21 -20 -19 -18 -17 -16 -15 -14 -13; do
      command -v "$fo$fo_v" && return 0
    done
  done
  return 1
}

upper() { printf '%s' "$1" | tr '[:lower:]' '[:upper:]'; }
lower() { printf '%s' "$1" | tr '[:upper:]' '[:lower:]'; }
# Every other letter in upper case.
mixed() {
  printf '%s' "$1" | awk '{
    for (i = 1; i <= length($0); i++) {
      c = substr($0, i, 1)
      printf "%s", i % 2 ? toupper(c) : tolower(c)
    }
  }'
}

# tool NAME: a client that Debian does not have, as $TOOL; skips where scripts/setup could not fetch it.
tool() {
  TOOL=$TOOLS/bin/$1
  [ -x "$TOOL" ] || TOOL=$(command -v "$1") ||
    skip "$1 is neither in PATH nor in $TOOLS/bin: $(cat "$TOOLS/$1.failed" 2>/dev/null ||
    echo "scripts/setup clients fetches it")"
}

# path_in LAYOUT FILE: where the layout has the file, in its first spelling.
path_in() { "$SYMFS" paths --layout "$1" "$2" | head -n 1 | cut -f 3; }

# windows_library DIR NAME: DIR/NAME.dll and its DIR/NAME.pdb, from a source of their own: NAME_deeper
# in line 1, NAME in line 2.
windows_library() {
  { CLANG=$(first_of clang) && LLD_LINK=$(first_of lld-link); } || skip "clang and lld-link are not installed"
  mkdir -p "$1/obj"
  cat >"$1/obj/$2.c" <<EOF
static __attribute__((noinline)) int $2_deeper(int n) { return n * 3; }
__declspec(dllexport) int $2(int n) { return $2_deeper(n) + 1; }
EOF
  (cd "$1/obj" && "$CLANG" -target x86_64-pc-windows-msvc -g -gcodeview -O0 -c "$2.c" -o "$2.obj" &&
    "$LLD_LINK" /nologo /dll /debug /noentry /nodefaultlib "/pdb:../$2.pdb" "/out:../$2.dll" "$2.obj") \
    >"$TMP/lld-link.out" 2>&1 || fail "clang and lld-link: $(cat "$TMP/lld-link.out")"
}

# smbd_start NAME PATH [LINE...]: smbd on a port of its own, with etc/samba/symfs.conf, of which PATH
# and the lines replace what they name; all that it writes is in $TMP. Sets SMB_NAME, its port. It has
# a process group of its own, which it ends with itself.
smbd_start() {
  ss_name=$1 ss_path=$2
  shift 2
  ss_dir=$TMP/smbd-$ss_name
  for ss_sub in private lock state cache pid rpc log; do mkdir -p "$ss_dir/$ss_sub"; done
  [ "$(id -u)" = 0 ] && ss_guest=nobody || ss_guest=$(id -un)
  for _ in 1 2 3 4 5; do
    ss_port=$(free_port)
    cat >"$ss_dir/smb.conf" <<EOF
[global]
	server role = standalone server
	interfaces = 127.0.0.1
	bind interfaces only = yes
	smb ports = $ss_port
	disable netbios = yes
	disable spoolss = yes
	load printers = no
	printcap name = /dev/null
	map to guest = Bad User
	guest account = $ss_guest
	private dir = $ss_dir/private
	lock directory = $ss_dir/lock
	state directory = $ss_dir/state
	cache directory = $ss_dir/cache
	pid directory = $ss_dir/pid
	ncalrpc dir = $ss_dir/rpc
	log file = $ss_dir/log/%m
	include = $top_srcdir/etc/samba/symfs.conf
[symbols]
	path = $ss_path
EOF
    for ss_line; do printf '\t%s\n' "$ss_line"; done >>"$ss_dir/smb.conf"
    "$SMBD" -F -s "$ss_dir/smb.conf" >"$TMP/smbd-$ss_name.log" 2>&1 &
    ss_pid=$!
    PIDS="$PIDS $ss_pid"
    wait_for listens_or_gone "$ss_pid" "$ss_port"
    gone "$ss_pid" || break
  done
  wait_for smb_answers "$ss_port" || fail "smbd did not start: $(cat "$ss_dir"/log/* 2>/dev/null | tail -n 5)"
  eval "SMB_$ss_name=\$ss_port"
}
smb_answers() { smbclient -s /dev/null -t 300 -p "$1" -N //127.0.0.1/symbols -c 'cd /'; }

# smb NAME COMMAND: what smbclient prints, with the share of smbd_start NAME.
smb() {
  eval "smb_port=\$SMB_$1"
  timeout 300 smbclient -s /dev/null -t 300 -p "$smb_port" -N //127.0.0.1/symbols -c "$2" 2>&1
}

# macs_make DIR: programs of macOS in a new directory: m.x86_64 and m.arm64 with their bundles, m.x86_64.stripped, and
# m.fat with its bundle. Skips the test if the tools are not installed.
macs_make() {
  mm_clang=$(first_of clang) && mm_linker=$(first_of ld64.lld) && mm_dsymutil=$(first_of dsymutil) &&
    mm_lipo=$(first_of llvm-lipo) && mm_strip=$(first_of llvm-strip) ||
    skip "clang, ld64.lld, dsymutil, llvm-lipo or llvm-strip is not installed"
  mkdir -p "$1"
  cat >"$1/m.c" <<'EOC'
int __attribute__((noinline)) half(int a) { volatile int b = a / 2; return b + 1; }
int main(int argc, char **argv) { return half(argc) + half(3); }
EOC
  (cd "$1" && for mm_arch in x86_64 arm64; do
    "$mm_clang" -target $mm_arch-apple-macos11 -g -O1 -c m.c -o m.o &&
      "$mm_linker" -arch $mm_arch -platform_version macos 11.0 11.0 -e _main -undefined dynamic_lookup \
        -o m.$mm_arch m.o && "$mm_dsymutil" m.$mm_arch || exit 1
  done && "$mm_lipo" -create m.x86_64 m.arm64 -output m.fat && "$mm_strip" -o m.x86_64.stripped m.x86_64 &&
    cp -r m.x86_64.dSYM m.fat.dSYM && rm m.fat.dSYM/Contents/Resources/DWARF/m.x86_64 m.o &&
    "$mm_lipo" -create m.*64.dSYM/Contents/Resources/DWARF/m.* -output m.fat.dSYM/Contents/Resources/DWARF/m.fat) \
    >"$TMP/macs.log" 2>&1 || fail "programs of macOS"
}
