// The commands of wings, `pawl NAME VERB`, created from the registry and run with the user's own permissions.

import { writeJson } from '../../workflows/kit/index.ts'
import { Argument, Command, Option } from 'commander'

import {
  type CommandArgument,
  type CommandDone,
  type CommandOption,
  type CommandStart,
  CommandUsageError,
  type WingCommand,
  type WingCommands,
} from '../../activities/command.ts'
import { COMMANDS } from '../../activities/commands.gen.ts'
import { childEnvironment } from '../server/config.ts'
import { onSignals } from '../server/process.ts'
import { UsageError } from '../server/usage-error.ts'
import { completeNamesOf } from './complete/names-of.ts'
import { confirmWith } from './confirm.ts'
import { linesText, withWriteFlags, withReason, withExamples } from './options.ts'
import { withUserClient, userName, type UserFlags } from './user.ts'
import { reasonIn } from './steer/open-object.ts'
import { joined } from './usage.ts'
import { yamlText } from './yaml-text.ts'

const FORMATS = ['text', 'json', 'yaml'] as const

interface Flags extends UserFlags {
  readonly reason?: string
  readonly yes?: true
  readonly output: (typeof FORMATS)[number]
}

/** The checks of wings, which `pawl doctor` runs by a flag with the name. */
export const WING_CHECKS = COMMANDS.flatMap(({ name, summary, check }) =>
  check === undefined ? [] : [{ name, summary, check }],
)

/** The command with this name and its subcommands; undefined if no wing has it. */
export function wingCommand(name: string): Command | undefined {
  const found = COMMANDS.find((one) => one.name === name && one.commands.length > 0)
  return found && groupOf(found)
}

/** The commands of all wings have such names. */
export const WING_COMMAND_NAMES = COMMANDS.flatMap(({ name, commands }) => (commands.length === 0 ? [] : [name]))

function groupOf({ name, summary, commands, groups = {} }: WingCommands): Command {
  const group = new Command(name).description(summary)
  for (const one of commands) {
    const [first = '', second] = one.name.split(' ')
    if (second === undefined) group.addCommand(commandOf(first, one))
    else subgroupOf(group, first, groups[first]).addCommand(commandOf(second, one))
  }
  return group
}

function subgroupOf(group: Command, name: string, text = ''): Command {
  return group.commands.find((one) => one.name() === name) ?? group.command(name).description(text)
}

function commandOf(name: string, { description, options, examples, acts, asks, argument, load }: WingCommand): Command {
  const command = new Command(name).summary(description.split(';', 1)[0] ?? '').description(description)
  if (argument !== undefined) command.addArgument(argumentOf(argument))
  const own = options.map(optionOf)
  for (const option of own) command.addOption(option)
  if (asks === true) command.option('-y, --yes', 'do not ask before a change')
  if (acts === true) withReason(command)
  withWriteFlags(command, FORMATS, 'the namespace').action(async () => {
    process.exitCode = await runCommand(load, own, command.args, command.opts<Flags>())
  })
  return withExamples(command, ...(examples as [string, ...string[]]))
}

function argumentOf({ usage, text, namesOf }: CommandArgument): Argument {
  return completeNamesOf(new Argument(usage, text), namesOf)
}

function optionOf({ flags, text, conflicts = [], namesOf, isList }: CommandOption): Option {
  const option = completeNamesOf(new Option(flags, text), namesOf).conflicts([...conflicts])
  return isList === true ? option.argParser(joined) : option
}

async function runCommand(
  load: WingCommand['load'],
  own: readonly Option[],
  words: readonly string[],
  flags: Flags,
): Promise<number> {
  const why = reasonIn(flags.reason)
  const values = flags as unknown as Readonly<Record<string, string | true | undefined>>
  const given = Object.fromEntries(own.map((option) => [option.name(), values[option.attributeName()]]))
  const isText = flags.output === 'text'
  const progress = (line: string) => (isText ? process.stdout : process.stderr).write(linesText([line]))
  return await withUserClient(flags, async (kube, namespace) => {
    const { run } = await load()
    const who = await userName(kube)
    const place = { env: childEnvironment(), end: untilInterrupted(), confirm: confirmWith(flags.yes === true) }
    return await printed(run, { kube, namespace, who, why, words, given, progress, ...place }, flags.output)
  })
}

const GRACE_MS = 2000
/** As a shell reports the end by SIGINT. */
const INTERRUPTED = 130

/** Child processes and temporary folders of the command get some time to go. */
function untilInterrupted(): AbortSignal {
  const end = new AbortController()
  onSignals(['SIGINT', 'SIGTERM'], () => {
    end.abort()
    setTimeout(() => process.exit(INTERRUPTED), GRACE_MS).unref()
  })
  return end.signal
}

async function printed(
  run: (start: CommandStart) => Promise<CommandDone>,
  start: CommandStart,
  output: Flags['output'],
): Promise<number> {
  try {
    const done = await run(start)
    process.stdout.write(await written(done, output))
    return done.exitCode
  } catch (error) {
    if (start.end.aborted) return INTERRUPTED
    throw error instanceof CommandUsageError ? new UsageError(error.message, { cause: error }) : error
  }
}

/** @returns the exit code. */
export async function runWingCheck(
  load: WingCommand['load'],
  flags: UserFlags & { readonly output: 'text' | 'json' },
): Promise<number> {
  return await withUserClient(flags, async (kube, namespace) => {
    const { run } = await load()
    const given = flags.namespace === undefined ? { 'all-namespaces': true as const } : {}
    const user = { who: '', why: undefined, words: [], progress: () => undefined, confirm: confirmWith(false) }
    const place = { env: childEnvironment(), end: untilInterrupted() }
    return await printed(run, { kube, namespace, given, ...user, ...place }, flags.output)
  })
}

async function written({ lines, data }: CommandDone, output: Flags['output']): Promise<string> {
  if (output === 'json') return `${writeJson(data, 2)}\n`
  return output === 'yaml' ? await yamlText(data) : linesText(lines)
}
