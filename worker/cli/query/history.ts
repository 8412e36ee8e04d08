// The command `pawl history`: lists the versions of an object in the journal.

import type { Command } from 'commander'

import type { EventRecord } from '../../../activities/journal/read/event-queries.ts'
import type { ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import { parseDuration, writeJson } from '../../../workflows/kit/index.ts'
import type { UserFlags } from '../user.ts'
import { UsageError } from '../../server/usage-error.ts'
import { yamlText } from '../yaml-text.ts'
import { versionsIn } from './causes.ts'
import { findObjects } from './find-object.ts'
import { readForeignWrites } from './foreign-writes.ts'
import { historyData, historyText, type VersionChange, versionChanges, versionAt } from './versions.ts'
import { nextQuery, nextReplay } from './next-step.ts'
import { objectCommand } from './object-command.ts'
import type { JournalFlags, JournalSession } from './open-journal.ts'
import { jobIDIn, nameOf } from './format.ts'

interface HistoryFlags {
  readonly at?: string
  readonly output: 'text' | 'wide' | 'json'
}

export function historyCommand(): Command {
  return objectCommand({
    name: 'history',
    description: 'list the versions of an object: time, writer and changed fields',
    options: (command) =>
      command.option(
        '--at <time>',
        'show the stored fields at this time: 2026-02-03T10:42:00Z, or 15m for 15 minutes ago',
      ),
    formats: ['text', 'wide', 'json'],
    examples: ['pawl history inst/shop', 'pawl history exec shop --at 15m'],
    answer: history,
  })
}

async function history(
  journal: JournalSession,
  words: readonly string[],
  flags: HistoryFlags & JournalFlags & UserFlags,
): Promise<string> {
  const { at, output } = flags
  const time = at === undefined ? undefined : timeOf(at, new Date())
  const found = await findObjects(journal, words)
  const known: VersionChange[] = []
  const versions: { readonly object: ObjectRecord; readonly event: EventRecord }[] = []
  for (const object of found.toReversed()) {
    const events = versionsIn(await journal.eventsOf(object.uid))
    known.push(...versionChanges(events))
    versions.push(...events.map((event) => ({ object, event })))
  }
  if (time === undefined)
    return output === 'json'
      ? `${writeJson(historyData(known), 2)}\n`
      : historyText(known, {
          paint: journal.paint,
          isWide: output === 'wide',
          now: new Date(),
          name: nameOf(found[0]),
          clients: await readForeignWrites(versions, flags),
          next: jobCount(known) > 1 ? nextQuery('diff', words, flags) : nextReplay(found[0], words, flags),
        })
  const then = versionAt(known, time)
  if (then === undefined)
    throw new Error(`${nameOf(found[0])}: --at: the journal has no version at ${time.toISOString()}; use a later time`)
  const data = { ...historyData([then])[0], kept: then.event.projection }
  return output === 'json' ? `${writeJson(data, 2)}\n` : await yamlText(data)
}

/** `pawl diff` needs two jobs. */
export function jobCount(known: readonly VersionChange[]): number {
  const ids = known.map(({ event }) => jobIDIn(event.projection)).filter((jobID) => jobID !== undefined)
  return new Set(ids).size
}

/** @throws UsageError if the text is not a time. */
export function timeOf(text: string, now: Date): Date {
  const ms = parseDuration(text.replace(/^-/, ''))
  if (typeof ms === 'number') return new Date(now.getTime() - ms)
  const at = new Date(text)
  // A time needs its zone, because the output uses UTC.
  if (/^\d{4}-\d\d-\d\d(T.*(Z|[+-]\d\d:?\d\d))?$/.test(text) && !Number.isNaN(at.getTime())) return at
  throw new UsageError(
    `--at: "${text}" is not a time; expected one such as 2026-02-03T10:42:00Z, or a duration such as 15m`,
  )
}
