// The command `pawl history`: the versions of an object that the journal knows.

import { Command } from 'commander'
import { stringify } from 'yaml'

import { eventsOf } from '../../../activities/journal/read/asked-events.ts'
import { parseDuration } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { parseOneOf } from '../usage.ts'
import { versionsIn } from './causes.ts'
import { findObjects } from './find-object.ts'
import { historyData, historyText, type Known, knownIn, versionAt } from './history-rows.ts'
import { type Asked, asking, type AskFlags, withAskFlags } from './open-journal.ts'
import { nameOf } from './texts.ts'

const FORMATS = ['text', 'json'] as const

interface HistoryFlags extends AskFlags {
  readonly at?: string
  readonly output: (typeof FORMATS)[number]
}

export function historyCommand(): Command {
  return withAskFlags(
    new Command('history')
      .description('list the versions of an object: when, from where, by whom, and what changed')
      .argument('<object...>', 'the object, such as inst/shop')
      .option(
        '--at <time>',
        'what the journal kept of it at this time: 2026-02-03T10:42:00Z, or 15m for 15 minutes ago',
      )
      .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'text'),
  )
    .addHelpText('after', '\nExamples:\n  pawl history inst/shop\n  pawl history exec shop --at 15m')
    .action(async (words: readonly string[], flags: HistoryFlags) => {
      process.stdout.write(await asking(flags, async (asked) => await history(asked, words, flags)))
    })
}

async function history(asked: Asked, words: readonly string[], { at, output }: HistoryFlags): Promise<string> {
  const time = at === undefined ? undefined : timeOf(at, new Date())
  const found = await findObjects(asked, words)
  const known: Known[] = []
  for (const { uid } of found.toReversed()) known.push(...knownIn(versionsIn(await eventsOf(asked.db, uid))))
  if (time === undefined)
    return output === 'json' ? `${JSON.stringify(historyData(known), null, 2)}\n` : historyText(known, asked.paint)
  const then = versionAt(known, time)
  if (then === undefined)
    throw new Error(`the journal has no version of ${nameOf(found[0])} at ${time.toISOString()}, expected a later time`)
  const data = { ...historyData([then])[0], kept: then.event.projection }
  return output === 'json' ? `${JSON.stringify(data, null, 2)}\n` : stringify(JSON.parse(JSON.stringify(data)))
}

/** @throws UsageError for what is no time. */
export function timeOf(text: string, now: Date): Date {
  const ms = parseDuration(text.replace(/^-/, ''))
  if (typeof ms === 'number') return new Date(now.getTime() - ms)
  const at = new Date(text)
  // With its zone: all that is printed is UTC.
  if (/^\d{4}-\d\d-\d\d(T.*(Z|[+-]\d\d:?\d\d))?$/.test(text) && !Number.isNaN(at.getTime())) return at
  throw new UsageError(`--at is '${text}', expected a time such as 2026-02-03T10:42:00Z, or a duration such as 15m`)
}
