// T3: the store of Temporal's own server times out or refuses while jobs and deletions run. faults.test.ts has the other faults of Temporal. Source:
// spec/engine.md 4.4; docs/concepts/faults.md.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { findCached } from '../../worker/dev/cache.ts'
import type { Part } from '../../worker/dev/part.ts'
import { readPins } from '../../worker/dev/pins.ts'
import { readConfig } from '../../worker/server/config.ts'
import { startFaultyTemporal } from '../support/faults/faulty-temporal.ts'
import { waitUntilJournalIdle, closeLane, type Lane, openLane, RESTART_MS } from '../support/faults/lane.ts'
import { diceOf } from '../support/matrix/dice.ts'
import { byForm, SEED } from '../support/matrix/form.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'
import { doubled, unevenJobs } from '../support/storm/checks.ts'
import { Lives } from '../support/storm/lives.ts'

// On a busy machine a process takes many seconds to start.
const LIMIT_MS = byForm(240_000, 900_000)

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
    const lives = new Lives(cluster, { random: diceOf(byForm(1, SEED)), limitMs: RESTART_MS })
    await lives.prepare()
    await lives.run(4, () => lives.counts.deleted >= byForm(2, 50))
    await waitUntilJournalIdle(lane)
    expect([...lives.failures, ...(await lives.wrong())]).toEqual([])
    expect(doubled(proxy.writes)).toEqual([])
    expect(await unevenJobs(pawl)).toEqual([])
    expect(pawl.log('worker')).not.toContain('the run does not exist in Temporal any more')
    expect(await readFile(temporal.spec.logFile, 'utf8')).toContain('fault injection error')
  })
})
