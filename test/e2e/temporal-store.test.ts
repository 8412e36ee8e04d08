// T2: connections to Temporal are cut, and answers to what it has done are lost. T3: the store of Temporal times out, also for what it has executed, and refuses. Jobs and deletions end, and no write happens twice for it.
// Source: spec/engine.md 4.4. `npm test` gets the server that can do this, as does pawl dev fetch --temporal-store postgres.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { findCached } from '../../worker/dev/cache.ts'
import type { Part } from '../../worker/dev/part.ts'
import { readPins } from '../../worker/dev/pins.ts'
import { readConfig } from '../../worker/server/config.ts'
import { atRest, closeLane, type Lane, openLane, RESTART_MS } from '../support/crash.ts'
import { crowd, doubled, unevenJobs } from '../support/crowd.ts'
import { FickleProxy } from '../support/fickle-proxy.ts'
import { startFaultyTemporal } from '../support/faulty-temporal.ts'
import { isLong } from '../support/matrix/form.ts'
import { PATIENT } from '../support/stage.ts'

const { cacheDir } = readConfig()
const binary = await findCached(cacheDir, 'temporal-server', readPins()['temporal-server'])
const reason = binary === undefined ? ` (skipped: no temporal-server in ${cacheDir})` : ''
const LIMIT_MS = isLong ? 900_000 : 240_000
const SEED = 20_261_123

// Source: the rates of the server's own config/development-cass-es-fi.yaml. More starts time out, so that some do so twice: once without a run, then with one.
const FAULTS = {
  CreateWorkflowExecution: { ResourceExhausted: 0.05, Timeout: 0.25, ExecuteAndTimeout: 0.25 },
  UpdateWorkflowExecution: { ResourceExhausted: 0.1, Timeout: 0.05, ExecuteAndTimeout: 0.05 },
  GetWorkflowExecution: { ResourceExhausted: 0.05, Timeout: 0.05 },
  GetCurrentExecution: { ResourceExhausted: 0.05, Timeout: 0.05 },
  AppendHistoryNodes: { ResourceExhausted: 0.05, Timeout: 0.05, ExecuteAndTimeout: 0.05 },
  ReadHistoryBranch: { ResourceExhausted: 0.05, Timeout: 0.1 },
}

describe.skipIf(binary === undefined)(`a Temporal whose store lies${reason}`, { timeout: LIMIT_MS }, () => {
  let dir: string
  let temporal: Part
  let lane: Lane
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'pawl-temporal-'))
    temporal = await startFaultyTemporal(binary ?? '', dir, FAULTS, SEED)
    const servers = { ...inject('servers'), temporalAddress: temporal.spec.address ?? '' }
    lane = await openLane('temporal-store', servers, { workerFlags: PATIENT })
  }, LIMIT_MS)
  afterAll(async () => {
    await closeLane(lane)
    await temporal.stop()
    await rm(dir, { recursive: true })
  }, LIMIT_MS)

  it('T3: times out, also after it has executed, and refuses: every job ends, and nothing is doubled', async () => {
    const { cluster, pawl, proxy } = lane
    proxy.arm()
    const lives = isLong ? 50 : 8
    await crowd(cluster, { prefix: 'lies', lives, abreast: 4, limitMs: RESTART_MS })
    await atRest(lane)
    expect(doubled(proxy.writes)).toEqual([])
    expect(await unevenJobs(pawl)).toEqual([])
    expect(pawl.log('worker')).not.toContain('run is not in Temporal any more')
    expect(await readFile(temporal.spec.logFile, 'utf8')).toContain('fault injection error')
  })
})

describe('a Temporal behind a bad network', { timeout: LIMIT_MS }, () => {
  it('T2: cuts connections, and loses answers to what it has done: every job ends, and nothing is doubled', async () => {
    const servers = inject('servers')
    const proxy = await FickleProxy.to(Number(servers.temporalAddress.split(':')[1]))
    onTestFinished(() => proxy.stop())
    const temporalAddress = `127.0.0.1:${proxy.port}`
    const lane = await openLane('temporal-network', { ...servers, temporalAddress }, { workerFlags: PATIENT })
    onTestFinished(() => closeLane(lane))
    let faults = 0
    // The same course in every run: at each write of the worker, in turn.
    lane.proxy.arm(undefined, (_label, nth) => {
      if (nth % 3 === 0 && (nth % 2 === 0 ? proxy.loseAnswer(0) : proxy.cutOne(0))) faults += 1
      return undefined
    })
    // A fault needs a connection that is in use at that write: how many a crowd meets is chance, so lives go on until there were enough.
    await crowd(lane.cluster, {
      prefix: 'network',
      lives: isLong ? 50 : 4,
      isOver: () => faults > 10,
      abreast: 4,
      limitMs: RESTART_MS,
    })
    await atRest(lane)
    expect(doubled(lane.proxy.writes)).toEqual([])
    expect(await unevenJobs(lane.pawl)).toEqual([])
  })
})
