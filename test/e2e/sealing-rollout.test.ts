// Tests users who enable the encryption of payloads while jobs run, one worker after another: in the two steps of
// docs/guides/secure.md, and in one step, which users should avoid. No job is lost in either case; in two steps no job
// restarts.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, vi } from 'vitest'

import { installation, type LsObject } from '../support/cluster/cluster.ts'
import { createTarget } from '../support/landscaper/manifests.ts'
import { bindPods, unschedulableDeployment } from '../support/cluster/unschedulable-pods.ts'
import { finishItemOf, PATIENT_MS, STEPS, withManifest } from '../support/code-changes/rolling-upgrade.ts'
import { useStage } from '../support/pawl/stage.ts'

const folder = mkdtempSync(join(tmpdir(), 'pawl-sealing-'))
const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const line = `test ${randomBytes(32).toString('base64')}\n`
const opens = ['--payload-key', file('opens.key', `readable\n${line}`)]
const seals = ['--payload-key', file('seals.key', line)]
const LIMIT_MS = 600_000

// With the option `checkout`, each worker bundles the workflows itself, as its payload key requires.
const stage = useStage('sealing', () => Promise.resolve({ checkout: fileURLToPath(new URL('../..', import.meta.url)) }))

const phase = (wanted: string) => (one?: LsObject) => one?.status?.phase === wanted

/** Starts three jobs whose items the test finishes, and one with a background activity. @returns their names. */
async function begin(prefix: string): Promise<readonly string[]> {
  const { cluster } = stage
  const stepping = [`${prefix}-0`, `${prefix}-1`, `${prefix}-2`]
  const tracked = `${prefix}-track`
  for (const one of stepping) await cluster.create(installation(one, STEPS), 'installations')
  await cluster.create(withManifest(tracked, unschedulableDeployment(tracked, cluster.namespace)), 'installations')
  const waits = async (one: string) => await cluster.waitUntil('installations', one, phase('Progressing'), PATIENT_MS)
  await Promise.all([...stepping, tracked].map(waits))
  return [...stepping, tracked]
}

const isTracked = (name: string) => name.endsWith('-track')

async function step(names: readonly string[], which: 'one' | 'two'): Promise<void> {
  const { cluster } = stage
  await Promise.all(
    names.filter((name) => !isTracked(name)).map(async (name) => await finishItemOf(cluster, name, which)),
  )
  if (which === 'two') await bindPods(cluster, names.filter(isTracked))
}

async function finished(names: readonly string[]): Promise<void> {
  const { cluster, pawl } = stage
  for (const name of names) {
    const { status } = await cluster.waitUntilFinished(name, undefined, 'installations', PATIENT_MS)
    expect({ name, phase: status?.phase }).toEqual({ name, phase: 'Succeeded' })
  }
  const wakes = pawl.db.selectFrom('wake').select(['name', 'cause']).where('name', 'in', names)
  await expect.poll(async () => await wakes.execute()).toEqual([])
}

async function restarts(names: readonly string[]): Promise<number> {
  const jobs = stage.pawl.db.selectFrom('job').select('restarts').where('name', 'in', names)
  // The run that adds the finalizer is no job.
  const rows = await jobs.where('cause', '<>', 'first seen').execute()
  expect(rows).toHaveLength(names.length)
  return rows.reduce((sum, row) => sum + row.restarts, 0)
}

describe('workers that begin to encrypt payloads', () => {
  it('continue all jobs without restarts when all workers can decrypt first', { timeout: LIMIT_MS }, async () => {
    const { pawl, cluster } = stage
    await createTarget(cluster)
    const names = [...(await begin('before'))]
    await pawl.startWorker('opens', undefined, opens)
    names.push(...(await begin('beside')))
    await step(names, 'one')
    await pawl.kill('worker', 'SIGTERM')
    await pawl.startWorker('seals', undefined, seals)
    const sealed = await begin('sealed')
    names.push(...sealed)
    await step(sealed, 'one')
    await pawl.kill('opens', 'SIGTERM')
    await step(names, 'two')
    await finished(names)
    expect(await restarts(names)).toBe(0)
  })

  it('finish all jobs after a worker that cannot decrypt payloads has stopped', { timeout: LIMIT_MS }, async () => {
    const { pawl } = stage
    const names = await begin('mixed')
    // Only this worker remains to receive the tasks of the encrypted jobs.
    await pawl.startWorker('without')
    await pawl.kill('seals', 'SIGTERM')
    await step(names, 'one')
    await vi.waitFor(() => expect(pawl.log('without')).toMatch(/Unknown encoding|sealed by/), { timeout: PATIENT_MS })
    await pawl.startWorker('seals', undefined, seals)
    await pawl.kill('without', 'SIGTERM')
    await step(names, 'two')
    await finished(names)
  })
})
