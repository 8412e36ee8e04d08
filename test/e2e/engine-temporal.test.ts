// Temporal is gone for a while and comes back empty, in the middle of jobs: nothing is lost but the runs, and those are started again.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Part } from '../../worker/dev/part.ts'
import { choosePorts } from '../../worker/dev/ports.ts'
import { startTemporal, type TemporalOptions } from '../../worker/dev/temporal.ts'
import { CHAIN, installation, waiting } from '../support/cluster.ts'
import { useStage } from '../support/stage.ts'

let options: TemporalOptions | undefined
let temporal: Part | undefined
const stage = useStage('engine-temporal', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'pawl-temporal-'))
  const ports = await choosePorts(join(dir, 'ports.json'), {})
  options = { binary: stage.servers.temporalBinary, dir, logDir: dir, ports, ephemeral: true }
  temporal = await startTemporal(options)
  return { servers: { ...stage.servers, temporalAddress: temporal.spec.address ?? '' } }
})
afterAll(async () => {
  await temporal?.stop()
  if (options !== undefined) await rm(options.dir, { recursive: true })
})

describe('an installation whose Temporal goes away and comes back empty', () => {
  it('T2: finishes the job that ran, and starts the one that was asked for meanwhile', async () => {
    const { cluster, pawl } = stage
    await cluster.create(
      installation('before', [waiting('slow'), { name: 'next', dependsOn: ['slow'] }]),
      'installations',
    )
    const items = await cluster.untilItems('before', ['slow'], (item) => item?.status?.phase === 'Progressing')
    const slow = items.get('slow')!

    await temporal?.stop()
    await cluster.create(installation('meanwhile', CHAIN), 'installations')
    await cluster.finishItem(slow, 'Succeeded')
    await expect.poll(() => readiness(pawl.log('worker')), { timeout: 60_000 }).toBe(503)
    temporal = await startTemporal(options!)

    const before = await cluster.finished('before')
    const meanwhile = await cluster.finished('meanwhile')
    expect(before.status).toMatchObject({ phase: 'Succeeded', jobID: slow.status?.jobID })
    expect(meanwhile.status).toMatchObject({ phase: 'Succeeded' })
    for (const root of [before, meanwhile]) {
      expect(await pawl.jobs(root)).toMatchObject([{ jobID: root.status?.jobID, outcome: 'Succeeded' }])
    }
    await expect.poll(() => readiness(pawl.log('worker')), { timeout: 60_000 }).toBe(200)
  })
})

/** What /readyz of the worker answers; its address is in the first line of its log. */
async function readiness(log: string): Promise<number> {
  const { health } = JSON.parse(log.split('\n').find((line) => line.includes('worker is running')) ?? '{}') as {
    health: string
  }
  return (await fetch(`http://${health}/readyz`)).status
}
