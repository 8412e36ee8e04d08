// The command `pawl journal prune`: what retention does every hour, now and as far back as one says. Without `--yes` it only tells.

import { Command } from 'commander'

import { openDatabase } from '../../../activities/journal/database.ts'
import { type PruningPreview, previewPruning, pruneJournal } from '../../../activities/journal/write/retention.ts'
import { parseDuration } from '../../../workflows/kit/index.ts'
import { readConfig } from '../../server/config.ts'
import { UsageError } from '../../server/usage-error.ts'
import { type AskFlags, journalURL } from '../ask/open-journal.ts'
import { DATA_DIR_OPTION } from '../dev-folder.ts'
import { parseOneOf } from '../usage.ts'

interface PruneFlags extends Pick<AskFlags, 'databaseUrl' | 'dataDir'> {
  readonly before?: string
  readonly keep?: string
  readonly yes?: boolean
  readonly output: 'text' | 'json'
}

export function pruneCommand(): Command {
  return new Command('prune')
    .description('forget events, jobs and deleted objects of old days, but what is needed; tells only, without --yes')
    .option('--before <time>', 'what was over then, such as 2026-02-03T00:00:00Z')
    .option('--keep <duration>', 'what was over so long ago, such as 7d or 36h')
    .option('--yes', 'do it')
    .option('-o, --output <format>', 'text, json', parseOneOf(['text', 'json'] as const), 'text')
    .option('--database-url <url>', 'PostgreSQL of the journal (default: $PAWL_DATABASE_URL, else that of pawl dev)')
    .option(...DATA_DIR_OPTION)
    .addHelpText('after', '\nExamples:\n  pawl journal prune --keep 7d\n  pawl journal prune --before 2026-02-03 --yes')
    .action(async (flags: PruneFlags) => {
      const before = beforeOf(flags, new Date())
      const db = openDatabase(await journalURL({ ...flags, cluster: '' }, readConfig()), 2, {
        readOnly: flags.yes !== true,
        // Counting goes through whole days.
        statementMs: 0,
        answerMs: 0,
      })
      try {
        const found = await previewPruning(db, before)
        if (flags.yes === true) {
          const now = new Date()
          const done = await pruneJournal(db, now.getTime() - before.getTime(), now)
          if (done === undefined)
            throw new Error(
              'another process prunes the journal, expected none: a bridge does it once an hour; try again',
            )
        }
        process.stdout.write(
          flags.output === 'json'
            ? `${JSON.stringify({ ...found, done: flags.yes === true }, null, 2)}\n`
            : prunableText(found, flags.yes === true),
        )
      } finally {
        await db.destroy()
      }
    })
}

const DAY_MS = 86_400_000

/** @throws UsageError unless one of both says a time that is over. */
export function beforeOf({ before, keep }: Pick<PruneFlags, 'before' | 'keep'>, now: Date): Date {
  if ((before === undefined) === (keep === undefined))
    throw new UsageError(`found ${before === undefined ? 'neither' : 'both'}, expected --before or --keep`)
  const time = keep === undefined ? Date.parse(before ?? '') : now.getTime() - keptMs(keep)
  if (Number.isNaN(time)) throw new UsageError(`--before is '${before ?? ''}', expected a time such as 2026-02-03`)
  if (time > now.getTime()) throw new UsageError(`--before is '${before ?? ''}', expected a time that is over`)
  return new Date(time)
}

function keptMs(keep: string): number {
  return durationMs('--keep', keep)
}

/** Days, or what Pawl takes for a duration elsewhere. @throws UsageError */
export function durationMs(flag: string, text: string): number {
  const days = /^(\d{1,5})d$/.exec(text)
  if (days !== null) return Number(days[1]) * DAY_MS
  const found = parseDuration(text)
  if (typeof found === 'number') return found
  throw new UsageError(`${flag} is '${text}', expected a duration such as 7d or 36h`)
}

function prunableText({ before, partitions, rows, ended }: PruningPreview, isDone: boolean): string {
  const [days, drop, kept] = isDone ? ['were', 'dropped', 'lost'] : ['are', 'would be dropped', 'would lose']
  const lines = partitions.map(({ name, events, isWhole }) =>
    isWhole ? `${name}: ${drop}, ${events} events` : `${name}: ${kept} ${events} events; something needs the others`,
  )
  const others = Object.entries({ 'events of no day': rows, ...ended }).filter(([, count]) => count > 0)
  const left = others.map(([table, count]) => `${table}: ${count} rows ${isDone ? 'went' : 'would go'}`)
  const nothing = lines.length + left.length === 0 ? [`nothing that was over before ${before.toISOString()}`] : []
  const hint =
    isDone || nothing.length > 0 ? [] : [`These ${days} over before ${before.toISOString()}. To do it: --yes`]
  return [...lines, ...left, ...nothing, ...hint].map((line) => `${line}\n`).join('')
}
