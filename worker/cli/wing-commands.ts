// The commands that wings have for people: `pawl NAME VERB`, made from the values of the registry, and done with the person's own rights.

import { Command, Option } from 'commander'

import { type CommandDone, CommandUsageError, type WingCommand, type WingCommands } from '../../activities/command.ts'
import { COMMANDS } from '../../activities/commands.gen.ts'
import { UsageError } from '../server/usage-error.ts'
import { shown } from './ask/texts.ts'
import { withExamples } from './help.ts'
import { asPerson, personName, type PersonFlags } from './person.ts'
import { reasonIn } from './steer/open-object.ts'
import { parseOneOf } from './usage.ts'
import { yamlText } from './yaml-text.ts'

const FORMATS = ['text', 'json', 'yaml'] as const

interface Flags extends PersonFlags {
  readonly reason?: string
  readonly output: (typeof FORMATS)[number]
}

/** The command of a name, with those below it; undefined where no wing has it. */
export function wingCommand(name: string): Command | undefined {
  const found = COMMANDS.find((one) => one.name === name)
  return found && groupOf(found)
}

function groupOf({ name, summary, commands }: WingCommands): Command {
  const group = new Command(name).description(summary)
  for (const one of commands) group.addCommand(commandOf(one))
  return group
}

function commandOf({ name, description, options, examples, load }: WingCommand): Command {
  const command = new Command(name).summary(description.split(';', 1)[0] ?? '').description(description)
  for (const { flags, text, conflicts = [] } of options)
    command.addOption(new Option(flags, text).conflicts([...conflicts]))
  command
    .option('--reason <text>', 'why, for those who look at it later')
    .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'text')
    .option('-n, --namespace <name>', "the namespace (default: that of the kubeconfig's context)")
    .option('--context <name>', 'context of the kubeconfig (default: its current one)')
    .option('--kubeconfig <file>', 'the cluster and your account (default: $KUBECONFIG, else that of pawl dev)')
    .option('--data-dir <dir>', 'the data folder that was given to pawl dev')
    .action(async (flags: Flags) => {
      process.exitCode = await runCommand(
        load,
        options.map(({ flags: one }) => longName(one)),
        flags,
      )
    })
  return withExamples(command, ...(examples as [string, ...string[]]))
}

/** `--no-wait <x>` is `no-wait`. */
function longName(flags: string): string {
  return /--([a-z-]+)/.exec(flags)?.[1] ?? ''
}

async function runCommand(load: WingCommand['load'], names: readonly string[], flags: Flags): Promise<number> {
  const why = reasonIn(flags.reason)
  const values = flags as unknown as Readonly<Record<string, string | true | undefined>>
  const given = Object.fromEntries(names.map((name) => [name, values[camelCase(name)]]))
  const isText = flags.output === 'text'
  const progress = (line: string) => (isText ? process.stdout : process.stderr).write(`${shown(line, LONGEST_LINE)}\n`)
  return await asPerson(flags, async (kube, namespace) => {
    const { run } = await load()
    const who = await personName(kube)
    const done = await run({ kube, namespace, who, why, given, progress }).catch((error: unknown) => {
      throw error instanceof CommandUsageError ? new UsageError(error.message, { cause: error }) : error
    })
    process.stdout.write(await written(done, flags.output))
    return done.exitCode
  })
}

const LONGEST_LINE = 4000

async function written({ lines, data }: CommandDone, output: Flags['output']): Promise<string> {
  if (output === 'json') return `${JSON.stringify(data, null, 2)}\n`
  if (output === 'yaml') return await yamlText(data)
  return lines.map((line) => `${/^ */.exec(line)?.[0] ?? ''}${shown(line, LONGEST_LINE)}\n`).join('')
}

function camelCase(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
