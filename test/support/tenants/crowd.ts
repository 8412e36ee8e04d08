// Installations that are created, changed and deleted while servers fail, and what has to hold of them afterwards: nothing is lost, nothing doubled.
//
//   W1. Every life has the same course: two items, then another configuration with one item less and one more, then the deletion.
//   W2. A name that was created twice is an object that was doubled: names are made of uid, item and job, and none is used again.

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
  /** More lives are started until it says so. */
  readonly isOver?: () => boolean
  /** How many go on side by side. */
  readonly abreast: number
  /** How long a step of a life may take, in milliseconds. */
  readonly limitMs: number
}

/** Lives that go on; resolves to their number when all are over. @param onStep told after each step of each life. @throws what did not get there. */
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

/** Repeated creations and ends of jobs, one sentence each (W2). */
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

/** Of each job of an Installation, how its rows ended; those that ended otherwise than once, one sentence each. */
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

/** Waits until nothing was written for a while. @throws when it does not get quiet. */
export async function untilQuiet(count: () => number, quietMs: number, limitMs: number): Promise<void> {
  const deadline = Date.now() + limitMs
  let [last, since] = [count(), Date.now()]
  while (Date.now() - since < quietMs) {
    if (Date.now() > deadline) throw new Error(`still writing after ${limitMs} ms`)
    await sleep(100)
    if (count() !== last) [last, since] = [count(), Date.now()]
  }
}
