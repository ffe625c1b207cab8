import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface CompletedVerb {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly string[];
  /** Names of verbs below it, and fixed words of its first argument. */
  readonly words: readonly string[];
}

/** A script that completes verbs, their flags and fixed words; files where a path may stand. */
export function completionScript(shell: Shell, program: Command): string {
  const verbs = program.commands.map(describeVerb);
  switch (shell) {
    case 'bash':
      return bash(verbs);
    case 'zsh':
      return zsh(verbs);
    case 'fish':
      return fish(verbs);
  }
}

function describeVerb(command: Command): CompletedVerb {
  const below = command.commands.flatMap((inner) => inner.options);
  const flags = [...command.options, ...below]
    .map((option) => option.long ?? '')
    .filter((flag) => flag !== '');
  const choices = command.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
  return {
    name: command.name(),
    summary: command.summary(),
    flags: [...new Set([...flags, '--help'])],
    words: [...command.commands.map((inner) => inner.name()), ...choices],
  };
}

function bash(verbs: readonly CompletedVerb[]): string {
  const cases = verbs.map(
    ({ name, flags, words }) => `    ${name}) words="${words.join(' ')}"; flags="${flags.join(' ')}" ;;`,
  );
  return `# bash completion of gimbal: eval "$(gimbal completion bash)"
_gimbal() {
  local current="\${COMP_WORDS[COMP_CWORD]}" verb="\${COMP_WORDS[1]}" words="" flags=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${verbs.map(({ name }) => name).join(' ')} help --help --version" -- "$current"))
    return
  fi
  case "$verb" in
${cases.join('\n')}
  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [ -n "$words" ] && [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _gimbal gimbal
`;
}

function zsh(verbs: readonly CompletedVerb[]): string {
  const summaries = verbs.map(({ name, summary }) => `    '${name}:${quoted(summary)}'`);
  const cases = verbs.map(({ name, flags, words }) => {
    const first = words.length === 0 ? '_files' : `compadd -- ${words.join(' ')}; _files`;
    return `    ${name}) if [[ "$PREFIX" == -* ]]; then compadd -- ${flags.join(' ')}; else ${first}; fi ;;`;
  });
  return `#compdef gimbal
# zsh completion of gimbal: gimbal completion zsh > "\${fpath[1]}/_gimbal"
_gimbal() {
  local -a verbs
  verbs=(
${summaries.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'verb' verbs
    return
  fi
  case "\${words[2]}" in
${cases.join('\n')}
  esac
}
compdef _gimbal gimbal
`;
}

function fish(verbs: readonly CompletedVerb[]): string {
  const lines = verbs.flatMap(({ name, summary, flags, words }) => [
    `complete -c gimbal -n __fish_use_subcommand -a ${name} -d '${quoted(summary)}'`,
    ...words.map((word) => `complete -c gimbal -n '__fish_seen_subcommand_from ${name}' -a ${word}`),
    ...flags.map((flag) => `complete -c gimbal -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`),
  ]);
  return `# fish completion of gimbal: gimbal completion fish | source\n${lines.join('\n')}\n`;
}

function quoted(text: string): string {
  return text.replaceAll("'", '’');
}
