// The commands of wings, `pawl NAME VERB`, created from the registry and run with the user's own permissions.

import { writeJson } from '../../workflows/kit/index.ts'
import { Command, Option } from 'commander'

import { type CommandDone, CommandUsageError, type WingCommand, type WingCommands } from '../../activities/command.ts'
import { COMMANDS } from '../../activities/commands.gen.ts'
import { UsageError } from '../server/usage-error.ts'
import { linesText, withWriteFlags, withReason, withExamples } from './options.ts'
import { withUserClient, userName, type UserFlags } from './user.ts'
import { reasonIn } from './steer/open-object.ts'
import { yamlText } from './yaml-text.ts'

const FORMATS = ['text', 'json', 'yaml'] as const

interface Flags extends UserFlags {
  readonly reason?: string
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

function groupOf({ name, summary, commands }: WingCommands): Command {
  const group = new Command(name).description(summary)
  for (const one of commands) group.addCommand(commandOf(one))
  return group
}

function commandOf({ name, description, options, examples, acts, load }: WingCommand): Command {
  const command = new Command(name).summary(description.split(';', 1)[0] ?? '').description(description)
  const own = options.map(({ flags, text, conflicts = [] }) => new Option(flags, text).conflicts([...conflicts]))
  for (const option of own) command.addOption(option)
  if (acts === true) withReason(command)
  withWriteFlags(command, FORMATS, 'the namespace').action(async (flags: Flags) => {
    process.exitCode = await runCommand(load, own, flags)
  })
  return withExamples(command, ...(examples as [string, ...string[]]))
}

async function runCommand(load: WingCommand['load'], own: readonly Option[], flags: Flags): Promise<number> {
  const why = reasonIn(flags.reason)
  const values = flags as unknown as Readonly<Record<string, string | true | undefined>>
  const given = Object.fromEntries(own.map((option) => [option.name(), values[option.attributeName()]]))
  const isText = flags.output === 'text'
  const progress = (line: string) => (isText ? process.stdout : process.stderr).write(linesText([line]))
  return await withUserClient(flags, async (kube, namespace) => {
    const { run } = await load()
    const who = await userName(kube)
    const done = await run({ kube, namespace, who, why, given, progress }).catch((error: unknown) => {
      throw error instanceof CommandUsageError ? new UsageError(error.message, { cause: error }) : error
    })
    process.stdout.write(await written(done, flags.output))
    return done.exitCode
  })
}

/** @returns the exit code. */
export async function runWingCheck(
  load: WingCommand['load'],
  flags: UserFlags & { readonly output: 'text' | 'json' },
): Promise<number> {
  return await withUserClient(flags, async (kube, namespace) => {
    const { run } = await load()
    const given = flags.namespace === undefined ? { 'all-namespaces': true as const } : {}
    const done = await run({ kube, namespace, who: '', why: undefined, given, progress: () => undefined })
    process.stdout.write(await written(done, flags.output))
    return done.exitCode
  })
}

async function written({ lines, data }: CommandDone, output: Flags['output']): Promise<string> {
  if (output === 'json') return `${writeJson(data, 2)}\n`
  return output === 'yaml' ? await yamlText(data) : linesText(lines)
}
