// Bridges and workers that report the engine's health: on a real journal, with an API server that the test controls.
// Source: spec/landscaper.md 1.10, 5.8; docs/adr/0048.

import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import type { KubeObject } from '../../activities/kube/client.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { openDatabase } from '../../activities/journal/database.ts'
import { createLogger } from '../../worker/server/log.ts'
import { type HealthDeps, HealthReporter } from '../../worker/server/health-report.ts'
import { reportTarget } from '../../worker/server/report-object.ts'

const PATH = '/apis/landscaper.gardener.cloud/v1alpha1/namespaces/pawl/lshealthchecks'
const EVERY_MS = 60_000
const stage = useWriteStage(inject('servers').databaseUrl)
const place = reportTarget('health-check', 'pawl/own', ['landscaper'])
if (place === undefined) throw new Error('the wing tells of itself')
const settings = { at: place.at, tells: place.tells.health, everyMs: EVERY_MS }

let now: number
beforeEach(async () => {
  now = Date.parse('2030-01-01T00:00:00Z')
  await sql`delete from heartbeat`.execute(stage().deps.db)
})

function teller(role: 'bridge' | 'worker', owner: string, more: Partial<HealthDeps> = {}): HealthReporter {
  const { db, kube } = stage().deps
  const own = { cluster: 'local', owner, role, serves: ['installation'] }
  const deps = {
    db,
    kube,
    own,
    log: createLogger('test', 'silent'),
    now: () => new Date(now),
  }
  return new HealthReporter({ ...deps, failures: () => ({}), ...more }, settings)
}
const told = () =>
  stage().api.objects.get(`${PATH}/own`) as (KubeObject & { status: string; description: string }) | undefined
const version = () => Number(told()?.metadata.resourceVersion)
/** A process that has died. */
const died = async (owner: string) => {
  await sql`update heartbeat set at = at - interval '31 s' where owner = ${owner}`.execute(stage().deps.db)
}

describe('the health check object', () => {
  it('is Init at first, Ok when a bridge and a worker run, and Failed when the only worker dies', async () => {
    const bridge = teller('bridge', 'b')
    await bridge.check()
    expect(told()).toMatchObject({ status: 'Init', description: 'no worker is running' })
    const worker = teller('worker', 'w')
    await worker.check()
    await bridge.check()
    expect(told()).toMatchObject({ status: 'Ok' })
    await died('w')
    await bridge.check()
    expect(told()).toMatchObject({ status: 'Ok' })
    await bridge.check()
    expect(told()?.status).toBe('Failed')
    expect(told()?.description).toMatch(/^no worker is running; worker \S+ is silent since 20/)
    const next = teller('worker', 'v')
    await next.check()
    expect(told()).toMatchObject({ status: 'Ok' })
  })

  it('is written once per interval, with any number of processes and checks', async () => {
    const all = [teller('bridge', 'b'), teller('bridge', 'c'), teller('worker', 'w'), teller('worker', 'v')]
    for (const one of all) await one.check()
    for (const one of all) await one.check()
    const before = version()
    for (let looks = 0; looks < 6; looks++) {
      now += EVERY_MS / 6
      await Promise.all(all.map((one) => one.check()))
    }
    expect(told()).toMatchObject({ status: 'Ok', lastUpdateTime: new Date(now).toISOString() })
    for (const one of all) await one.check()
    expect(version()).toBe(before + 1)
  })

  it('names the parts that a process cannot reach, without error texts', async () => {
    const wrong = { journal: 'password authentication failed for user "hunter2"' }
    const probes = { temporal: () => Promise.reject(new Error('hunter2')) }
    const worker = teller('worker', 'w', { failures: () => wrong, probes })
    const bridge = teller('bridge', 'b')
    for (const one of [worker, bridge, worker, bridge]) await one.check()
    expect(told()?.description).toMatch(/^worker \S+ is not ready: journal, temporal$/)
    expect(told()?.status).toBe('Failed')
  })

  it('is the same from every process, also when a bridge has a flag that the workers lack', async () => {
    const own = { cluster: 'local', owner: 'b', role: 'bridge', serves: ['installation', 'targetSync'] } as const
    const all = [teller('bridge', 'b', { own }), teller('worker', 'w'), teller('worker', 'v')]
    for (const one of [...all, ...all]) await one.check()
    expect(told()).toMatchObject({ status: 'Failed', description: 'no worker runs targetSync' })
    const before = version()
    for (const one of [...all, ...all]) await one.check()
    expect(version()).toBe(before)
  })

  it('stays Ok when a worker has ended normally', async () => {
    const [bridge, worker, other] = [teller('bridge', 'b'), teller('worker', 'w'), teller('worker', 'v')]
    for (const one of [bridge, worker, other]) await one.check()
    await other.end()
    for (const one of [bridge, worker, bridge]) await one.check()
    expect(told()).toMatchObject({ status: 'Ok' })
  })
})

describe('while the journal is unavailable', () => {
  const away = openDatabase('postgres://127.0.0.1:1/none', 1)
  afterEach(() => away.destroy())

  it('a worker reports in the health check object that the journal does not answer', async () => {
    for (const one of [teller('worker', 'w'), teller('bridge', 'b')]) await one.check()
    const worker = teller('worker', 'w', { db: away })
    await worker.check()
    await worker.check()
    expect(told()?.status).toBe('Failed')
    expect(told()?.description).toMatch(/^the journal does not answer worker \S+$/)
  })
})
