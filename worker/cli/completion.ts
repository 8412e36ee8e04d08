// The command `pawl completion`, which prints shell scripts, and `pawl __complete`, which these scripts call to get the
// candidates.

import { Argument, Command } from 'commander'

import { plannedKinds } from '../plans/find-plans.ts'
import { builtInRegistry } from '../server/registry.ts'
import { withoutQuoting, type CommandShape, commandShape, candidatesFor } from './complete/candidates.ts'

export function completionCommand(): Command {
  return new Command('completion')
    .description('print what a shell needs to complete command lines of pawl, with the names of objects')
    .addArgument(new Argument('<shell>', SHELLS.join(', ')).choices(SHELLS))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(pawl completion bash)\n  pawl completion zsh > "${fpath[1]}/_pawl"\n  pawl completion fish > ~/.config/fish/completions/pawl.fish',
    )
    .action((shell: Shell) => {
      process.stdout.write(SCRIPTS[shell])
    })
}

/** @param names of all commands. @param load loads the command with this name; undefined if the command does not exist. */
export function completeCommand(
  names: readonly string[],
  load: (name: string) => Promise<Command | undefined>,
): Command {
  return new Command('__complete').argument('[words...]').action(async (words: readonly string[]) => {
    const candidates = await findCandidates(words, names, load)
    process.stdout.write(
      withoutQuoting(candidates)
        .map((word) => `${word}\n`)
        .join(''),
    )
  })
}

/** @param words up to the cursor, without `pawl`. The last one is the word at the cursor and may be empty. */
async function findCandidates(
  words: readonly string[],
  names: readonly string[],
  load: (name: string) => Promise<Command | undefined>,
): Promise<readonly string[]> {
  const [first, ...rest] = words
  if (first === undefined || rest.length === 0) return names.filter((name) => name.startsWith(first ?? ''))
  const command = await load(first)
  if (command === undefined) return []
  const [shape, remaining] = resolveSubcommand(command, rest)
  const { words: knownWords, objects, items, flags } = candidatesFor(shape, remaining, kindNames())
  const current = remaining.at(-1) ?? ''
  if (items !== undefined) {
    const { itemNames } = await import('./complete/object-names.ts')
    const available = await itemNames(items.object, items.command, flags)
    return available.filter((name) => name.startsWith(current) && !items.exclude.includes(name))
  }
  if (objects === undefined) return knownWords
  const { objectNames } = await import('./complete/object-names.ts')
  const available = await objectNames(objects.kind, flags)
  return available.map((name) => `${objects.prefix}${name}`).filter((word) => word.startsWith(current))
}

/** The innermost subcommand that the words name, such as `dev stop`, and the words after its name. */
function resolveSubcommand(command: Command, words: readonly string[]): readonly [CommandShape, readonly string[]] {
  const [next = '', ...rest] = words
  const child = rest.length === 0 ? undefined : command.commands.find((one) => one.name() === next)
  return child === undefined ? [commandShape(command), words] : resolveSubcommand(child, rest)
}

/** The first short name of each kind with a controller, or the singular name of a kind without short names. */
function kindNames(): readonly string[] {
  return plannedKinds(builtInRegistry).map(({ shortNames, singular }) => shortNames[0] ?? singular)
}

// The completion scripts. Each calls `pawl __complete` with the words up to the cursor. Bash and zsh add no space after a
// candidate that ends in `/`, because a name follows.

export const SHELLS = ['bash', 'zsh', 'fish'] as const

type Shell = (typeof SHELLS)[number]

// Bash also splits words at `=` and `:`. The script therefore splits the line itself. Bash replaces only its own last
// word, so the script removes from each candidate the part before this word: from `--output=json` it removes `--output=`.
const BASH = `_pawl() {
  local line=\${COMP_LINE:0:COMP_POINT} own=\${COMP_WORDS[COMP_CWORD]} IFS=$' \\t\\n' words=() current
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current=\${words[\${#words[@]}-1]}
  [[ $own == [=:] ]] && own=''
  IFS=$'\\n'
  COMPREPLY=($(pawl __complete -- "\${words[@]:1}" 2>/dev/null))
  COMPREPLY=("\${COMPREPLY[@]#"\${current%"$own"}"}")
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -F _pawl pawl kubectl-pawl
`

// If the file is in $fpath, zsh runs it as the body of `_pawl` at the first completion, so the last lines call the new
// function. If the user sources the file, they register the function.
const ZSH = `#compdef pawl kubectl-pawl
_pawl() {
  local -a found
  found=(\${(f)"$(pawl __complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)"})
  (( $#found )) || { _files; return }
  compadd -- \${found:#*/}
  compadd -S '' -- \${(M)found:#*/}
}
if [[ $funcstack[1] == _pawl ]]; then
  _pawl "$@"
else
  compdef _pawl pawl kubectl-pawl
fi
`

const FISH = `function __pawl_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct | string trim --left --chars '"\\'')
  set -l found (pawl __complete -- $before[2..-1] "$current" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path "$current"
  end
end
complete -c pawl -f -a '(__pawl_complete)'
complete -c kubectl-pawl -f -a '(__pawl_complete)'
`

export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH }
