// The command `pawl replay`: steps through a past job by its history and the journal, or replays past jobs with the
// workflows of another build. It calls no activities and writes nothing.

import { Command } from 'commander'

import { readConfig } from '../server/config.ts'
import { UsageError } from '../server/usage-error.ts'
import { type JournalFlags, addJournalFlags } from './query/open-journal.ts'
import { foldFlags, LOCATION_FLAGS, TEMPORAL_DETAILS } from './options.ts'
import { findTemporal, type TemporalAddressFlags, withTemporalFlags } from './temporal-address.ts'
import { joined, parseOneOf } from './usage.ts'

interface ReplayFlags extends JournalFlags, TemporalAddressFlags {
  readonly file?: string
  readonly to?: string
  readonly run?: string
  readonly inspect?: string | true
  readonly against?: string
  readonly againstControllers?: string
  readonly since?: string
  readonly allNamespaces?: boolean
  readonly controllers?: string
  readonly workflowBundle?: string
  readonly payloadKey?: string
  readonly timeout: string
  readonly output: 'text' | 'wide' | 'json'
}

const FORMATS = ['text', 'wide', 'json'] as const

const RARE_FLAGS = [
  ...['run', 'against-controllers', 'controllers', 'workflow-bundle', 'payload-key'],
  ...LOCATION_FLAGS,
  ...TEMPORAL_DETAILS,
]

const EXAMPLES = `
Examples:
  pawl replay inst/shop                 the newest job; keys: n, p, a number, q
  pawl replay inst/shop 0c5b2a --to 3   the first three passes of this job
  pawl replay --file shop.json -o json  a job in a file of pawl journal export
  pawl replay inst/shop --inspect       the same under a debugger
  pawl replay --against ../next --since 7d -A
    the jobs of a week with another build; exit code 0: no difference,
    3: differences, 4: some jobs were not compared`

export function replayCommand(): Command {
  const bare = new Command('replay')
    .description('step through a past job: what woke each pass, and what the pass read, decided, called and wrote')
    .argument('[object and job...]', 'the object, and a job of it (default: the newest)')
    .option('--file <path>', 'a file of pawl journal export, instead of an object; with --against also a folder')
    .option('--run <id>', 'an earlier run of an object in level mode; Temporal lists the IDs (default: the newest)')
    .option('--to <pass>', 'show the passes up to this one')
    .option(
      '--inspect [address]',
      'open this port, or host and port, of this machine for a debugger (default: 9229; 0: any free port)',
    )
    .option('--against <build>', 'replay past jobs with another build: a folder of Pawl, or a bundle of workflows')
    .option(
      '--against-controllers <files>',
      'controller modules of the other build (default: the value of --controllers)',
      joined,
    )
    .option('--since <duration>', 'with --against: the jobs that started in this time before now, such as 7d')
    .option('-A, --all-namespaces', 'with --against: the jobs of all namespaces')
    .option('--timeout <duration>', 'time limit of the replay of each run, such as 5m; not with --inspect', '60s')
    .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'text')
    .option('--controllers <files>', 'modules of controllers in level mode, as the worker has them', joined)
    .option('--workflow-bundle <file>', 'a bundle of the workflows, as the worker has it')
    .option('--payload-key <file>', 'keys that encrypt payloads (default: $PAWL_PAYLOAD_KEY)')
  const command = withTemporalFlags(addJournalFlags(bare))
  return foldFlags(command, RARE_FLAGS)
    .addHelpText('after', EXAMPLES)
    .action(async (words: readonly string[], flags: ReplayFlags) => {
      refuseContradictions(words, flags)
      refuseBesideInspect(flags)
      const { durationMs } = await import('./journal.ts')
      const limitMs = durationMs('--timeout', flags.timeout)
      const config = readConfig()
      const payloadKeyPath = flags.payloadKey ?? config.payloadKeyPath
      const target = flags.file === undefined ? await findTemporal(flags, config, command) : undefined
      const { against, file } = flags
      if (against !== undefined) {
        const { runUpgradeGate } = await import('./replay/upgrade-gate.ts')
        process.exitCode = await runUpgradeGate({ ...flags, against, limitMs }, payloadKeyPath, target)
        return
      }
      const [{ fetchJob, readJob }, { showJob }, { nextAfterBug, nextReplay }, { objectAndJobs }] = await Promise.all([
        import('./replay/load.ts'),
        import('./replay/show-job.ts'),
        import('./query/next-step.ts'),
        import('./query/diff.ts'),
      ])
      const job = file === undefined ? await fetchJob(words, flags, target) : await readJob(file)
      if (flags.inspect === undefined) {
        const inspect = `${nextReplay(undefined, words, flags)} --inspect`
        const next =
          file === undefined ? { inspect, afterBug: nextAfterBug(objectAndJobs(words)[0], flags) } : undefined
        await showJob(job, { ...flags, next, limitMs }, payloadKeyPath)
      } else {
        const { inspectJob } = await import('./replay/inspect.ts')
        await inspectJob(job, { ...flags, inspect: flags.inspect }, payloadKeyPath)
      }
    })
}

/** @throws UsageError for flags that exclude each other. */
function refuseContradictions(words: readonly string[], flags: ReplayFlags): void {
  const { file, against, since, to, run, inspect, allNamespaces } = flags
  const given = {
    object: words.length > 0 ? words.join(' ') : undefined,
    inspect: named(inspect, '--inspect'),
    to: named(to, '--to'),
    run: named(run, '--run'),
    since: named(since, '--since'),
    all: named(allNamespaces, '-A'),
  }
  const refuse = (found: string | undefined, problem: string, expected: string) => {
    if (found !== undefined) throw new UsageError(`replay: ${found} ${problem}; ${expected}`)
  }
  if (against === undefined) refuse(given.since ?? given.all, 'without --against', 'add --against BUILD')
  else
    refuse(
      given.object ?? given.to ?? given.run ?? given.inspect,
      'together with --against',
      'use --since or --file, which select many jobs',
    )
  if (file !== undefined) refuse(given.object ?? given.since ?? given.run, 'together with --file', 'use one of them')
  else if (against === undefined)
    refuse(given.object === undefined ? 'no object' : undefined, 'and no --file', 'add an object, such as inst/shop')
}

/** @throws UsageError */
function refuseBesideInspect({ inspect, to, output }: ReplayFlags): void {
  const found = named(to, '--to') ?? (output === 'json' ? '-o json' : undefined)
  if (inspect !== undefined && found !== undefined)
    throw new UsageError(`replay: ${found} together with --inspect; use one of them`)
}

function named(value: unknown, flag: string): string | undefined {
  return value === undefined ? undefined : flag
}
