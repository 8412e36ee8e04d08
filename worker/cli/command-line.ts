// The commands of `pawl`: Pawl's own, and the commands and programs that wings have.

import { Command, Help } from 'commander'

import { PAWL_VERSION } from '../server/version.ts'

/** Each command is loaded alone, so that no command waits for the modules of another one. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  dev: async () => (await import('./dev.ts')).devCommand(),
  migrate: async () => (await import('./migrate.ts')).migrateCommand(),
  bridge: async () => (await import('./serve.ts')).bridgeCommand(),
  worker: async () => (await import('./serve.ts')).workerCommand(),
  webhook: async () => (await import('./serve.ts')).webhookCommand(),
  api: async () => (await import('./serve.ts')).apiCommand(),
  // It writes the registries that the other commands import, and mends them when a folder they name is gone.
  gen: async () => (await import('./gen.ts')).genCommand(),
  plan: async () => (await import('./plan.ts')).planCommand(),
  get: async () => (await import('./ask/get.ts')).getCommand(),
  trace: async () => (await import('./ask/trace.ts')).traceCommand(),
  why: async () => (await import('./ask/why.ts')).whyCommand(),
  history: async () => (await import('./ask/history.ts')).historyCommand(),
  graph: async () => (await import('./ask/graph.ts')).graphCommand(),
  diff: async () => (await import('./ask/diff.ts')).diffCommand(),
  replay: async () => (await import('./replay.ts')).replayCommand(),
  journal: async () => (await import('./journal.ts')).journalCommand(),
  reconcile: async () => (await import('./steer/reconcile.ts')).reconcileCommand(),
  interrupt: async () => (await import('./steer/interrupt.ts')).interruptCommand(),
  pause: async () => (await import('./steer/pause.ts')).pauseCommand(),
  resume: async () => (await import('./steer/pause.ts')).resumeCommand(),
  retry: async () => (await import('./steer/one-item.ts')).retryCommand(),
  skip: async () => (await import('./steer/one-item.ts')).skipCommand(),
  doctor: async () => (await import('./doctor.ts')).doctorCommand(),
  completion: async () => (await import('./completion.ts')).completionCommand(),
  delete: async () => (await import('./steer/delete.ts')).deleteCommand(),
}

/** One screen for all commands: what they take, and the second half of what they do, is in their own help. */
const FITTING = {
  subcommandTerm: (command: Command) => command.name(),
  // `pawl help why` is `pawl why --help`, which is told.
  visibleCommands: (command: Command) => new Help().visibleCommands(command).filter((one) => one.name() !== 'help'),
  subcommandDescription: (command: Command) => command.summary() || (command.description().split(/[,:;(]/, 1)[0] ?? ''),
}

const EXAMPLES = `
Examples:
  pawl why inst/shop    why it has failed, or waits`

/** For the scripts of shells; no command of people. */
const COMPLETE = '__complete'

async function loadCommand(name: string): Promise<Command | undefined> {
  if (Object.hasOwn(COMMANDS, name)) return await COMMANDS[name]?.()
  return (await import('./wing-commands.ts')).wingCommand(name)
}

/** All, or the one that is asked for. Registries of wings are loaded by no command of Pawl's own: one of them mends these. */
async function namesFor(first: string | undefined): Promise<readonly string[]> {
  if (first !== undefined && Object.hasOwn(COMMANDS, first)) return [first]
  const { COMMANDS: ofWings } = await import('../../activities/commands.gen.ts')
  const names = ofWings.map(({ name }) => name)
  return first !== undefined && names.includes(first) ? [first] : [...Object.keys(COMMANDS), ...names]
}

/**
 * The command line with all commands, or with the one that the first argument names. Its options are positional: an option after a command belongs to that
 * command, as in `pawl gen types --version v1`.
 */
export async function createProgram(first: string | undefined): Promise<Command> {
  const program = new Command('pawl')
    .description('A durable reconcile engine for Kubernetes')
    .version(PAWL_VERSION)
    .enablePositionalOptions()
    .configureHelp(FITTING)
    .addHelpText('after', EXAMPLES)
  if (first === COMPLETE) {
    const { completeCommand } = await import('./completion.ts')
    const all = [...(await namesFor(undefined)), ...(await wingPrograms()).map(({ name }) => name)]
    return program.addCommand(completeCommand(all, loadCommand))
  }
  const names = await namesFor(first)
  for (const name of names) {
    // To refuse a word, or to say a version, their names are enough.
    const command = isHelp(first) || name === first ? await loadCommand(name) : new Command(name)
    if (command !== undefined) program.addCommand(command)
  }
  const programs = names.includes(first ?? '') ? [] : await wingPrograms()
  for (const { name, summary } of programs) program.command(name).description(summary)
  return program
}

/** What wings have beside commands; their arguments are their own. */
async function wingPrograms() {
  return (await import('../../activities/programs.gen.ts')).PROGRAMS
}

/** It asks for help, or stands before a command. */
function isHelp(first: string | undefined): boolean {
  if (first === undefined || first === 'help') return true
  return first.startsWith('-') && first !== '--version' && first !== '-V'
}
