// Tests that open runs of the App example continue within a minute after each kind of change of its code, and that
// their objects stay. `npm run test:long` applies all changes, each in addition to the previous ones. This takes 2
// minutes, because 20 s must pass between two restarts of a run. `npm test` applies one change;
// test/e2e/code-change.test.ts has other changes.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'

import type { App } from '../../examples/app/kind.ts'
import { appKind } from '../../examples/app/kind.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { crdDocument } from '../../worker/gen/crd.ts'
import { APP_CHANGES, type AppChange, CODE, MISFITS } from '../support/code-changes/app.ts'
import { byForm } from '../support/matrix/form.ts'
import { useStage } from '../support/pawl/stage.ts'

const EXAMPLE = new URL('../../examples/app/controllers.ts', import.meta.url).pathname
const CHANGED = new URL('../support/code-changes/app.ts', import.meta.url).href
const CHANGES: readonly AppChange[] = byForm<readonly AppChange[]>(['less'], APP_CHANGES)
const NAMES = Array.from({ length: 20 }, (_, index) => `app-${index}`)
const A_MINUTE = { timeout: 60_000, interval: 300 }
const MADE = [
  { apiVersion: 'v1', plural: 'configmaps' },
  { apiVersion: 'v1', plural: 'services' },
  { apiVersion: 'apps/v1', plural: 'deployments' },
]

let folder: string
const stage = useStage('app-changes', async () => {
  await Promise.resolve()
  return { controllers: EXAMPLE }
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-app-changes-'))
  const { kube } = stage.cluster
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const query = { fieldManager: 'test', force: 'true' }
  await kube.request('PATCH', `${definitions}/${appKind.plural}.${appKind.group}`, {
    query,
    body: parse(crdDocument(appKind)) as object,
    contentType: 'application/apply-patch+yaml',
  })
  await vi.waitFor(async () => await kube.request('GET', resourcePath(appKind, 'app-changes')), A_MINUTE)
  // The pause lasts from the first to the last minute of this year, so that the run stays open.
  const spec = { image: 'shop:1', pause: { from: '0 0 1 1 *', until: '59 23 31 12 *' } }
  for (const name of NAMES) {
    const body = { apiVersion: `${appKind.group}/v1`, kind: 'App', metadata: { name }, spec }
    await kube.request('POST', resourcePath(appKind, 'app-changes'), { body })
  }
  await vi.waitFor(async () => expect(await conditions('Ready')).toEqual(NAMES.map(() => 'Paused')), A_MINUTE)
}, 240_000)
afterAll(() => rm(folder, { recursive: true }))

describe('twenty paused Apps', () => {
  let worker = 'worker'
  let made: readonly string[]

  it('have a run each that waits for the end of the pause', async () => {
    await expect.poll(rows, A_MINUTE).toEqual(NAMES.map(() => ({ outcome: null, last_error: null, restarts: 0 })))
    made = await uids()
    expect(made).toHaveLength(NAMES.length * MADE.length)
  })

  it.each(CHANGES)('go on within a minute when their code is changed: %s', async (change) => {
    const before = await rows()
    await roll(change)
    const begun = Date.now()
    await vi.waitFor(async () => expect(await conditions(CODE)).toEqual(NAMES.map(() => change)), A_MINUTE)
    await vi.waitFor(async () => {
      const found = await rows()
      // The old worker may take a run from the new one while both are running.
      const again = found.map(({ restarts }, index) => restarts - (before[index]?.restarts ?? 0))
      expect(again.every((count) => (MISFITS.includes(change) ? count === 1 || count === 2 : count === 0))).toBe(true)
      expect(found).toMatchObject(NAMES.map(() => ({ outcome: null, last_error: null })))
    }, A_MINUTE)
    expect(Date.now() - begun).toBeLessThan(60_000)
    expect(await conditions('Ready')).toEqual(NAMES.map(() => 'Paused'))
    // The worker recreated no object.
    expect(await uids()).toEqual(made)
  })

  async function roll(change: AppChange): Promise<void> {
    const file = join(folder, `${change}.mjs`)
    const changes = JSON.stringify(CHANGES.slice(0, CHANGES.indexOf(change) + 1))
    await writeFile(
      file,
      `import { changedApp } from '${CHANGED}'\nexport const controllers = [changedApp(${changes})]\n`,
    )
    await stage.pawl.startWorker(change, undefined, ['--controllers', file])
    await stage.pawl.kill(worker, 'SIGTERM')
    worker = change
  }
})

/** The reasons of this condition, in the order of NAMES. */
async function conditions(type: string): Promise<readonly (string | undefined)[]> {
  const { items } = await stage.cluster.kube.request<{ items: App[] }>('GET', resourcePath(appKind, 'app-changes'))
  return NAMES.map((name) => {
    const app = items.find(({ metadata }) => metadata.name === name)
    return app?.status?.conditions?.find((condition) => condition.type === type)?.reason
  })
}

async function rows() {
  const columns = ['outcome', 'last_error', 'restarts'] as const
  return await stage.pawl.db.selectFrom('job').select(columns).where('name', 'in', NAMES).orderBy('name').execute()
}

async function uids(): Promise<readonly string[]> {
  const lists = MADE.map(async (kind) => {
    const path = resourcePath(kind, 'app-changes')
    const { items } = await stage.cluster.kube.request<{ items: KubeObject[] }>('GET', path)
    return items.filter(({ metadata }) => NAMES.includes(metadata.name)).map(({ metadata }) => metadata.uid ?? '')
  })
  return (await Promise.all(lists)).flat().toSorted()
}
