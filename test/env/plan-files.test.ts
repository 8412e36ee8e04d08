// `pawl plan -f` against a real API server: what it reports, and that it writes nothing.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { API, execution, installation, item } from '../support/cluster/cluster.ts'
import { dataObject } from '../support/landscaper/imports.ts'
import { configMap, manifestItem } from '../support/landscaper/manifests.ts'
import { deploying, sub } from '../support/landscaper/sub-installations.ts'
import { LISTED_TARGETS } from '../support/pawl/pawl.ts'
import { runCommandWith } from '../support/pawl/run-command.ts'
import { useTargetStage } from './target-stage.ts'

const NAMESPACE = 'plan-files'
const PASSWORD = 'correct horse battery'
const cluster = useTargetStage(NAMESPACE)
let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-plan-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

interface Told {
  readonly refused: readonly { readonly at: string; readonly problem: string }[]
  readonly writes: readonly {
    readonly state: string
    readonly kind: string
    readonly name: string
    readonly target?: string
  }[]
  readonly jobs: readonly Job[]
  readonly unvalidated: readonly string[]
}

interface Job {
  readonly name: string
  readonly end: string
  readonly told?: string
  readonly items: readonly {
    readonly item: string
    readonly level: number
    readonly state: string
    readonly unknown?: string
    readonly problem?: string
  }[]
  readonly jobs: readonly Job[]
}

async function plan(objects: readonly object[], ...args: readonly string[]) {
  const file = join(folder, 'objects.yaml')
  await writeFile(file, objects.map((object) => JSON.stringify(object)).join('\n---\n'))
  const { kubeconfigPath } = inject('servers')
  const where = ['-n', NAMESPACE, '--kubeconfig', kubeconfigPath, '--target-allow', LISTED_TARGETS]
  const asked = ['plan', '-f', file, ...where, ...args]
  return await runCommandWith({ PAWL_DATA_DIR: folder, PAWL_DATABASE_URL: '' }, ...asked)
}

async function told(objects: readonly object[]) {
  const { stdout, stderr, code } = await plan(objects, '-o', 'json')
  expect(stderr).toBe('')
  return { ...(JSON.parse(stdout) as Told), code, stdout }
}

/** An Installation with a Secret and a ConfigMap on a target, an item of another deployer, and a sub-installation. */
function shop() {
  const imported = '{{ .imports.password }}'
  const onTarget = (name: string, manifest: object, dependsOn: readonly string[] = []) => ({
    ...manifestItem({ name, manifests: [{ ...manifest }], dependsOn }),
    target: { import: 'here' },
  })
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'of-secret', namespace: NAMESPACE } }
  const deployItems = [
    onTarget('web', configMap('of-configmap', NAMESPACE), ['db']),
    onTarget('db', { ...secret, stringData: { password: imported } }),
    item({ name: 'theirs', type: 'example.com/theirs', config: { text: imported } }),
  ]
  const imports = {
    data: [{ name: 'password', secretRef: { name: 'login', key: 'password' } }],
    targets: [{ name: 'here', target: 'here' }],
  }
  return installation('shop', [], {
    triggered: false,
    spec: { imports },
    blueprint: {
      imports: [
        { name: 'password', type: 'data', schema: { type: 'string' } },
        { name: 'here', type: 'target', targetType: 'landscaper.gardener.cloud/kubernetes-cluster' },
      ],
      subinstallations: [sub('inner', { blueprint: deploying() })],
      deployExecutions: [{ name: 'items', type: 'GoTemplate', template: JSON.stringify({ deployItems }) }],
    },
  })
}

/** Every object of the namespace that a plan could touch, with its version. */
async function versions(): Promise<Readonly<Record<string, string>>> {
  const landscaper = `/apis/${API}/namespaces/${NAMESPACE}`
  const paths = [
    ...['installations', 'executions', 'deployitems', 'targets', 'dataobjects'].map(
      (plural) => `${landscaper}/${plural}`,
    ),
    ...['configmaps', 'secrets', 'events'].map((plural) => `/api/v1/namespaces/${NAMESPACE}/${plural}`),
  ]
  const lists = await Promise.all(paths.map(async (path) => await cluster().admin.request<ObjectList>('GET', path)))
  return Object.fromEntries(
    lists.flatMap(({ items }, index) =>
      items
        // The controller manager puts it into each namespace, when it comes to that.
        .filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')
        .map(({ metadata }) => [`${paths[index] ?? ''}/${metadata.name}`, metadata.resourceVersion ?? '']),
    ),
  )
}

const create = async (plural: string, body: object): Promise<KubeObject> =>
  await cluster().admin.request<KubeObject>('POST', `/apis/${API}/namespaces/${NAMESPACE}/${plural}`, { body })

describe('pawl plan -f', () => {
  it('reports what an Installation would create, down to the objects in its target cluster, and writes nothing', async () => {
    await cluster().secret('login', { password: PASSWORD })
    await cluster().target('here', { config: { kubeconfig: cluster().changed(() => undefined) } })
    const before = await versions()
    const { jobs, writes, code, stdout } = await told([shop()])
    expect(code).toBe(3)
    expect(jobs).toMatchObject([{ name: 'shop', end: 'succeeds', jobs: [{ end: 'succeeds' }] }])
    const items = jobs[0]?.items.map(({ item, level, state }) => `${level} ${item} ${state}`)
    expect(items?.sort()).toEqual(['1 db new', '1 theirs new', '2 web new'])
    expect(jobs[0]?.items.find(({ item }) => item === 'theirs')?.unknown).toContain('example.com/theirs')
    const states = writes.map(({ state, kind, target = '' }) => `${state} ${kind} ${target}`.trim())
    expect(states).toEqual(
      expect.arrayContaining([
        'new Installation',
        'new Execution',
        'new DeployItem',
        'new DataObject',
        'new Secret here',
        'new ConfigMap here',
      ]),
    )
    expect(stdout).not.toContain(PASSWORD)
    expect(stdout).not.toContain(Buffer.from(PASSWORD).toString('base64'))
    expect(stdout).toContain('***')
    const maps = Array.from({ length: 150 }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `map-${index}` },
      data: { text: 'x'.repeat(180), more: 'y'.repeat(180), most: 'z'.repeat(180) },
    }))
    const text = await plan([shop(), ...maps])
    // All of it, although it is much.
    expect(text.stdout).toMatch(
      /^Changes: \d+ new.*\n[^]*\n\nDurations are unknown without a journal; .*\nnext: kubectl apply .*\n$/,
    )
    expect(text.code).toBe(3)
    expect(text.stdout).toContain('Installation plan-files/shop')
    expect(text.stdout).toContain('on target here, by')
    expect(text.stdout).not.toContain(PASSWORD)
    expect(text.stdout).not.toMatch(/ownerReferences|deployItemsCompressed|applied-hash/)
    // More objects than the text shows: it begins with the target cluster.
    expect(text.stdout).toMatch(/\n\n\+ (Secret|ConfigMap) plan-files\/of-\w+ on target here, by /)
    expect(text.stdout).toMatch(/\nand \d+ objects of Pawl's own; -o wide shows them\n/)
    expect(await versions()).toEqual(before)
  })

  it('reads other objects from the same files, and reports missing objects and invalid fields as the controllers do', async () => {
    const sized = (name: string, dataRef: string) =>
      installation(name, [], {
        triggered: false,
        spec: { imports: { data: [{ name: 'size', dataRef }] } },
        blueprint: { imports: [{ name: 'size', type: 'data', schema: { type: 'integer' } }] },
      })
    const { jobs, code } = await told([dataObject('size', 3), sized('good', 'size'), sized('bad', 'nowhere')])
    expect(code).toBe(1)
    const [good, bad] = ['good', 'bad'].map((name) => jobs.find((job) => job.name === name))
    expect(good).toMatchObject({ end: 'succeeds' })
    expect(bad?.told).toContain(
      'spec.imports.data[0] "size": DataObject "plan-files/nowhere" does not exist; create it',
    )
    const namespace = 'plan-files-new'
    const inside = [dataObject('size', 3), sized('good', 'size')].map((object) => ({
      ...object,
      metadata: { ...object.metadata, namespace },
    }))
    const created = await told([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, ...inside])
    expect(created).toMatchObject({ code: 3, refused: [], unvalidated: [namespace], jobs: [{ end: 'succeeds' }] })
    const refused = await told([{ ...shop(), spec: { blueprint: 7 } }])
    expect(refused).toMatchObject({
      code: 1,
      refused: [{ problem: expect.stringContaining('spec.blueprint') as string }],
    })
  })

  it('accepts a Target that acts as a ServiceAccount of the same files', async () => {
    const config = (name: string) => ({ config: { selfConfig: { serviceAccount: { name } } } })
    const target = (name: string, spec: object) => ({
      apiVersion: API,
      kind: 'Target',
      metadata: { name },
      spec: { type: 'landscaper.gardener.cloud/kubernetes-cluster', ...spec },
    })
    const deployer = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'plan-deployer' } }
    const deployItems = ['same', 'missing'].map((name) =>
      manifestItem({ name, manifests: [configMap(`of-${name}`, NAMESPACE)], target: `as-${name}` }),
    )
    const { jobs, code } = await told([
      deployer,
      target('as-same', config('plan-deployer')),
      target('as-missing', config('nobody')),
      { ...execution('self', []), spec: { deployItems } },
    ])
    expect(code).toBe(1)
    const [same, missing] = ['same', 'missing'].map((name) => jobs[0]?.items.find(({ item }) => item === name))
    expect(same).not.toHaveProperty('problem')
    expect(same?.unknown).toContain(`ServiceAccount "${NAMESPACE}/plan-deployer": a dry run gets no token`)
    expect(missing?.problem).toContain(`ServiceAccount "${NAMESPACE}/nobody" does not exist; create it`)
  })

  it('names the Installation that imports a changed object', async () => {
    await create('dataobjects', dataObject('amount', 3))
    const imports = { data: [{ name: 'amount', dataRef: 'amount' }] }
    await create('installations', installation('reader', [], { triggered: false, spec: { imports } }))
    const { stdout, stderr, code } = await plan([dataObject('amount', 4)])
    expect(stderr).toBe('')
    expect(code).toBe(3)
    expect(stdout).toContain(`    imported by Installation ${NAMESPACE}/reader; add its manifest to see its changes\n`)
    const next = /\nnext: kubectl apply .*, then pawl reconcile installation\/reader -n plan-files\n$/
    expect(stdout).toMatch(next)
    // The same if the Installation is in the files.
    const both = await plan([
      dataObject('amount', 4),
      installation('reader', [], { triggered: false, spec: { imports } }),
    ])
    expect(both.stdout).not.toContain('imported by')
    expect(both.stdout).toMatch(next)
  })

  it('reports orphaned items and dependency cycles of an existing Execution', async () => {
    const { metadata } = await create('executions', execution('exec', [{ name: 'old' }]))
    const { uid } = metadata
    const owner = { apiVersion: API, kind: 'Execution', name: 'exec', uid, controller: true, blockOwnerDeletion: true }
    const label = (name: string) => `execution.landscaper.gardener.cloud/${name}`
    await create('deployitems', {
      apiVersion: API,
      kind: 'DeployItem',
      spec: { type: 'landscaper.gardener.cloud/mock' },
      metadata: {
        name: 'exec-old',
        ownerReferences: [owner],
        finalizers: ['finalizer.landscaper.gardener.cloud'],
        labels: { [label('managed-by')]: 'exec', [label('name')]: 'old' },
      },
    })
    const before = await versions()
    const ring = execution('ring', [
      { name: 'a', dependsOn: ['b'] },
      { name: 'b', dependsOn: ['a'] },
    ])
    const { jobs, writes, code } = await told([execution('exec', [{ name: 'new' }]), ring])
    expect(code).toBe(1)
    expect(writes.map(({ state, kind }) => `${state} ${kind}`)).toEqual(
      expect.arrayContaining(['changed Execution', 'new DeployItem', 'deleted DeployItem']),
    )
    const [changed, cyclic] = ['exec', 'ring'].map((name) => jobs.find((job) => job.name === name))
    const items = [
      { item: 'old', state: 'orphaned' },
      { item: 'new', state: 'new' },
    ]
    expect(changed).toMatchObject({ end: 'succeeds', items })
    expect(cyclic?.told).toMatch(/CyclicDependencies: .*a -> b -> a|b -> a -> b/)
    expect(await versions()).toEqual(before)
    await cluster().patch(`/apis/${API}/namespaces/${NAMESPACE}/deployitems/exec-old`, {
      metadata: { finalizers: null },
    })
  })
})
