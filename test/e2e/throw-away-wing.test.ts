// A wing that nobody has edited anything for: folders are added to a copy of the checkout, `pawl gen` is run, and an object of each runs on
// real servers. So a new job kind, a new level kind and a new deployer stay one folder each.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { createKubeClient, type KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { installation, item } from '../support/cluster.ts'
import { useStage } from '../support/stage.ts'
import { Checkout } from '../support/throw-away-wing/checkout.ts'
import { FILES } from '../support/throw-away-wing/files.ts'

const ZOO = 'zoo.pawl.dev/v1alpha1'
let checkout: Checkout

const stage = useStage('throw-away-wing', async () => {
  checkout = await Checkout.copy()
  await checkout.add(FILES)
  checkout.pawl('gen', 'new', 'Kiosk', '--group', 'zoo.pawl.dev', '--wing', 'zoo')
  checkout.pawl('gen')
  for (const plural of ['parcels', 'kiosks', 'bells']) await installCrd(`deploy/crds/zoo/zoo.pawl.dev_${plural}.yaml`)
  return { checkout: checkout.folder, workerFlags: ['--parcel-unit', 'stone'] }
})

afterAll(async () => {
  await checkout.remove()
})

beforeAll(() => {
  vi.setConfig({ testTimeout: 90_000 })
})

async function installCrd(path: string): Promise<void> {
  const kube = createKubeClient({ kubeconfigPath: inject('servers').kubeconfigPath, userAgent: 'test' })
  const [definition] = parseAllDocuments(await readFile(join(checkout.folder, path), 'utf8'))
  const crds = { apiVersion: 'apiextensions.k8s.io/v1', plural: 'customresourcedefinitions' }
  const { metadata } = await kube.request<KubeObject>('POST', resourcePath(crds, undefined), {
    body: definition?.toJS() as object,
  })
  await vi.waitFor(async () => {
    const { status } = await kube.request<KubeObject>('GET', resourcePath(crds, undefined, metadata.name))
    const { conditions } = status as {
      readonly conditions: readonly { readonly type: string; readonly status: string }[]
    }
    expect(conditions.find(({ type }) => type === 'Established')).toMatchObject({ status: 'True' })
  }, 20_000)
  await kube.close()
}

interface Role {
  readonly kind: string
  readonly metadata: { readonly namespace?: string }
  readonly rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[]
}

const create = async (kind: string, plural: string, spec: object) =>
  await stage.cluster.create({ ...{ apiVersion: ZOO, kind, metadata: { name: 'one' } }, spec }, plural)

describe('a wing that is added as folders', () => {
  it('changes nothing outside of them but what is generated', async () => {
    expect(checkout.pawl('gen', '--check')).toBe('')
    const changed = await checkout.changed()
    expect(changed.filter((path) => !/\.gen\.ts$|^workflows\/index\.ts$/.test(path))).toEqual([])
    expect(changed).toContain('workflows/controllers.gen.ts')
  })

  it('runs jobs of its kind, with its own activities and flags', async () => {
    const { metadata } = await create('Parcel', 'parcels', { size: 21 })
    await vi.waitFor(async () => {
      const parcel = await stage.cluster.get('parcels', 'one', ZOO)
      expect(parcel?.status).toMatchObject({ phase: 'Weighed', weight: '42 stone', observedGeneration: 1 })
      expect(parcel?.status?.jobIDFinished).toBe(parcel?.status?.jobID)
    }, 60_000)
    expect(await stage.pawl.jobs({ metadata })).toMatchObject([{ cause: 'changed spec', outcome: 'Weighed' }])
  })

  it('has objects in level mode converge', async () => {
    await create('Kiosk', 'kiosks', { message: 'open' })
    await vi.waitFor(async () => {
      expect((await stage.cluster.get('kiosks', 'one', ZOO))?.status).toEqual({ message: 'open' })
    }, 60_000)
    const made = async () => (await stage.cluster.get('configmaps', 'one', 'v1'))?.['data']
    await expect.poll(made).toEqual({ message: 'open' })
  })

  it('calls activities of a controller of its own, which the sandbox does not have', async () => {
    await create('Bell', 'bells', { tone: 'ding' })
    const heard = createHash('sha256').update('ding').digest('hex').slice(0, 8)
    await vi.waitFor(async () => {
      expect((await stage.cluster.get('bells', 'one', ZOO))?.status).toEqual({ heard })
    }, 60_000)
  })

  it('has Roles of one namespace, too, with what its controllers declare', () => {
    const text = checkout.pawl('gen', 'rbac', '--wings', 'zoo', '--namespace', 'a')
    const roles = parseAllDocuments(text).map((one) => one.toJS() as Role)
    expect(roles.map(({ kind, metadata: { namespace } }) => [kind, namespace])).toEqual([
      ['Role', 'a'],
      ['Role', 'a'],
    ])
    const withMaps = roles.map(({ rules }) => rules.find(({ resources }) => resources.includes('configmaps'))?.verbs)
    expect(withMaps).toEqual([
      ['list', 'watch'],
      ['get', 'create', 'patch', 'delete'],
    ])
  })

  it('deploys items of a type of its own, beside those of others', async () => {
    const config = { apiVersion: 'zoo.pawl.dev/v1', kind: 'Echo', answer: 'hello' }
    const items = [item({ name: 'plain' }), item({ name: 'echo', type: 'zoo.pawl.dev/echo', config })]
    await stage.cluster.create(installation('mixed', items), 'installations')
    expect((await stage.cluster.finished('mixed')).status?.phase).toBe('Succeeded')
    expect(await stage.cluster.phases('mixed')).toEqual({ plain: 'Succeeded', echo: 'Succeeded' })
  })
})
