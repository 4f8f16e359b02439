# Completion of symfs(1) for bash, without the package bash-completion. Asks no server and reads no cache.
# SPDX-License-Identifier: LGPL-2.1-or-later

_symfs_commands="mount mount-helper umount get wait warm core dsym add push id paths pdb parse why status sources config cache gsym sym
	addr2line symbolicate best serve token help version"
_symfs_keys="--cache-dir --quota --min-free --lookup-deadline --connect-timeout --stall-timeout
	--miss-lifetime --breaker-seconds --max-file-size --ask-on --byte-ranges --keep-seconds
	--synthesize --allow-unsandboxed
	--run-as --read-all --server-names --allow-origins"
# --cache-dir is --cache.
_symfs_common="--config --source --cache --offline --no-default-sources --help ${_symfs_keys#--cache-dir}"
_symfs_filetypes="bcsymbolmap breakpad companion elf_code elf_debug elf_dwo gsym il2cpp mach_code mach_debug pdb pe
	perfmap portablepdb section source sourcebundle sym uuidmap wasm_code wasm_debug"
_symfs_layouts="breakpad debuginfod dsym gdb lldb native perf slashsymbols source ssqp symstore symstore2 unified"
_symfs_presets="amd archlinux chromium citrix debian electron elfutils fedora intel microsoft mozilla
	nuget nvidia ubuntu unity"

# Fills COMPREPLY with the words, or files, that begin with $cur.
_symfs_words()
{
	COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_symfs_files() # -f or -d
{
	local IFS=$'\n'

	compopt -o filenames 2>/dev/null
	COMPREPLY=($(compgen "$1" -- "$cur"))
}

# Completes the last word of a list with commas.
_symfs_mount_options()
{
	local keys=(${_symfs_keys//--/}) typed=

	[[ $cur != *,* ]] || typed=${cur%,*},
	COMPREPLY=($(compgen -P "$typed" -W "allow_other ro uid= gid= exact_size no_passthrough source= log_file=
		${keys[*]/%/=}" -- "${cur##*,}"))
	[[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null
}

# Completes the value of the option in $1. 1: the option takes no value.
_symfs_value()
{
	case $command:$1 in
	mount:-o | mount:--options) _symfs_mount_options ;;
	*:--config | get:-o | get:--output | paths:--code-file | paths:--debug-file) _symfs_files -f ;;
	gsym:-o | gsym:--output | sym:-o | sym:--output | config:-o | config:--output | gsym:--against) _symfs_files -f ;;
	token:--rights) _symfs_words "read upload try purge added read,upload purge,added" ;;
	token:--expires | token:--namespace) COMPREPLY=() ;;
	best:--for) _symfs_words "symtab debug unwind" ;;
	best:--object-type) _symfs_words "elf macho pe pe_dotnet" ;;
	symbolicate:--api) _symfs_words "v4 v5" ;;
	serve:--listen | mount:--serve) _symfs_words "127.0.0.1:8737 unix: systemd" ;;
	wait:--timeout) COMPREPLY=() ;;
	serve:--connections | serve:--idle-seconds | serve:--drain-*) COMPREPLY=() ;;
	token:--file | serve:--token-file | serve:--access-log | serve:--audit-log | serve:--log-file | mount:--log-file) _symfs_files -f ;;
	gsym:--format) _symfs_words "v1 object" ;;
	sym:--store) _symfs_files -d ;;
	sym:--name) COMPREPLY=() ;;
	gsym:--threads) _symfs_words "1 2 3 4 5 6 7 8" ;;
	gsym:--address) COMPREPLY=() ;;
	*:--byte-ranges) _symfs_words "auto always never" ;;
	paths:--layout) _symfs_words "$_symfs_layouts" ;;
	paths:--casing) _symfs_words "default lowercase uppercase" ;;
	paths:--type | get:--type | why:--type | cache:--type | gsym:--type | addr2line:--type) _symfs_words "$_symfs_filetypes" ;;
	paths:--object-type) _symfs_words "elf macho pe pe_dotnet wasm unknown" ;;
	paths:--code-id | paths:--debug-id | pdb:--module | pdb:--lines) COMPREPLY=() ;;
	*:--cache | *:--cache-dir | dsym:--into | dsym:--mount) _symfs_files -d ;;
	*:--source)
		if [[ $cur == */* || $cur == .* ]]; then
			_symfs_files -d
		else
			_symfs_words "$_symfs_presets"
		fi ;;
	*)
		[[ " ${_symfs_keys//[[:space:]]/ } " == *" $1 "* ]] || return 1
		COMPREPLY=() ;;
	esac
	return 0
}

# LAYOUT/REST as under a mount, an absolute path inside one, or a file.
_symfs_path()
{
	local layouts

	_symfs_files -f
	[[ $cur != */* ]] || return
	layouts=($(compgen -W "$(for layout in $_symfs_layouts; do echo "$layout/"; done)" -- "$cur"))
	((!${#layouts[@]})) || compopt -o nospace 2>/dev/null
	COMPREPLY+=("${layouts[@]}")
}

_symfs_options()
{
	case $command in
	mount) _symfs_words "-f --foreground -o --options --serve --log-file --mount-helper $_symfs_common" ;;
	mount-helper) _symfs_words "-o --options --listen --help" ;;
	umount) _symfs_words "-l --lazy --help" ;;
	wait) _symfs_words "--timeout --type $_symfs_common" ;;
	get) _symfs_words "-o --output --copy --type $_symfs_common" ;;
	warm) _symfs_words "--breakpad $_symfs_common" ;;
	core) _symfs_words "$_symfs_common" ;;
	dsym) _symfs_words "--copyExecutable --ignoreNegativeCache --into --mount $_symfs_common" ;;
	add) _symfs_words "-r --recursive $_symfs_common" ;;
	push) _symfs_words "--class --expires --label --token-file -v --verbose --help" ;;
	id) _symfs_words "--json --help" ;;
	pdb) _symfs_words "--streams --modules --module --lines --publics --json --help" ;;
	parse) _symfs_words "--json --help" ;;
	paths)
		_symfs_words "--layout --casing --type --object-type --code-file --code-id --debug-file
			--debug-id --big-endian --help" ;;
	why) _symfs_words "--ask --type --json $_symfs_common" ;;
	status) _symfs_words "-w --watch --json --help" ;;
	sources) _symfs_words "--json $_symfs_common" ;;
	help) _symfs_words "--dump --help" ;;
	version) _symfs_words "--help" ;;
	config) _symfs_words "--force -o --output --help" ;;
	cache) _symfs_words "--misses --dry-run --bucket --type --json $_symfs_common" ;;
	gsym)
		_symfs_words "-o --output --format --arch --threads --strict --embed --shorten-cpp --full-names --plain-names --stdin --against --dump --address --type
			--json $_symfs_common" ;;
	sym) _symfs_words "-o --output --store --cfi-only --counts --name --arch --help" ;;
	addr2line) _symfs_words "--stdin --plain-names --arch --type --json $_symfs_common" ;;
	best) _symfs_words "--for --object-type --json $_symfs_common" ;;
	serve) _symfs_words "--listen --token-file --anyone --upload --connections --idle-seconds --drain-seconds --drain-grace --access-log --audit-log --log-file
			$_symfs_common" ;;
	token) _symfs_words "--file --rights --expires --namespace --json --help" ;;
	symbolicate)
		_symfs_words "--api --text --debug --lenient --demangle --function-size --module-errors --json
			$_symfs_common" ;;
	esac
}

_symfs_argument()
{
	case $command in
	mount | mount-helper | umount | status) _symfs_files -d ;;
	add | push | id | paths | pdb | sym | warm | core | dsym | symbolicate | best | addr2line) _symfs_files -f ;;
	sources) ((${#words[@]})) || _symfs_words "check presets" ;;
	config) ((${#words[@]})) || _symfs_words init ;;
	token) ((${#words[@]})) || _symfs_words "add ls rm" ;;
	help) ((${#words[@]})) || _symfs_words "$_symfs_commands options" ;;
	parse) ((${#words[@]})) || _symfs_words "$_symfs_layouts" ;;
	get | wait | why) _symfs_path ;;
	gsym)
		_symfs_files -f
		((${#words[@]})) || COMPREPLY+=($(compgen -W "create dump lookup verify stats" -- "$cur")) ;;
	cache)
		case " ${words[*]} " in
		*" ls "* | *" pin "* | *" unpin "* | *" rm "*) _symfs_path ;;
		*" stats "* | *" verify "* | *" gc "* | *" expire "*) ;;
		*) _symfs_words "ls stats verify gc expire pin unpin rm" ;;
		esac ;;
	esac
}

_symfs()
{
	local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
	local words=("${COMP_WORDS[@]:2:COMP_CWORD-2}")

	case $command in # other names
	find) command=get ;;
	prefetch) command=warm ;;
	debug) command=core ;;
	esac
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_symfs_words "$_symfs_commands --help --version"
	elif _symfs_value "$previous"; then
		:
	elif [[ $cur == -* ]]; then
		_symfs_options
	else
		_symfs_argument
	fi
}

complete -F _symfs symfs
