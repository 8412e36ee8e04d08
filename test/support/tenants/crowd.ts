// Creates, changes and deletes Installations while servers fail, and checks that nothing was lost or done twice.
//
//   W1. Each life has the same steps: create with two items; change one, remove the other, add a third; delete.
//   W2. Two creations of the same name with different uids are a duplicate: Pawl builds names from uid, item and job,
//       and never reuses a name.

import { setTimeout as sleep } from 'node:timers/promises'
import type { RecordedWrite } from '../faults/api-proxy.ts'
import { blueprintOf, type Cluster, type Item, installation, type LsObject, OPERATION } from '../cluster/cluster.ts'
import type { Pawl } from '../pawl/pawl.ts'

const FIRST: readonly Item[] = [{ name: 'a' }, { name: 'b', dependsOn: ['a'] }]
const CHANGED: readonly Item[] = [
  { name: 'a', config: { providerStatus: { apiVersion: 'v1', kind: 'Changed' } } },
  { name: 'c', dependsOn: ['a'] },
]

export interface CrowdOptions {
  readonly prefix: string
  readonly lives: number
  /** Starts further lives until this returns true. */
  readonly isOver?: () => boolean
  /** Number of concurrent lives. */
  readonly abreast: number
  /** Time limit of one step of a life, in milliseconds. */
  readonly limitMs: number
}

/**
 * Runs lives concurrently. Resolves to their number when all have ended.
 *
 * @param onStep called after each step of each life.
 * @throws when a step fails.
 */
export async function crowd(
  cluster: Cluster,
  options: CrowdOptions,
  onStep: () => void = () => undefined,
): Promise<number> {
  let started = 0
  const lane = async () => {
    while (started < options.lives || options.isOver?.() === false)
      await live(cluster, `${options.prefix}-${started++}`, options.limitMs, onStep)
  }
  await Promise.all(Array.from({ length: options.abreast }, lane))
  return started
}

async function live(cluster: Cluster, name: string, limitMs: number, onStep: () => void): Promise<void> {
  await cluster.create(installation(name, FIRST), 'installations')
  const first = await finished(cluster, name, undefined, limitMs)
  onStep()
  await cluster.patch('installations', name, {
    metadata: { annotations: { [OPERATION]: 'reconcile' } },
    spec: { blueprint: { inline: { filesystem: { 'blueprint.yaml': JSON.stringify(blueprintOf(CHANGED)) } } } },
  })
  await finished(cluster, name, first.status?.jobID, limitMs)
  const items = Object.keys(await cluster.phases(name)).sort()
  if (items.join() !== 'a,c') throw new Error(`${name} has the items ${items.join()}, expected a and c`)
  onStep()
  await cluster.delete('installations', name)
  await cluster.waitUntilGone(name, 'installations', limitMs)
  onStep()
}

async function finished(cluster: Cluster, name: string, after: string | undefined, limitMs: number): Promise<LsObject> {
  const object = await cluster.waitUntilFinished(name, after, 'installations', limitMs)
  if (object.status?.phase !== 'Succeeded')
    throw new Error(
      `${name} ended in ${String(object.status?.phase)}, expected Succeeded: ${JSON.stringify(object.status)}`,
    )
  return object
}

/** Duplicate creations and duplicate ends of jobs, one sentence each (W2). */
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
