// The command `pawl completion`, and `pawl __complete`, which its scripts ask what may stand at the end of a command line.

import { Argument, Command } from 'commander'

import { findPlans } from '../plans/find-plans.ts'
import { builtInRegistry } from '../server/registry.ts'
import { SCRIPTS, type Shell, SHELLS } from './complete/scripts.ts'
import { offered, type Shape, shapeOf, wishOf } from './complete/wishes.ts'

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

/** @param names of all commands. @param load the one of a name. */
export function completeCommand(
  names: readonly string[],
  load: (name: string) => Promise<Command | undefined>,
): Command {
  return new Command('__complete').argument('[words...]').action(async (words: readonly string[]) => {
    const found = await candidates(words, names, load)
    process.stdout.write(
      offered(found)
        .map((word) => `${word}\n`)
        .join(''),
    )
  })
}

async function candidates(
  words: readonly string[],
  names: readonly string[],
  load: (name: string) => Promise<Command | undefined>,
): Promise<readonly string[]> {
  const [first, ...rest] = words
  if (first === undefined || rest.length === 0) return names.filter((name) => name.startsWith(first ?? ''))
  const command = await load(first)
  if (command === undefined) return []
  const [shape, left] = below(command, rest)
  const { words: known, objects, items, flags } = wishOf(shape, left, kindNames())
  const current = left.at(-1) ?? ''
  if (items !== undefined) {
    const { itemNames } = await import('./complete/object-names.ts')
    const found = await itemNames(items.of, items.command, flags)
    return found.filter((name) => name.startsWith(current) && !items.but.includes(name))
  }
  if (objects === undefined) return known
  const { objectNames } = await import('./complete/object-names.ts')
  const found = await objectNames(objects.kind, flags)
  return found.map((name) => `${objects.before}${name}`).filter((word) => word.startsWith(current))
}

/** Down into commands of commands, such as `dev stop`. */
function below(command: Command, words: readonly string[]): readonly [Shape, readonly string[]] {
  const [next = '', ...rest] = words
  const child = rest.length === 0 ? undefined : command.commands.find((one) => one.name() === next)
  return child === undefined ? [shapeOf(command), words] : below(child, rest)
}

/** The shortest of each kind with a controller. */
function kindNames(): readonly string[] {
  return findPlans(builtInRegistry).map(({ kind }) => kind.shortNames[0] ?? kind.singular)
}
