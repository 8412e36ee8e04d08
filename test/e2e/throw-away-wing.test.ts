// Tests that a new wing needs no edit of existing files: the test adds folders to a copy of the checkout, runs
// `pawl gen`, and creates an object of each kind on real servers. So a new job kind, a new level kind and a new
// deployer stay one folder each.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, it, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { createKubeClient, type KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { installation, item } from '../support/cluster/cluster.ts'
import { kubectlAs } from '../support/cluster/kubectl-as.ts'
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
  for (const plural of ['parcels', 'kiosks', 'bells']) await installCrd(`deploy/crds/zoo/zoo.pawl.dev_${plural}.yaml`)
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
    const generated = /\.gen\.ts$|^workflows\/index\.ts$|^deploy\/rbac\/webhook\.yaml$/
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

  it('has admission rules that set defaults, reject objects and return warnings; the rules read the cluster and have a flag', async () => {
    const webhook = await WebhookStage.open(inject('servers'), 'throw-away-admission', checkout.folder)
    try {
      await webhook.start('zoo', ['--wings', 'zoo', '--parcel-most', '7'])
      const { cluster } = webhook
      const kubectl = kubectlAs(inject('servers'), cluster.namespace, 'keeper')
      const stored = async (name: string, spec: object, more: object = {}) =>
        await cluster.create({ apiVersion: ZOO, kind: 'Parcel', metadata: { name, ...more }, spec }, 'parcels')
      // API servers receive a webhook configuration through a watch, with a delay.
      let tries = 0
      const isAsked = async () => (await stored(`try-${(tries += 1)}`, { size: 1 })).spec?.['label'] === 'fragile'
      await vi.waitUntil(isAsked, { timeout: 30_000, interval: 100 })
      const debt = () => stored(`debt-${(tries += 1)}`, { size: -1 }).then(() => 'stored', String)
      await expect.poll(debt, { timeout: 30_000 }).toContain('spec.size')

      await expect(stored('large', { size: 8 })).rejects.toThrow('spec.size')
      await cluster.create(
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'forbidden' }, data: { label: 'secret' } },
        'configmaps',
      )
      await expect(stored('named', { size: 1, label: 'secret' })).rejects.toThrow('spec.label')

      await stored('empty', { size: 1 }, { finalizers: ['zoo.pawl.dev/sealed'] })
      const { stderr } = await kubectl.both(
        'patch',
        'parcels.zoo.pawl.dev',
        'empty',
        '--type=merge',
        '-p',
        '{"spec":{"size":0}}',
      )
      expect(stderr).toContain('Warning: nothing is in it')
      const patched = await kubectl.both(
        'patch',
        'parcels.zoo.pawl.dev',
        'empty',
        '--type=merge',
        '-p',
        '{"spec":{"size":2}}',
      )
      expect(patched.stderr).toContain(`Warning: ${cluster.namespace} is far away`)
      await kubectl('delete', 'parcels.zoo.pawl.dev', 'empty', '--wait=false')
      const unseal = JSON.stringify({ metadata: { finalizers: null } })
      const path = resourcePath({ apiVersion: ZOO, plural: 'parcels' }, cluster.namespace, 'empty')
      const merge = { body: { metadata: { finalizers: null } }, contentType: 'application/merge-patch+json' } as const
      await expect(cluster.kube.request('PATCH', path, merge)).rejects.toThrow('metadata.finalizers')
      await kubectl('patch', 'parcels.zoo.pawl.dev', 'empty', '--type=merge', '-p', unseal)
      expect(await cluster.get('parcels', 'empty', ZOO)).toBeUndefined()
    } finally {
      await webhook.close()
    }
  })

  it('has a controller in level mode, whose object converges', async () => {
    await create('Kiosk', 'kiosks', { message: 'open' })
    await vi.waitFor(async () => {
      expect((await stage.cluster.get('kiosks', 'one', ZOO))?.status).toEqual({ message: 'open' })
    }, 60_000)
    const made = async () => (await stage.cluster.get('configmaps', 'one', 'v1'))?.['data']
    await expect.poll(made).toEqual({ message: 'open' })
  })

  it('has a controller whose activities use modules that the workflow sandbox lacks', async () => {
    await create('Bell', 'bells', { tone: 'ding' })
    const heard = createHash('sha256').update('ding').digest('hex').slice(0, 8)
    await vi.waitFor(async () => {
      expect((await stage.cluster.get('bells', 'one', ZOO))?.status).toEqual({ heard })
    }, 60_000)
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
