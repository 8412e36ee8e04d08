// Tests that a new wing needs no edit of existing files: the test adds folders to a copy of the checkout, runs
// `pawl gen`, and creates an object of each kind on real servers. So a new job kind, a new level kind and a new
// deployer stay one folder each.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, it, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { createKubeClient, type KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { installation, item } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'
import { WebhookStage } from '../support/pawl/webhook.ts'
import { Checkout } from '../support/throw-away-wing/checkout.ts'
import { FILES } from '../support/throw-away-wing/files.ts'

const ZOO = 'zoo.pawl.dev/v1alpha1'
let checkout: Checkout

const stage = useStage('throw-away-wing', async () => {
  checkout = await Checkout.copy()
  await checkout.add(FILES)
  checkout.pawl('gen', 'new', 'Kiosk', '--group', 'zoo.pawl.dev', '--wing', 'zoo')
  checkout.pawl('gen')
  for (const plural of ['parcels', 'kiosks']) await installCrd(`deploy/crds/zoo/zoo.pawl.dev_${plural}.yaml`)
  return { checkout: checkout.folder, workerFlags: ['--parcel-unit', 'stone'] }
})

afterAll(async () => {
  await checkout.remove()
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
  await stage.cluster.create({ apiVersion: ZOO, kind, metadata: { name: 'one' }, spec }, plural)

describe('a wing that is added as folders', () => {
  it('changes only generated files outside of its folders', async () => {
    expect(checkout.pawl('gen', '--check')).toBe('')
    const changed = await checkout.changed()
    const generated =
      /\.gen\.ts$|^workflows\/index\.ts$|^deploy\/chart\/(?:templates\/rbac\.yaml|values\.schema\.json)$|^deploy\/rbac\/webhook\.yaml$/
    expect(changed.filter((path) => !generated.test(path))).toEqual([])
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

  it('has admission rules that set defaults and reject objects; the rules have a flag', async () => {
    const webhook = await WebhookStage.open(inject('servers'), 'throw-away-admission', checkout.folder)
    try {
      await webhook.start('zoo', ['--wings', 'zoo', '--parcel-most', '7'])
      let tries = 0
      const stored = async (size: number) => {
        const object = { apiVersion: ZOO, kind: 'Parcel', metadata: { name: `try-${(tries += 1)}` }, spec: { size } }
        return await webhook.cluster.create(object, 'parcels').then(({ spec }) => spec?.['label'], String)
      }
      // API servers receive a webhook configuration through a watch, with a delay.
      await expect.poll(() => stored(1), { timeout: 30_000 }).toBe('fragile')
      for (const size of [-1, 8]) await expect.poll(() => stored(size), { timeout: 30_000 }).toContain('spec.size')
    } finally {
      await webhook.close()
    }
  })

  it('has a controller in level mode, whose object converges', async () => {
    await create('Kiosk', 'kiosks', { message: 'open' })
    await vi.waitFor(async () => {
      expect((await stage.cluster.get('kiosks', 'one', ZOO))?.status).toEqual({
        conditions: [expect.objectContaining({ type: 'Ready', status: 'True', reason: 'Reconciled' })],
      })
    }, 60_000)
    const made = async () => (await stage.cluster.get('configmaps', 'one', 'v1'))?.['data']
    await expect.poll(made).toEqual({ message: 'open' })
  })

  it('gets Roles of one namespace with the permissions that its controllers declare', () => {
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

  it('deploys items of its new type next to items of other types', async () => {
    const config = { apiVersion: 'zoo.pawl.dev/v1', kind: 'Echo', answer: 'hello' }
    const items = [item({ name: 'plain' }), item({ name: 'echo', type: 'zoo.pawl.dev/echo', config })]
    await stage.cluster.create(installation('mixed', items), 'installations')
    expect((await stage.cluster.waitUntilFinished('mixed')).status?.phase).toBe('Succeeded')
    expect(await stage.cluster.phases('mixed')).toEqual({ plain: 'Succeeded', echo: 'Succeeded' })
  })
})
