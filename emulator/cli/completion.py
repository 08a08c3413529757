"""``emulator completion``: print a completion script of bash, zsh, fish or PowerShell, made from the parser."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from emulator.cli.quoting import quote

_COMMANDS = ("emulator", "llm-emulator")
_FLAGS = {"--help": "show this help message and exit", "--version": "show the version"}  # of the command itself


@dataclass(frozen=True, slots=True)
class Flag:
    """Flag of a verb; ``values``: known values; ``help``: without variable and default."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verb:
    """Verb of the command line; ``values``: known arguments; without any, files are completed."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    values: tuple[str, ...]

    @property
    def flag_names(self) -> str:
        return " ".join(name for flag in self.flags for name in flag.names)


def render_completion(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the completion script for a shell."""
    return "\n".join(_RENDER[shell](_list_verbs(parser))) + "\n"


def _list_verbs(parser: argparse.ArgumentParser) -> list[Verb]:
    (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    helps = {action.dest: action.help or "" for action in verbs._choices_actions}
    return [_read_verb(name, helps[name], verb) for name, verb in verbs.choices.items()]


def _read_verb(name: str, text: str, verb: argparse.ArgumentParser) -> Verb:
    flags: list[Flag] = []
    values: list[str] = []
    for action in verb._actions:
        choices = tuple(map(str, action.choices or _list_known(action.option_strings)))
        if action.option_strings:
            flags.append(
                Flag(tuple(action.option_strings), (action.help or "").partition(" [")[0], action.nargs != 0, choices)
            )
        else:
            values += choices
    return Verb(name, text, tuple(flags), tuple(values))


def _list_known(names: Sequence[str]) -> Sequence[str]:
    """Return values to offer for a flag that takes others too: of ``--scenario`` the bundled ones."""
    if "--scenario" not in names:
        return ()
    from emulator.scenario.load import find_bundled, find_files  # slow to import

    return [path.stem for path in find_files(find_bundled())]


def _values_of_flags(verbs: Sequence[Verb]) -> dict[str, str]:
    return {name: " ".join(flag.values) for verb in verbs for flag in verb.flags for name in flag.names if flag.values}


def _render_bash(verbs: Sequence[Verb]) -> Iterator[str]:
    yield "_emulator() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" words='
    yield f'  local flags="{" ".join(_FLAGS)}"'
    yield f'  [ "$COMP_CWORD" -eq 1 ] && words={quote(" ".join(verb.name for verb in verbs))}'
    yield '  [ "$COMP_CWORD" -gt 1 ] && case "${COMP_WORDS[1]}" in'
    for verb in verbs:
        yield f"    {verb.name}) flags={quote(verb.flag_names)} words={quote(' '.join(verb.values))} ;;"
    yield "  esac"
    yield '  [ "${word:0:1}" = - ] && words="$flags"'
    yield '  case "${COMP_WORDS[COMP_CWORD-1]}" in'
    for name, values in _values_of_flags(verbs).items():
        yield f"    {name}) words={quote(values)} ;;"
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield f"complete -o default -F _emulator {' '.join(_COMMANDS)}"  # default: complete files


def _render_zsh(verbs: Sequence[Verb]) -> Iterator[str]:
    described = " ".join(quote(f"{verb.name}:{verb.help}") for verb in verbs)
    yield f"#compdef {' '.join(_COMMANDS)}"
    yield "_emulator() {"
    yield f"  local -a verbs=({described})"
    yield f'  [[ $CURRENT == 2 && "$PREFIX" = -* ]] && {{ compadd -- {" ".join(_FLAGS)}; return }}'
    yield "  (( CURRENT == 2 )) && { _describe verb verbs; return }"
    yield '  case "$words[CURRENT-1]" in'
    for name, values in _values_of_flags(verbs).items():
        yield f"    {name}) compadd -- {values}; return ;;"
    yield "  esac"
    yield '  case "$words[2]" in'
    for verb in verbs:
        rest = f"compadd -- {' '.join(verb.values)}" if verb.values else "_files"
        yield f'    {verb.name}) [[ "$PREFIX" = -* ]] && compadd -- {verb.flag_names} || {rest} ;;'
    yield "  esac"
    yield "}"
    yield f"compdef _emulator {' '.join(_COMMANDS)}"


def _render_fish(verbs: Sequence[Verb]) -> Iterator[str]:
    for command in _COMMANDS:
        for name, text in _FLAGS.items():
            yield f"complete -c {command} -n __fish_use_subcommand -l {name[2:]} -d {quote(text)}"
        for verb in verbs:
            yield f"complete -c {command} -n __fish_use_subcommand -f -a {verb.name} -d {quote(verb.help)}"
            where = f"complete -c {command} -n '__fish_seen_subcommand_from {verb.name}'"
            if verb.values:
                yield f"{where} -f -a {quote(' '.join(verb.values))}"
            for flag in verb.flags:
                names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
                yield f"{where} {names} -d {quote(flag.help)}{_format_value_option(flag)}"


def _format_value_option(flag: Flag) -> str:
    """Return fish's option for the value of a flag: known values, any value, or none."""
    if flag.values:
        return f" -x -a {quote(' '.join(flag.values))}"
    return " -r" if flag.takes_value else ""


def _render_powershell(verbs: Sequence[Verb]) -> Iterator[str]:
    """Render for ``Invoke-Expression``; where nothing is offered PowerShell completes files.

    Source: Microsoft, "Register-ArgumentCompleter". Untried in a PowerShell.
    """
    yield f"Register-ArgumentCompleter -Native -CommandName {', '.join(_COMMANDS)} -ScriptBlock {{"
    yield "  param($word, $ast, $position)"
    yield "  $before = $ast.CommandElements | Where-Object { $_.Extent.EndOffset -lt $position }"
    yield '  $words = @($before | ForEach-Object { "$_" })'
    for name, table in (
        ("flags", {verb.name: verb.flag_names for verb in verbs}),
        ("values", {verb.name: " ".join(verb.values) for verb in verbs if verb.values}),
        ("choices", _values_of_flags(verbs)),
    ):
        yield f"  ${name} = @{{"
        for key, values in table.items():
            yield f"    '{key}' = {_list_powershell(values.split())}"
        yield "  }"
    yield f"  if ($words.Count -le 1) {{ $offered = {_list_powershell([*(verb.name for verb in verbs), *_FLAGS])} }}"
    yield "  elseif ($choices.ContainsKey($words[-1])) { $offered = $choices[$words[-1]] }"
    yield "  elseif ($word -like '-*') { $offered = $flags[$words[1]] }"
    yield "  else { $offered = $values[$words[1]] }"
    yield '  $offered | Where-Object { $_ -like "$word*" } | ForEach-Object {'
    yield "    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)"
    yield "  }"
    yield "}"


def _list_powershell(values: Iterable[str]) -> str:
    quoted = ", ".join(f"'{value}'" for value in values)
    return f"@({quoted})"


_RENDER: Mapping[str, Callable[[Sequence[Verb]], Iterator[str]]] = {
    "bash": _render_bash,
    "zsh": _render_zsh,
    "fish": _render_fish,
    "powershell": _render_powershell,
}
