// Checks that Pawl did nothing twice, lost no job, and writes nothing more.

import { setTimeout as sleep } from 'node:timers/promises'
import type { RecordedWrite } from '../faults/http-proxy.ts'
import type { Pawl } from '../pawl/pawl.ts'

/**
 * Duplicate creations and duplicate ends of jobs, one sentence each. Two creations of the same name with different uids are a duplicate: Pawl builds names
 * from uid, item and job, and never reuses a name.
 */
export function doubled(writes: readonly RecordedWrite[]): readonly string[] {
  const counts = new Map<string, Set<string>>()
  const note = (what: string, version: string) => {
    counts.set(what, (counts.get(what) ?? new Set()).add(version))
  }
  for (const { label, path, status, body, answer } of writes) {
    if (status >= 300 || label === 'POST events') continue
    const { name, uid = '', resourceVersion = '' } = answer.metadata
    if (label.startsWith('POST ')) note(`${label} ${name}`, uid)
    const { jobID, jobIDFinished } = statusOf(answer)
    if (
      jobIDFinished !== undefined &&
      jobIDFinished === jobID &&
      'jobIDFinished' in statusOf({ status: body['status'] })
    )
      note(`end of job ${jobID} of ${path.replace(/\?.*$/, '')}`, resourceVersion)
  }
  return [...counts].flatMap(([what, versions]) => (versions.size > 1 ? [`${what}: ${versions.size} times`] : []))
}

function statusOf(object: object): { readonly jobID?: string; readonly jobIDFinished?: string } {
  return (object as { status?: object | null }).status ?? {}
}

/** Jobs whose rows in the journal are not all closed, or do not have exactly one result other than `lost`. */
export async function unevenJobs({ db }: Pawl): Promise<readonly string[]> {
  const rows = await db.selectFrom('job').select(['name', 'controller', 'job_id', 'outcome', 'cause']).execute()
  const ends = new Map<string, string[]>()
  for (const { name, controller, job_id, outcome, cause } of rows) {
    if (cause === 'first seen') continue
    const key = `${controller} ${name} ${job_id}`
    ends.set(key, [...(ends.get(key) ?? []), outcome ?? 'open'])
  }
  const isEven = (outcomes: readonly string[]) =>
    outcomes.filter((one) => one !== 'lost').length === 1 && !outcomes.includes('open')
  return [...ends].flatMap(([job, outcomes]) => (isEven(outcomes) ? [] : [`${job}: ${outcomes.join(', ')}`]))
}

/** Waits until the count has not changed for `quietMs`. @throws after `limitMs`. */
export async function untilQuiet(count: () => number, quietMs: number, limitMs: number): Promise<void> {
  const deadline = Date.now() + limitMs
  let [last, since] = [count(), Date.now()]
  while (Date.now() - since < quietMs) {
    if (Date.now() > deadline) throw new Error(`still writing after ${limitMs} ms`)
    await sleep(100)
    if (count() !== last) [last, since] = [count(), Date.now()]
  }
}
