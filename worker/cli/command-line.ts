// The commands of `pawl`: Pawl's own, and the commands and programs that wings have.

import { Command, Help, Option } from 'commander'

import { PAWL_VERSION } from '../server/version.ts'

/** Each command is loaded alone, so that no command waits for the modules of another one. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  dev: async () => (await import('./dev.ts')).devCommand(),
  install: async () => (await import('./install.ts')).installCommand(),
  migrate: async () => (await import('./migrate.ts')).migrateCommand(),
  bridge: async () => (await import('./serve.ts')).bridgeCommand(),
  worker: async () => (await import('./serve.ts')).workerCommand(),
  webhook: async () => (await import('./serve.ts')).webhookCommand(),
  api: async () => (await import('./serve.ts')).apiCommand(),
  // It writes the registries that the other commands import, and repairs them when a folder that they name is missing.
  gen: async () => (await import('./gen.ts')).genCommand(async () => await createProgram('--help')),
  plan: async () => (await import('./plan.ts')).planCommand(),
  get: async () => (await import('./query/get.ts')).getCommand(),
  trace: async () => (await import('./query/trace.ts')).traceCommand(),
  why: async () => (await import('./query/why.ts')).whyCommand(),
  history: async () => (await import('./query/history.ts')).historyCommand(),
  graph: async () => (await import('./query/graph.ts')).graphCommand(),
  diff: async () => (await import('./query/diff.ts')).diffCommand(),
  replay: async () => (await import('./replay.ts')).replayCommand(),
  journal: async () => (await import('./journal.ts')).journalCommand(),
  reconcile: async () => (await import('./steer/reconcile.ts')).reconcileCommand(),
  interrupt: async () => (await import('./steer/reconcile.ts')).interruptCommand(),
  pause: async () => (await import('./steer/pause.ts')).pauseCommand(),
  resume: async () => (await import('./steer/pause.ts')).resumeCommand(),
  retry: async () => (await import('./steer/items.ts')).retryCommand(),
  skip: async () => (await import('./steer/items.ts')).skipCommand(),
  doctor: async () => (await import('./doctor.ts')).doctorCommand(),
  upgrade: async () => (await import('./upgrade.ts')).upgradeCommand(),
  completion: async () => (await import('./completion.ts')).completionCommand(),
  delete: async () => (await import('./steer/delete.ts')).deleteCommand(),
}

/** Fits all commands on one screen: the help of each command has its arguments and its whole description. */
const FITTING = {
  subcommandTerm: (command: Command) => command.name(),
  // The help already says that `pawl why --help` shows the help of `pawl why`, so `pawl help why` is left out.
  visibleCommands: (command: Command) => new Help().visibleCommands(command).filter((one) => one.name() !== 'help'),
  subcommandDescription: (command: Command) => command.summary() || (command.description().split(/[,:;(]/, 1)[0] ?? ''),
}

const EXAMPLE = '\nExample: pawl why inst/shop   shows why it has failed, or waits'

/** The completion scripts of shells call it; users do not. */
const COMPLETE = '__complete'

async function loadCommand(name: string): Promise<Command | undefined> {
  if (Object.hasOwn(COMMANDS, name)) return await COMMANDS[name]?.()
  return (await import('./wing-commands.ts')).wingCommand(name)
}

/** The names of all commands, or the first argument alone. Pawl's own commands do not load the registries of wings: `pawl gen` repairs these. */
async function namesFor(first: string | undefined): Promise<readonly string[]> {
  if (first !== undefined && Object.hasOwn(COMMANDS, first)) return [first]
  const { COMMANDS: ofWings } = await import('../../activities/commands.gen.ts')
  const names = ofWings.flatMap(({ name, commands }) => (commands.length === 0 ? [] : [name]))
  return first !== undefined && names.includes(first) ? [first] : [...Object.keys(COMMANDS), ...names]
}

/**
 * Creates the command line with all commands, or only with the command that the first argument names. Its options are positional: an option after a command belongs to that
 * command, as in `pawl gen types --version v1`.
 */
export async function createProgram(first: string | undefined): Promise<Command> {
  const program = new Command('pawl')
    .description('A durable reconcile engine for Kubernetes')
    .version(PAWL_VERSION)
    .enablePositionalOptions()
    .configureHelp(FITTING)
    // The list of commands needs the row.
    .addHelpOption(new Option('-h, --help').hideHelp())
    .addHelpText('after', EXAMPLE)
  if (first === COMPLETE) {
    const { completeCommand } = await import('./completion.ts')
    const all = [...(await namesFor(undefined)), ...(await wingPrograms()).map(({ name }) => name)]
    return program.addCommand(completeCommand(all, loadCommand))
  }
  const names = await namesFor(first)
  for (const name of names) {
    // The names of the other commands are enough for an error about an unknown command, or for the version.
    const command = isHelp(first) || name === first ? await loadCommand(name) : new Command(name)
    if (command !== undefined) program.addCommand(command)
  }
  const programs = names.includes(first ?? '') ? [] : await wingPrograms()
  for (const { name, summary } of programs) program.command(name).description(summary)
  return program
}

/** The programs of wings. They parse their arguments themselves. */
async function wingPrograms() {
  return (await import('../programs.ts')).PROGRAMS
}

/** True when the first argument asks for help or is an option. */
function isHelp(first: string | undefined): boolean {
  if (first === undefined || first === 'help') return true
  return first.startsWith('-') && first !== '--version' && first !== '-V'
}
