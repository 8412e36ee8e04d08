// Temporal fails while jobs and deletions run: it is restarted, loses its state, takes few requests, loses connections and answers, and its store times out
// or refuses. Jobs end as without a fault, and no write happens twice. Source: spec/engine.md 4.4 (T2, T3); docs/faults.md.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { findCached } from '../../worker/dev/cache.ts'
import type { Part } from '../../worker/dev/part.ts'
import { readPins } from '../../worker/dev/pins.ts'
import { readConfig } from '../../worker/server/config.ts'
import { CHAIN, installation, waitingItem } from '../support/cluster/cluster.ts'
import { crowd, doubled, unevenJobs } from '../support/tenants/crowd.ts'
import { type Course, runBoth } from '../support/faults/course.ts'
import { expectSameCourse } from '../support/faults/fault.ts'
import { startFaultyTemporal } from '../support/faults/faulty-temporal.ts'
import { waitUntilJournalIdle, closeLane, type Lane, openLane, RESTART_MS } from '../support/faults/lane.ts'
import { OwnTemporal, temporalFaults } from '../support/faults/temporal-faults.ts'
import { byForm, sampleOf, SEED } from '../support/matrix/form.ts'
import { readiness } from '../support/pawl/pawl.ts'
import { PRODUCTION_TIMEOUTS, PRODUCTION_TASK_TIMEOUTS } from '../support/pawl/stage.ts'

// On a busy machine a process takes many seconds to start.
const LIMIT_MS = byForm(240_000, 900_000)

describe('T2: an installation whose Temporal', { timeout: LIMIT_MS }, () => {
  let temporal: OwnTemporal
  let lane: Lane
  let expected: readonly Course[]
  beforeAll(async () => {
    const servers = inject('servers')
    temporal = await OwnTemporal.start(servers.temporalBinary)
    lane = await openLane(
      'temporal',
      { ...servers, temporalAddress: temporal.address },
      { workerFlags: PRODUCTION_TASK_TIMEOUTS },
    )
    expected = await runBoth(lane, 'undisturbed')
  }, LIMIT_MS)
  afterAll(async () => {
    await closeLane(lane)
    await temporal.remove()
  }, LIMIT_MS)

  const faults = temporalFaults(() => temporal).map((fault, index) => [fault.title, `fault-${index}`, fault] as const)
  it.each(sampleOf('faults: Temporal', faults, 1))('%s ends like any other', async (_title, name, fault) => {
    await expectSameCourse(lane, fault, name, expected)
  })

  it('is away and comes back empty continues its job, and the job that was requested meanwhile starts', async () => {
    const { cluster, pawl } = lane
    lane.proxy.arm()
    const items = [waitingItem('slow'), { name: 'next', dependsOn: ['slow'] }]
    await cluster.create(installation('before', items), 'installations')
    const running = await cluster.waitUntilItems('before', ['slow'], (item) => item?.status?.phase === 'Progressing')
    const slow = running.get('slow')!

    await temporal.stop()
    await cluster.create(installation('meanwhile', CHAIN), 'installations')
    await cluster.finishItem(slow, 'Succeeded')
    await expect.poll(() => readiness(pawl.log('worker')), { timeout: RESTART_MS }).toBe(503)
    await temporal.startAgain('empty')

    const before = await cluster.waitUntilFinished('before', undefined, 'installations', RESTART_MS)
    const meanwhile = await cluster.waitUntilFinished('meanwhile', undefined, 'installations', RESTART_MS)
    expect(before.status).toMatchObject({ phase: 'Succeeded', jobID: slow.status?.jobID })
    expect(meanwhile.status).toMatchObject({ phase: 'Succeeded' })
    for (const root of [before, meanwhile])
      expect(await pawl.jobs(root)).toMatchObject([{ jobID: root.status?.jobID, outcome: 'Succeeded' }])
    await expect.poll(() => readiness(pawl.log('worker')), { timeout: RESTART_MS }).toBe(200)
  })
})

const { cacheDir } = readConfig()
const binary = await findCached(cacheDir, 'temporal-server', readPins()['temporal-server'])
const reason = binary === undefined ? ` (skipped: no temporal-server in ${cacheDir})` : ''

// Source: the rates of the server's own config/development-cass-es-fi.yaml. More starts time out, so that some time out twice: once without a run, then with one.
const STORE_FAULTS = {
  CreateWorkflowExecution: { ResourceExhausted: 0.05, Timeout: 0.25, ExecuteAndTimeout: 0.25 },
  UpdateWorkflowExecution: { ResourceExhausted: 0.1, Timeout: 0.05, ExecuteAndTimeout: 0.05 },
  GetWorkflowExecution: { ResourceExhausted: 0.05, Timeout: 0.05 },
  GetCurrentExecution: { ResourceExhausted: 0.05, Timeout: 0.05 },
  AppendHistoryNodes: { ResourceExhausted: 0.05, Timeout: 0.05, ExecuteAndTimeout: 0.05 },
  ReadHistoryBranch: { ResourceExhausted: 0.05, Timeout: 0.1 },
}

describe.skipIf(binary === undefined)(`a Temporal whose store fails${reason}`, { timeout: LIMIT_MS }, () => {
  let dir: string
  let temporal: Part
  let lane: Lane
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'pawl-temporal-'))
    // The server takes the seed 0 for no seed.
    temporal = await startFaultyTemporal(binary ?? '', dir, STORE_FAULTS, byForm(20_261_123, SEED + 1))
    const servers = { ...inject('servers'), temporalAddress: temporal.spec.address ?? '' }
    lane = await openLane('temporal-store', servers, { workerFlags: PRODUCTION_TIMEOUTS })
  }, LIMIT_MS)
  afterAll(async () => {
    await closeLane(lane)
    await temporal.stop()
    await rm(dir, { recursive: true })
  }, LIMIT_MS)

  it('T3: times out, also after it has executed, and refuses: every job ends, and nothing is doubled', async () => {
    const { cluster, pawl, proxy } = lane
    proxy.arm()
    await crowd(cluster, { prefix: 'store', lives: byForm(4, 50), abreast: 4, limitMs: RESTART_MS })
    await waitUntilJournalIdle(lane)
    expect(doubled(proxy.writes)).toEqual([])
    expect(await unevenJobs(pawl)).toEqual([])
    expect(pawl.log('worker')).not.toContain('run is not in Temporal any more')
    expect(await readFile(temporal.spec.logFile, 'utf8')).toContain('fault injection error')
  })
})
