// How long jobs took that ended well, by the journal: what the next one may take.

import { jobsOf, objectsNamed } from '../../../activities/journal/read/object-queries.ts'
import type { Journal } from '../../../activities/journal/read/reader.ts'
import { isGood } from '../ask/texts.ts'

const LATEST = 5

/** The middle one of the latest that ended well, in milliseconds; undefined where there was none. */
export async function expectedMs(
  journal: Journal,
  of: { readonly group: string; readonly kind: string; readonly namespace: string; readonly name: string },
): Promise<number | undefined> {
  const [object] = await objectsNamed(journal, of)
  if (object === undefined) return undefined
  const jobs = await jobsOf(journal, object.uid)
  return middle(
    jobs
      .filter(({ phase, finishedAt }) => isGood(phase ?? undefined) && finishedAt !== null)
      .slice(0, LATEST)
      .map(({ startedAt, finishedAt }) => (finishedAt?.getTime() ?? 0) - startedAt.getTime()),
  )
}

export function middle(values: readonly number[]): number | undefined {
  return [...values].sort((left, right) => left - right)[Math.floor((values.length - 1) / 2)]
}
