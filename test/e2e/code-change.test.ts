// Tests that a worker with changed code takes over open runs of controllers in level mode: all runs continue, whatever
// the change is. A run that meets a bug in an action waits for fixed code or for an edit of its object, and Pawl
// reports the bug meanwhile.
// Source: docs/concepts/architecture.md "Changes of code".

import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it, vi } from 'vitest'

import { resourcePath } from '../../activities/kube/resource-path.ts'
import { CONTROLLERS, type Name, roverKind } from '../support/code-changes/rover.ts'
import { CONFIG_MAPS, objectsOf } from '../support/level/objects.ts'
import { byForm } from '../support/matrix/form.ts'
import { administrators } from '../support/rights/accounts.ts'
import { useStage } from '../support/pawl/stage.ts'
import type { Condition } from '../../workflows/kit/index.ts'

const moduleOf = (name: string) => new URL(`../support/code-changes/${name}.ts`, import.meta.url).pathname
const stage = useStage('code-change', () =>
  Promise.resolve({ controllers: moduleOf('before'), accounts: administrators(stage.servers) }),
)

/** The tests patch rover-0 and rover-1; the others stay unedited. Each rover has a run of every controller. */
const ROVERS = byForm(['rover-0', 'rover-1', 'rover-2'], ['rover-0', 'rover-1', 'rover-2', 'rover-3'])
/** The limit from the issue. */
const A_MINUTE = { timeout: 60_000, interval: 200 }
/** Controllers whose open runs cannot be replayed with the new code. */
const CHANGED = ['more', 'less', 'reordered', 'query', 'buggy'] as const satisfies readonly Name[]
const FITTING: readonly Name[] = CONTROLLERS.filter((name) => name !== 'buggy')

const objects = objectsOf(stage)
beforeAll(async () => {
  await objects.install(roverKind)
  for (const name of ROVERS) await objects.create(roverKind, name, {})
  await waiting('before', CONTROLLERS)
})

describe('open runs after each kind of code change', () => {
  it('continue within a minute after a worker with the new code starts', async () => {
    // The row of a run may be written after the writes of its first pass.
    await expect.poll(openRuns, A_MINUTE).toBe(ROVERS.length * CONTROLLERS.length)
    // As in a rollout, the old worker may process the wakes of the new worker's start.
    await startWorker('after')
    await stage.pawl.kill('worker', 'SIGTERM')
    await waiting('after', FITTING)
    // The old worker may take a run from the new one while both are running.
    const anew = async () =>
      Object.fromEntries(
        [...(await restarts())].map(([run, count]) => [run, count === 1 || count === 2 ? 'anew' : count]),
      )
    const wanted = [
      ...runsOf(CHANGED).map((run) => [run, 'anew'] as const),
      ...runsOf(['renamed']).map((run) => [run, 0] as const),
    ]
    await expect.poll(anew, A_MINUTE).toEqual(Object.fromEntries(wanted))
  })

  it('are each reported in one log line and in an Event of the object when they restart', async () => {
    // Any running worker may restart a run and log it; the row is written before.
    const found = () => new Map(['worker', 'after'].flatMap(linesOfRestarts))
    await expect.poll(() => new Set(found().keys()), A_MINUTE).toEqual(new Set(runsOf(CHANGED)))
    expect([...found().values()]).not.toContain('')
    expect(found().get('less rover-0')).toContain('recorded marker')
    const onObject = async () => (await warnings('rover-0', 'RunStartedAnew')).length
    await expect.poll(onObject, A_MINUTE).toBeGreaterThanOrEqual(5)
  })

  it('converge like runs that started with the new code', async () => {
    await patch('rover-0', { go: true })
    await expect
      .poll(async () => (await jobs('rover-0')).map(({ controller, outcome }) => [controller, outcome]), A_MINUTE)
      .toEqual(CONTROLLERS.toSorted().map((name) => [name, name === 'buggy' ? null : 'Converged']))
  })
})

describe('a bug in an action', () => {
  it('is reported on the object and in the journal with its source line, without retries of the same code', async () => {
    const line = readFileSync(moduleOf('after'), 'utf8')
      .split('\n')
      .findIndex((text) => text.includes('toUpperCase'))
    const message = `TypeError: Cannot read properties of undefined (reading 'toUpperCase') (test/support/code-changes/after.ts:${line + 1}:`
    for (const name of ROVERS)
      await expect
        .poll(() => buggy(name), A_MINUTE)
        .toMatchObject({
          outcome: null,
          last_error: { reason: 'Bug', message: expect.stringContaining(message) as string },
        })
    const tries = await restarts()
    for (const name of ROVERS)
      await expect.poll(() => warnings(name, 'Bug'), A_MINUTE).toEqual([expect.stringContaining(message)])
    // The same code is not retried: neither for its report in the status, nor otherwise.
    expect(await restarts()).toEqual(tries)
  })

  it('is reported as the condition Ready, once', async () => {
    const report = {
      status: 'False',
      reason: 'Bug',
      message: expect.stringContaining('step "callByName": TypeError') as string,
    }
    for (const name of ROVERS) await expect.poll(() => ready(name), A_MINUTE).toMatchObject(report)
    const writes = (object: object | undefined) => (object as Rover | undefined)?.metadata.resourceVersion
    const version = writes(await objects.get(roverKind, 'rover-2'))
    const failures = () => stage.pawl.log('after').split('"error":{"type":"TypeError"').length
    const before = failures()
    await expect.poll(failures, A_MINUTE).toBeGreaterThan(before)
    expect(writes(await objects.get(roverKind, 'rover-2'))).toBe(version)
  })

  it('ends for one object when an edit of this object avoids it', async () => {
    const before = await buggy('rover-2')
    await patch('rover-1', { nickname: 'beagle' })
    await expect.poll(() => codeOf('rover-1', 'buggy'), A_MINUTE).toBe('after')
    await expect.poll(() => buggy('rover-1')).toMatchObject({ last_error: null, outcome: null })
    // The other objects wait: the same code is not retried for them.
    expect(await codeOf('rover-2', 'buggy')).toBe('before')
    expect(await buggy('rover-2')).toMatchObject({ restarts: before?.restarts })
  })

  it('ends for all objects when a worker with fixed code starts and the old worker stops', async () => {
    await startWorker('better')
    await stage.pawl.kill('after', 'SIGTERM')
    for (const name of ROVERS) await expect.poll(() => codeOf(name, 'buggy'), A_MINUTE).toBe('better')
    for (const name of ROVERS) await expect.poll(() => buggy(name)).toMatchObject({ last_error: null })
    // No plan sets the condition, so the first pass of the fixed code removes it.
    for (const name of ROVERS) await expect.poll(() => ready(name)).toBeUndefined()
    await expect.poll(notes, A_MINUTE).toEqual([])
  })
})

interface Rover {
  readonly metadata: { readonly resourceVersion: string }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

async function ready(rover: string): Promise<Condition | undefined> {
  const object = (await objects.get(roverKind, rover)) as Rover | undefined
  return object?.status?.conditions?.find(({ type }) => type === 'Ready')
}

async function startWorker(code: string): Promise<void> {
  await stage.pawl.startWorker(code, undefined, ['--controllers', moduleOf(code)])
}

/** Waits until this code has created the ConfigMaps of all rovers. */
async function waiting(code: string, controllers: readonly Name[]): Promise<void> {
  const wanted = ROVERS.flatMap((rover) => controllers.map((name) => [`${rover}-${name}`, code]))
  const found = async () =>
    await Promise.all(
      ROVERS.flatMap((rover) => controllers.map(async (name) => [`${rover}-${name}`, await codeOf(rover, name)])),
    )
  await vi.waitFor(async () => expect(await found()).toEqual(wanted), A_MINUTE)
}

/** The code that made the last write. */
async function codeOf(rover: string, controller: Name): Promise<string | undefined> {
  const map = await objects.get(CONFIG_MAPS, `${rover}-${controller}`)
  return (map as { readonly data?: { readonly code?: string } } | undefined)?.data?.code
}

const patch = async (rover: string, spec: object) => await objects.patch(roverKind, rover, { spec })

async function jobs(rover: string) {
  return await stage.pawl.db.selectFrom('job').selectAll().where('name', '=', rover).orderBy('controller').execute()
}

async function buggy(rover: string) {
  return (await jobs(rover)).find(({ controller }) => controller === 'buggy')
}

async function openRuns(): Promise<number> {
  return (await stage.pawl.db.selectFrom('job').select('uid').where('outcome', 'is', null).execute()).length
}

function runsOf(controllers: readonly Name[]): readonly string[] {
  return controllers.flatMap((controller) => ROVERS.map((name) => `${controller} ${name}`))
}

/** The number of restarts of each run. */
async function restarts(): Promise<ReadonlyMap<string, number>> {
  const rows = await stage.pawl.db.selectFrom('job').select(['controller', 'name', 'restarts']).execute()
  return new Map(rows.map(({ controller, name, restarts: count }) => [`${controller} ${name}`, count]))
}

/** The restarts in a worker's log, with the reasons. */
function linesOfRestarts(worker: string): readonly (readonly [run: string, found: string])[] {
  return stage.pawl
    .log(worker)
    .split('\n')
    .filter((line) => line.includes('"msg":"a run cannot be replayed by the present code; it is restarted'))
    .map((line) => {
      const { controller, name, found } = JSON.parse(line) as Record<'controller' | 'name' | 'found', string>
      return [`${controller} ${name}`, found] as const
    })
}

async function notes(): Promise<unknown[]> {
  return (await sql`select * from stuck_run`.execute(stage.pawl.db)).rows
}

async function warnings(rover: string, reason: string): Promise<string[]> {
  const path = resourcePath({ apiVersion: 'v1', plural: 'events' }, stage.cluster.namespace)
  const query = { fieldSelector: `involvedObject.name=${rover},reason=${reason},type=Warning` }
  const { items } = await stage.cluster.kube.request<{ items: { message: string }[] }>('GET', path, { query })
  return items.map(({ message }) => message)
}
