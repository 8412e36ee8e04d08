// The command `pawl replay`: a job once more, pass by pass, as its history and the journal have it; nothing is called and nothing written.

import { Command } from 'commander'

import { readConfig } from '../server/config.ts'
import { UsageError } from '../server/usage-error.ts'
import { type AskFlags, withAskFlags } from './ask/open-journal.ts'
import { coloured, plain } from './ask/texts.ts'
import { INSPECT_OPTION, type InspectAddress, parseInspectAddress, replayInspected } from './replay/inspect.ts'
import { type CodeFlags, codeOf, fetchJob, type LoadedJob, readJob } from './replay/load.ts'
import { stepThrough } from './replay/stepper.ts'
import { temporalPlace, type TemporalPlaceFlags, withTemporalFlags } from './temporal-place.ts'
import { joined, parseOneOf } from './usage.ts'

interface ReplayFlags extends AskFlags, TemporalPlaceFlags, CodeFlags {
  readonly file?: string
  readonly to?: string
  readonly inspect?: string | true
  readonly payloadKey?: string
  readonly output: 'text' | 'json'
}

const FORMATS = ['text', 'json'] as const

const EXAMPLES = `
Examples:
  pawl replay inst/shop                 the newest job, pass by pass; keys on a terminal: n, p, a number, q
  pawl replay inst/shop 0c5b2a --to 3   the first three passes of this job
  pawl replay --file shop.json -o json  of what pawl journal export wrote
  pawl replay inst/shop --inspect       under a debugger, with breakpoints in the source of the workflows`

export function replayCommand(): Command {
  const bare = new Command('replay')
    .description('step through a job again: what woke each pass, what it saw, decided, called and wrote')
    .argument('[object and job...]', 'the object, and a job of it (default: the newest)')
    .option('--file <file>', 'what pawl journal export wrote, in place of an object')
    .option('--to <pass>', 'the passes up to this one')
    .option(...INSPECT_OPTION)
    .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'text')
    .option('--controllers <files>', 'modules of controllers in level mode, as the worker has them', joined)
    .option('--workflow-bundle <file>', 'a bundle of the workflows, as the worker has it')
    .option('--payload-key <file>', 'keys by which payloads are sealed (default: $PAWL_PAYLOAD_KEY)')
  const command = withTemporalFlags(withAskFlags(bare))
  return command.addHelpText('after', EXAMPLES).action(async (words: readonly string[], flags: ReplayFlags) => {
    const inspected = inspectAddress(flags)
    const job = await loaded(words, flags, command)
    if (inspected === undefined) await show(job, flags)
    else await inspect(job, flags, inspected)
  })
}

async function loaded(words: readonly string[], flags: ReplayFlags, command: Command): Promise<LoadedJob> {
  const { file } = flags
  if (file !== undefined && words.length > 0)
    throw new UsageError(`found ${words.join(' ')} beside --file, expected one of them`)
  if (file !== undefined) return await readJob(file)
  if (words.length === 0) throw new UsageError('found no object, expected one such as inst/shop, or --file')
  return await fetchJob(words, flags, await temporalPlace(flags, readConfig(), command))
}

/** @throws UsageError */
function inspectAddress({ inspect, to, output }: ReplayFlags): InspectAddress | undefined {
  if (inspect === undefined) return undefined
  if (to !== undefined || output !== 'text')
    throw new UsageError(`found ${to === undefined ? '--output' : '--to'} beside --inspect, expected one of them`)
  return parseInspectAddress(inspect)
}

/** @throws an Error when it went another way than its history. */
async function inspect(job: LoadedJob, flags: ReplayFlags, address: InspectAddress): Promise<void> {
  const payloadKeyPath = flags.payloadKey ?? readConfig().payloadKeyPath
  const code = await codeOf(flags, payloadKeyPath)
  const problem = await replayInspected(job, { code, payloadKeyPath }, address, (line) =>
    process.stdout.write(`${line}\n`),
  )
  if (problem !== undefined) throw new Error(problem)
  process.stdout.write('The replay has come to the end of the history.\n')
}

async function show(job: LoadedJob, flags: ReplayFlags): Promise<void> {
  const payloadKeyPath = flags.payloadKey ?? readConfig().payloadKeyPath
  const [{ recordRuns }, { replayedJob, upTo }, { headText, passText }] = await Promise.all([
    import('./replay/record.ts'),
    import('./replay/replayed-job.ts'),
    import('./replay/text.ts'),
  ])
  const code = await codeOf(flags, payloadKeyPath)
  for await (const recording of recordRuns({ code, payloadKeyPath }, [job])) {
    const replayed = replayedJob(job, recording)
    const passes = flags.to === undefined ? replayed.passes : upTo(replayed, flags.to)
    if (flags.output === 'json') {
      process.stdout.write(`${JSON.stringify({ ...replayed, passes }, null, 2)}\n`)
      continue
    }
    const paint = process.stdout.isTTY && process.stdout.hasColors() ? coloured : plain
    const pages = passes.map((one) => passText(one, replayed.passes.at(-1)?.pass ?? 0, paint))
    process.stdout.write(headText(replayed, paint))
    if (pages.length > 1 && process.stdin.isTTY && process.stdout.isTTY)
      await stepThrough(
        passes.map(({ pass }) => pass),
        (index) => pages[index] ?? '',
      )
    else process.stdout.write(pages.join(''))
  }
}
