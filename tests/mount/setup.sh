#!/bin/sh
# symfs setup for a user: what it writes, that each client then finds a debug file, and that --undo leaves the
# files as they were, but for what was changed meanwhile.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy strip readelf
need_mount

make_program "$TMP/made" prog
put_gdb "$TMP/up" "$TMP/made/debug/prog.debug" .debug
put_gdb "$TMP/up" "$TMP/made/debug/libprog.so.debug" .debug
symfs_mount m --source "gdb@$TMP/up"

# Without a service manager.
mkdir "$TMP/bin" "$TMP/run"
printf '#!/bin/sh\necho "$*" >>"%s/asked"\nexit 1\n' "$TMP" >"$TMP/bin/systemctl"
chmod +x "$TMP/bin/systemctl"
PATH=$TMP/bin:$PATH XDG_RUNTIME_DIR=$TMP/run
export PATH XDG_RUNTIME_DIR
unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME

# setup WANTED-STATUS ARGS...: output in $TMP/out.
setup() {
  s_want=$1
  shift
  "$SYMFS" setup --user "$@" >"$TMP/out" 2>"$TMP/err"
  s_got=$?
  [ $s_got = "$s_want" ] || fail "setup $*: exit $s_got: $(cat "$TMP/out" "$TMP/err")"
}
told() { grep -q -- "$1" "$TMP/out" || fail "not told \"$1\": $(cat "$TMP/out")"; }
# state: the files of the home, with their modes and contents.
state() { (cd "$HOME" && find . -printf '%p %m %y\n' | sort && find . -type f | sort | xargs -d '\n' sha256sum); }

rm -rf "$HOME" && mkdir -p "$HOME/.cache/debuginfod_client"
state >"$TMP/empty"
setup 0 -n --mount "$MNT_m"
state | cmp - "$TMP/empty" || fail "a dry run wrote files"
told "to write $HOME/.gdbinit"

# What a user has is kept: his directories of gdb, his modes, a link to his files, and the directories of Delve.
printf 'set print pretty on\nset debug-file-directory /opt/debug:/usr/lib/debug\n' >"$HOME/.gdbinit"
chmod 640 "$HOME/.gdbinit"
mkdir -p "$HOME/dotfiles" "$HOME/.config/dlv"
echo 'settings set stop-line-count-before 5' >"$HOME/dotfiles/lldbinit" && ln -s dotfiles/lldbinit "$HOME/.lldbinit"
echo 'debug-info-directories: ["/opt/debug"]' >"$HOME/.config/dlv/config.yml"
printf 600 >"$HOME/.cache/debuginfod_client/cache_miss_s"
echo 'umask 027' >"$HOME/.profile"
state >"$TMP/before"
setup 0 --mount "$MNT_m"
told "by hand .*no service manager"
told "kept .*/dlv/config.yml: it names directories already"
grep -q 'user show-environment' "$TMP/asked" || fail "systemctl was not asked"
grep -qx "set debug-file-directory $MNT_m:/opt/debug:/usr/lib/debug" "$HOME/.gdbinit" ||
  fail "$(cat "$HOME/.gdbinit")"
[ -L "$HOME/.lldbinit" ] || fail "the link was replaced"
[ "$(stat -c %a "$HOME/.gdbinit")" = 640 ] || fail "another mode"
[ "$(. "$HOME/.profile" && echo "$DEBUGINFOD_URLS")" = "file://$MNT_m/debuginfod" ] || fail "$(cat "$HOME/.profile")"
state >"$TMP/after"
setup 0 --mount "$MNT_m"
state | cmp - "$TMP/after" || fail "the second time changed something: $(state | diff "$TMP/after" -)"

# The clients that are installed. lldb and gdb read the files above.
setup 0 --check "$TMP/made/bin/prog" --mount "$MNT_m"
told '^client  *found'
for client in gdb:gdb lldb:lldb elfutils:eu-unstrip debuginfod-find:debuginfod-find; do
  if command -v "${client#*:}" >/dev/null; then
    grep -Eq "^${client%:*} +yes +[0-9]+ +[0-9]+$" "$TMP/out" || fail "${client%:*}: $(cat "$TMP/out")"
  else
    told "^${client%:*} *not installed"
  fi
done
setup 1 --check /dev/null --mount "$MNT_m"
setup 1 --check --mount "$TMP/nothing"
grep -q 'symfs setup --check FILE' "$TMP/err" || fail "no way out: $(cat "$TMP/err")"

setup 0 --undo
state | cmp - "$TMP/before" || fail "not as before: $(state | diff "$TMP/before" -)"
setup 0 --undo
told 'nothing to take back'

# What was changed since is kept.
setup 0 --mount "$MNT_m"
sed -i 's/^set debuginfod enabled on/set debuginfod enabled ask/' "$HOME/.gdbinit"
echo 'export EDITOR=vi' >>"$HOME/.profile"
echo 900 >"$HOME/.cache/debuginfod_client/cache_miss_s"
cp "$HOME/.gdbinit" "$TMP/gdbinit"
setup 0 --mount "$MNT_m"
told "kept .*cache_miss_s: it was changed since"
setup 0 --undo
told "kept .*/.gdbinit: the lines of symfs setup were changed"
told "kept .*cache_miss_s: it was changed since"
cmp "$HOME/.gdbinit" "$TMP/gdbinit" || fail "lines of the user are gone"
printf 'umask 027\nexport EDITOR=vi\n' | cmp - "$HOME/.profile" || fail "$(cat "$HOME/.profile")"
[ "$(cat "$HOME/.cache/debuginfod_client/cache_miss_s")" = 900 ] || fail "a value of the user is gone"
[ ! -e "$HOME/.local" ] || fail "the record is still there"

# Mistakes.
setup 2 --system
setup 2 --check --undo
setup 2 --mount "$TMP/a'b"
setup 2 word
symfs_umount m
