// The command line `pawl`: one file per command in cli/, and the commands and programs that wings have. Started by pawl.js, which picks the right Node.

import { Command, Help } from 'commander'

import { keepCompiled } from './cli/compile-cache.ts'
import { runProgram } from './cli/usage.ts'
import { readConfig } from './server/config.ts'
import { PAWL_VERSION } from './server/version.ts'

keepCompiled(readConfig().cacheDir)

/** Each is loaded for itself: what one needs is no other's to wait for. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  dev: async () => (await import('./cli/dev.ts')).devCommand(),
  migrate: async () => (await import('./cli/migrate.ts')).migrateCommand(),
  bridge: async () => (await import('./cli/serve.ts')).bridgeCommand(),
  worker: async () => (await import('./cli/serve.ts')).workerCommand(),
  webhook: async () => (await import('./cli/serve.ts')).webhookCommand(),
  api: async () => (await import('./cli/serve.ts')).apiCommand(),
  // It writes the registries that the other commands import, and mends them when a folder they name is gone.
  gen: async () => (await import('./cli/gen.ts')).genCommand(),
  plan: async () => (await import('./cli/plan.ts')).planCommand(),
  get: async () => (await import('./cli/ask/get.ts')).getCommand(),
  trace: async () => (await import('./cli/ask/trace.ts')).traceCommand(),
  why: async () => (await import('./cli/ask/why.ts')).whyCommand(),
  history: async () => (await import('./cli/ask/history.ts')).historyCommand(),
  graph: async () => (await import('./cli/ask/graph.ts')).graphCommand(),
  diff: async () => (await import('./cli/ask/diff.ts')).diffCommand(),
  replay: async () => (await import('./cli/replay.ts')).replayCommand(),
  journal: async () => (await import('./cli/journal.ts')).journalCommand(),
  reconcile: async () => (await import('./cli/steer/reconcile.ts')).reconcileCommand(),
  interrupt: async () => (await import('./cli/steer/interrupt.ts')).interruptCommand(),
  pause: async () => (await import('./cli/steer/pause.ts')).pauseCommand(),
  resume: async () => (await import('./cli/steer/pause.ts')).resumeCommand(),
  retry: async () => (await import('./cli/steer/one-item.ts')).retryCommand(),
  skip: async () => (await import('./cli/steer/one-item.ts')).skipCommand(),
  doctor: async () => (await import('./cli/doctor.ts')).doctorCommand(),
  completion: async () => (await import('./cli/completion.ts')).completionCommand(),
  delete: async () => (await import('./cli/steer/delete.ts')).deleteCommand(),
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
  return (await import('./cli/wing-commands.ts')).wingCommand(name)
}

/** All, or the one that is asked for. Registries of wings are loaded by no command of Pawl's own: one of them mends these. */
async function namesFor(first: string | undefined): Promise<readonly string[]> {
  if (first !== undefined && Object.hasOwn(COMMANDS, first)) return [first]
  const { COMMANDS: ofWings } = await import('../activities/commands.gen.ts')
  const names = ofWings.map(({ name }) => name)
  return first !== undefined && names.includes(first) ? [first] : [...Object.keys(COMMANDS), ...names]
}

// Positional options: what stands behind a command is the command's, as in `pawl gen types --version v1`.
async function createProgram(first: string | undefined): Promise<Command> {
  const program = new Command('pawl')
    .description('A durable reconcile engine for Kubernetes')
    .version(PAWL_VERSION)
    .enablePositionalOptions()
    .configureHelp(FITTING)
    .addHelpText('after', EXAMPLES)
  if (first === COMPLETE) {
    const { completeCommand } = await import('./cli/completion.ts')
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
  return (await import('../activities/programs.gen.ts')).PROGRAMS
}

async function runByName([first, ...args]: readonly string[]): Promise<number | undefined> {
  if (first === undefined || Object.hasOwn(COMMANDS, first)) return undefined
  const { findProgram, runWingProgram } = await import('./program.ts')
  const found = findProgram(first)
  return found && (await runWingProgram(found, args))
}

/** It asks for help, or stands before a command. */
function isHelp(first: string | undefined): boolean {
  if (first === undefined || first === 'help') return true
  return first.startsWith('-') && first !== '--version' && first !== '-V'
}

// Whoever reads may have read enough, as `head` has.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})
const argv = process.argv.slice(2)
const exitCode = (await runByName(argv)) ?? (await runProgram(await createProgram(argv[0]), argv))
// A pipe takes 64 KB at once: the rest lies here until somebody reads, and is lost with the process.
await Promise.all([drained(process.stdout), drained(process.stderr)])
// Handlers and sockets of a command must not keep a finished one alive.
process.exit(exitCode)

async function drained(stream: NodeJS.WriteStream): Promise<void> {
  await new Promise<void>((done) => stream.write('', () => done()))
}
