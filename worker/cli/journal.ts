// The commands `pawl journal export`, `verify` and `prune`, for operators of the journal.

import { Command } from 'commander'
import { writeFile } from 'node:fs/promises'

import { writeJson, parseDuration } from '../../workflows/kit/index.ts'
import { readConfig } from '../server/config.ts'
import {
  withJournal,
  type JournalFlags,
  addJournalFlags,
  type JournalSession,
  journalURL,
} from './query/open-journal.ts'
import { foldFlags, TEMPORAL_DETAILS } from './options.ts'
import { findTemporal, type TemporalAddressFlags, withTemporalFlags, TEMPORAL_HINT } from './temporal-address.ts'
import { exportedJob, findNamedJob } from './exported-job.ts'
import {
  violatedRules,
  type ViolatedRule,
  sequenceGaps,
  openRuns,
  RULES,
} from '../../activities/journal/read/consistency-rules.ts'
import type { TemporalTarget } from '../server/temporal.ts'
import { exitCodeOf, type Finding, findingsText } from './doctor/findings.ts'
import { parseOneOf } from './usage.ts'
import { openDatabase } from '../../activities/journal/database.ts'
import { type PruningPreview, previewPruning, pruneJournal } from '../../activities/journal/write/retention.ts'
import { UsageError } from '../server/usage-error.ts'
import { DATA_DIR_OPTION } from './dev-folder.ts'

export function journalCommand(): Command {
  return new Command('journal')
    .summary('export a job, verify the journal, delete old rows')
    .description('export a job of the journal, check the consistency of the journal, delete old rows')
    .addCommand(exportCommand())
    .addCommand(verifyCommand())
    .addCommand(pruneCommand())
}

// `pawl journal export`: writes one job to a file for a later replay.

interface ExportFlags extends JournalFlags, TemporalAddressFlags {
  readonly out?: string
}

function exportCommand(): Command {
  const bare = new Command('export')
    .description("write a job's run and all its rows of the journal as JSON")
    .argument('<object and job...>', 'the object, and a job of it (default: the newest)')
    .option('--out <file>', 'the file to write (default: standard output)')
  const command = withTemporalFlags(addJournalFlags(bare))
  return foldFlags(command, TEMPORAL_DETAILS)
    .addHelpText(
      'after',
      '\nExamples:\n  pawl journal export inst/shop --out shop.json\n  pawl journal export inst/shop 0c5b2a',
    )
    .action(async (words: readonly string[], flags: ExportFlags) => {
      const target = await findTemporal(flags, readConfig(), command)
      const exported = await withJournal(
        flags,
        async (asked) => await exportedJob(asked, await findNamedJob(asked, words), target),
      )
      if (exported.history === undefined)
        process.stderr.write(
          'pawl: warning: the file has no history: Temporal has deleted it, or its address is unknown (--temporal-address)\n',
        )
      if (exported.journal?.cut.length)
        process.stderr.write(`pawl: warning: the file has only the newest rows of ${exported.journal.cut.join(', ')}\n`)
      const { unseen = 0 } = exported.journal ?? {}
      if (unseen > 0)
        process.stderr.write(`pawl: warning: the file lacks ${unseen} rows about objects that you may not read\n`)
      const text = `${writeJson(exported)}\n`
      if (flags.out === undefined) process.stdout.write(text)
      else await writeFile(flags.out, text, { mode: 0o600 })
    })
}

// `pawl journal verify`: checks that the journal's rows are consistent with each other and with Temporal.

interface VerifyFlags extends JournalFlags, TemporalAddressFlags {
  readonly output: 'text' | 'json'
}

/** Number of open jobs that are checked in Temporal, the oldest first. */
const MOST_RUNS = 500

function verifyCommand(): Command {
  const bare = new Command('verify')
    .description('check the consistency of the journal; exit code 1 if rows contradict each other')
    .option('-o, --output <format>', 'text, json', parseOneOf(['text', 'json'] as const), 'text')
  const command = withTemporalFlags(addJournalFlags(bare))
  return foldFlags(command, TEMPORAL_DETAILS)
    .addHelpText('after', '\nExamples:\n  pawl journal verify\n  pawl journal verify --temporal-address localhost:7233')
    .action(async (flags: VerifyFlags) => {
      const target = await findTemporal(flags, readConfig(), command)
      await withJournal(flags, async (asked) => {
        const findings = await verify(asked, target)
        process.stdout.write(
          flags.output === 'json' ? `${JSON.stringify(findings, null, 2)}\n` : findingsText(findings, asked.paint),
        )
        process.exitCode = exitCodeOf(findings)
      })
    })
}

async function verify(asked: JournalSession, target: TemporalTarget | undefined): Promise<readonly Finding[]> {
  const broken = await violatedRules(asked)
  const { events, without } = await sequenceGaps(asked)
  const gaps =
    without === 0
      ? 'no number is missing'
      : `${without} numbers are missing: their transactions did not commit, or retention deleted the events`
  return [
    ...broken.flatMap(ruleFindings),
    { part: 'rules', verdict: 'ok', text: `${RULES.length - broken.length} of ${RULES.length} hold` },
    { part: 'numbers', verdict: 'ok', text: `newest ${events} events: ${gaps}` },
    ...(await runFindings(asked, target)),
  ]
}

function ruleFindings({ name, severity, expected, violations, isTruncated }: ViolatedRule): readonly Finding[] {
  const finding = (text: string): Finding => ({ part: name, verdict: severity, text })
  const findings = violations.map((violation) => finding(`${violation}; expected ${expected}`))
  return isTruncated ? [...findings, finding('further rows violate the same rule')] : findings
}

async function runFindings(asked: JournalSession, target: TemporalTarget | undefined): Promise<readonly Finding[]> {
  if (target === undefined)
    return [{ part: 'runs', verdict: 'skipped', text: `the address of Temporal is unknown; ${TEMPORAL_HINT}` }]
  const runs = await openRuns(asked, MOST_RUNS)
  const { missingRuns } = await import('./temporal-runs.ts')
  const missing = await missingRuns(
    target,
    runs.map(({ workflowID }) => workflowID),
  )
  const lost = runs.flatMap(({ workflowID, description }): Finding[] => {
    const state = missing.get(workflowID)
    const text = `${description}: the job is open, but its run is ${state ?? ''}; a running worker closes the job as lost`
    return state === undefined ? [] : [{ part: 'runs', verdict: 'bad', text }]
  })
  const text = `${runs.length - lost.length} of ${runs.length} open jobs have a run in Temporal`
  return [...lost, { part: 'runs', verdict: 'ok', text }]
}

// `pawl journal prune`: the hourly retention, run now and for a given time. Without `--yes` it only reports.

interface PruneFlags extends Pick<JournalFlags, 'databaseUrl' | 'dataDir'> {
  readonly before?: string
  readonly keep?: string
  readonly yes?: boolean
  readonly output: 'text' | 'json'
}

function pruneCommand(): Command {
  return new Command('prune')
    .description(
      'delete old events, jobs and deleted objects that open jobs do not need; without --yes only report them',
    )
    .option('--before <time>', 'remove data that ended before this time, such as 2026-02-03T00:00:00Z')
    .option('--keep <duration>', 'keep data of this period, such as 7d or 36h')
    .option('--yes', 'delete the rows')
    .option('-o, --output <format>', 'text, json', parseOneOf(['text', 'json'] as const), 'text')
    .option('--database-url <url>', 'PostgreSQL of the journal (default: $PAWL_DATABASE_URL, else from pawl dev)')
    .option(...DATA_DIR_OPTION)
    .addHelpText('after', '\nExamples:\n  pawl journal prune --keep 7d\n  pawl journal prune --before 2026-02-03 --yes')
    .action(async (flags: PruneFlags) => {
      const before = beforeOf(flags, new Date())
      const db = openDatabase(await journalURL({ ...flags, cluster: '' }, readConfig()), 2, {
        readOnly: flags.yes !== true,
        // Counting reads whole partitions and may take long.
        statementMs: 0,
        answerMs: 0,
      })
      try {
        const violations = await previewPruning(db, before)
        if (flags.yes === true) {
          const now = new Date()
          const done = await pruneJournal(db, now.getTime() - before.getTime(), now)
          if (done === undefined)
            throw new Error('another process prunes the journal (each bridge does so once an hour); try again')
        }
        process.stdout.write(
          flags.output === 'json'
            ? `${JSON.stringify({ ...violations, done: flags.yes === true }, null, 2)}\n`
            : prunableText(violations, flags.yes === true),
        )
      } finally {
        await db.destroy()
      }
    })
}

const DAY_MS = 86_400_000

/** @throws UsageError unless exactly one of both is a time in the past. */
export function beforeOf({ before, keep }: Pick<PruneFlags, 'before' | 'keep'>, now: Date): Date {
  if ((before === undefined) === (keep === undefined))
    throw new UsageError(
      before === undefined ? '--before or --keep is missing' : '--before and --keep exclude each other',
    )
  const time = keep === undefined ? Date.parse(before ?? '') : now.getTime() - keptMs(keep)
  if (Number.isNaN(time))
    throw new UsageError(`--before: "${before ?? ''}" is not a time; expected for example 2026-02-03`)
  if (time > now.getTime())
    throw new UsageError(`--before: "${before ?? ''}" is in the future; expected a time in the past`)
  return new Date(time)
}

function keptMs(keep: string): number {
  return durationMs('--keep', keep)
}

/** A number of days, or a duration in Go's format. @throws UsageError */
export function durationMs(flag: string, text: string): number {
  const days = /^(\d{1,5})d$/.exec(text)
  if (days !== null) return Number(days[1]) * DAY_MS
  const violations = parseDuration(text)
  if (typeof violations === 'number') return violations
  throw new UsageError(`${flag}: "${text}" is not a duration; expected for example 7d or 36h`)
}

function prunableText({ before, partitions, rows, ended }: PruningPreview, isDone: boolean): string {
  const [drop, remains] = isDone ? ['dropped', 'lost'] : ['would be dropped', 'would lose']
  const lines = partitions.map(({ name, events, isWhole }) =>
    isWhole ? `${name}: ${drop}, ${events} events` : `${name}: ${remains} ${events} events; open jobs need the others`,
  )
  const others = Object.entries({ 'events without a partition': rows, ...ended }).filter(([, count]) => count > 0)
  const left = others.map(([table, count]) => `${table}: ${count} rows ${isDone ? 'deleted' : 'would be deleted'}`)
  const nothing = lines.length + left.length === 0 ? [`no rows ended before ${before.toISOString()}`] : []
  const hint =
    isDone || nothing.length > 0 ? [] : [`these rows ended before ${before.toISOString()}; add --yes to delete them`]
  return [...lines, ...left, ...nothing, ...hint].map((line) => `${line}\n`).join('')
}
