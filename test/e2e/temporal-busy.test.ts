// A Temporal that takes only a few requests a second refuses the others with RESOURCE_EXHAUSTED, while a job and a deletion run. What comes out is
// what comes out of an undisturbed run. Source: spec/engine.md 4.4 (T2); docs/faults.md.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Connection, isGrpcServiceError } from '@temporalio/client'
import type { Part } from '../../worker/dev/part.ts'
import { choosePorts } from '../../worker/dev/ports.ts'
import { startTemporal } from '../../worker/dev/temporal.ts'
import {
  closeLane,
  type Course,
  type Lane,
  openLane,
  runBoth,
  undisturbedOn,
  withoutSettles,
} from '../support/crash.ts'
import { PATIENT_TASKS } from '../support/stage.ts'

const servers = inject('servers')

// On a busy machine a process takes many seconds to start, and a course that is disturbed some more.
const LIMIT_MS = 240_000
const PER_SECOND = 5
// Source: google.rpc.Code.RESOURCE_EXHAUSTED.
const RESOURCE_EXHAUSTED = 8

let dir: string
let temporal: Part
let lane: Lane
let expected: readonly Course[]

beforeAll(async () => {
  expected = await undisturbedOn('idle', servers, (own) => runBoth(own, 'undisturbed'))
  dir = await mkdtemp(join(tmpdir(), 'pawl-busy-'))
  const ports = await choosePorts(join(dir, 'ports.json'), {})
  const limits = ['frontend.namespaceRPS', 'frontend.globalNamespaceRPS'].flatMap((name) => [
    '--dynamic-config-value',
    `${name}=${PER_SECOND}`,
  ])
  temporal = await startTemporal({
    binary: servers.temporalBinary,
    dir,
    logDir: dir,
    ports,
    ephemeral: true,
    flags: limits,
  })
  const own = { ...servers, temporalAddress: temporal.spec.address ?? '' }
  lane = await openLane('busy', own, { workerFlags: PATIENT_TASKS })
}, LIMIT_MS)
afterAll(async () => {
  await closeLane(lane)
  await temporal.stop()
  await rm(dir, { recursive: true })
})

describe('an installation whose Temporal', { timeout: LIMIT_MS }, () => {
  it('T2: is asked for more than it takes ends like any other', async () => {
    // Without interceptors it tries nothing again.
    const connection = await Connection.connect({ address: temporal.spec.address ?? '', interceptors: [] })
    let refused = 0
    // Somebody else uses up what it takes, at each write of the job anew.
    const disturb = async () => {
      const asked = Array.from({ length: 4 * PER_SECOND }, async () => {
        await connection.workflowService.describeNamespace({ namespace: 'default' }).catch((error: unknown) => {
          if (!isGrpcServiceError(error) || error.code.valueOf() !== RESOURCE_EXHAUSTED) throw error
          refused++
        })
      })
      await Promise.all(asked)
      return undefined
    }
    const courses = await runBoth(lane, 'exhausted', disturb)
    await connection.close()
    expect(courses.map(withoutSettles)).toEqual(expected.map(withoutSettles))
    expect(refused).toBeGreaterThan(20)
  })
})
