// Events for root jobs: a real PostgreSQL, and a small API server that stores the Events.

import { randomUUID } from 'node:crypto'

import { describe, expect, inject, it } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { JobEvents } from '../../worker/reconciler/job-events.ts'
import { builtInRegistry } from '../../worker/server/registry.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

const stage = useWriteStage(inject('servers').databaseUrl)
const NOW = Date.parse('2030-01-01T00:00:00Z')
const MINUTE = 60_000
const ago = (ms: number) => new Date(NOW - ms)
const MOST = 10

/** The reporter of one worker. @param at its clock. */
function worker(at: () => Date = () => new Date(NOW)): JobEvents {
  const { kube, log } = stage().deps
  return new JobEvents({ kube, log, now: at, registry: builtInRegistry, db: stage().database.db }, { cluster: 'local' })
}

interface Given {
  readonly namespace?: string
  readonly startedMs?: number
  readonly phaseMs?: number
  readonly outcome?: string
  readonly finishedMs?: number
  readonly owner?: string
  readonly cluster?: string
}

/** @returns the uid of the Installation whose job it is. */
async function job(given: Given = {}): Promise<string> {
  const { namespace = 'ns', startedMs = 20_000, phaseMs = startedMs, outcome = null, finishedMs, owner = null } = given
  const { cluster = 'local' } = given
  const uid = randomUUID()
  const { db } = stage().database
  const place = { cluster, uid, namespace, name: 'shop' }
  await db
    .insertInto('object')
    .values({
      ...place,
      api_group: 'landscaper.gardener.cloud',
      kind: 'Installation',
      resource_version: 1,
      seq: 1,
      owner_uid: owner,
      hash: null,
      deleted: false,
      presumed_deleted: false,
      updated_at: ago(0),
      projection: '{}',
    })
    .execute()
  await db
    .insertInto('job')
    .values({
      ...place,
      workflow_id: `installation/${uid}/j1`,
      run_id: 'r',
      controller: 'installation',
      job_id: 'j1',
      cause: 'edited',
      phase: 'Progressing',
      outcome,
      attempt: 0,
      passes: 1,
      lookups: 0,
      last_error: null,
      phases: JSON.stringify([{ phase: 'Progressing', at: ago(phaseMs).toISOString() }]),
      started_at: ago(startedMs),
      finished_at: finishedMs === undefined ? null : ago(finishedMs),
    })
    .execute()
  return uid
}

const told = () =>
  [...stage().api.objects.values()].map((event) => {
    const { involvedObject, reason, message, type } = event as KubeObject & Record<string, string>
    return { uid: (involvedObject as unknown as { uid: string }).uid, reason, type, message }
  })

describe('a root job', () => {
  it('has Events when it runs for long, when it succeeds after that, and when it stalls', async () => {
    const [lasting, ended, stalled] = [
      await job(),
      await job({ startedMs: 61_000, outcome: 'Succeeded', finishedMs: 1000 }),
      await job({ startedMs: 30 * MINUTE, phaseMs: 20 * MINUTE }),
    ]
    await worker().reportOnce()
    const expected = [
      {
        uid: lasting,
        reason: 'JobStarted',
        type: 'Normal',
        message: `job j1 started at ${ago(20_000).toISOString()} (edited)`,
      },
      { uid: ended, reason: 'JobSucceeded', type: 'Normal', message: 'job j1 succeeded after 60 s' },
      { uid: stalled, reason: 'JobStarted' },
      { uid: stalled, reason: 'JobStalled', type: 'Warning' },
    ]
    expect(told()).toHaveLength(expected.length)
    for (const one of expected) expect(told()).toContainEqual(expect.objectContaining(one))
    const { message } = told().find(({ reason }) => reason === 'JobStalled') ?? {}
    expect(message).toBe(
      `job j1 is in phase Progressing since ${ago(20 * MINUTE).toISOString()}; find the cause with: pawl why installation/shop`,
    )
  })

  it('has no Event if it is short, failed, hosted, or of another cluster', async () => {
    await job({ startedMs: 3000 })
    await job({ startedMs: 9000, outcome: 'Succeeded', finishedMs: 1000 })
    // The write of the status has recorded its error.
    await job({ startedMs: 61_000, outcome: 'Failed', finishedMs: 1000 })
    await job({ owner: 'parent' })
    await job({ cluster: 'copy' })
    await job({ startedMs: 2 * 60 * MINUTE, outcome: 'Succeeded', finishedMs: 60 * MINUTE })
    await worker().reportOnce()
    expect(told()).toEqual([])
  })

  it('has one Event of each type from all workers, and one per hour while it stalls', async () => {
    await job({ startedMs: 30 * MINUTE })
    let at = NOW
    const [one, other] = [worker(() => new Date(at)), worker()]
    await one.reportOnce()
    await other.reportOnce()
    expect(told()).toHaveLength(2)
    stage().api.requests.length = 0
    await one.reportOnce()
    expect(stage().api.requests).toEqual([])
    at += 60 * MINUTE
    await one.reportOnce()
    expect(told().map(({ reason }) => reason)).toEqual(['JobStarted', 'JobStalled', 'JobStalled'])
  })

  it('does not wait for the Events of many jobs in another namespace', async () => {
    for (let index = 0; index < MOST + 3; index++) await job({ namespace: 'crowd' })
    const alone = await job({ namespace: 'alone' })
    const one = worker()
    await one.reportOnce()
    expect(told()).toHaveLength(MOST + 1)
    expect(told().map(({ uid }) => uid)).toContain(alone)
    await one.reportOnce()
    expect(told()).toHaveLength(MOST + 4)
  })

  it('has its Event after the next poll if the API server rejected it', async () => {
    await job()
    const one = worker()
    stage().api.intercept = () => refusal(403, 'Forbidden')
    await one.reportOnce()
    stage().api.intercept = () => undefined
    expect(told()).toEqual([])
    await one.reportOnce()
    expect(told()).toHaveLength(1)
  })
})
