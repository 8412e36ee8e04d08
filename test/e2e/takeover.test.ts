// Tests that Pawl replaces the real Landscaper: it starts with the objects that version 0.127.0 left
// (support/takeover/landscaper-0.127.0.yaml describes how). One state is added by hand, because that version removes it
// at once: dependents in `status.dependentsToTrigger`. Source: spec/landscaper.md 1.13-1.15, 2, appendix C;
// docs/guides/migrate-from-landscaper.md.

import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { FINALIZER, installation, type LsObject } from '../support/cluster/cluster.ts'
import { createPreviousObjects } from '../support/takeover/previous-objects.ts'
import { useStage } from '../support/pawl/stage.ts'

const LEFT = new URL('../support/takeover/landscaper-0.127.0.yaml', import.meta.url)
const IDLE = ['real-settled', 'real-manifests', 'real-failed']
const WITH_DEPENDENT = 'real-manifests'
const ITEMS_OF = [...IDLE, 'inner-ssk4g']
const [CORE, MAPS] = ['v1', 'configmaps']
const EXPORT_SECRET = 'real-manifests-configs-2bt5r-export'

let left: ReadonlyMap<string, LsObject>

const stage = useStage('takeover-left', async () => {
  const { cluster, servers } = stage
  const kubeconfig = await readFile(servers.kubeconfigPath, 'utf8')
  const metadata = { name: 'real-cluster' }
  await cluster.create({ apiVersion: CORE, kind: 'Secret', metadata, stringData: { kubeconfig } }, 'secrets')
  await createPreviousObjects(cluster, LEFT)
  const spec = { imports: { data: [{ name: 'word', dataRef: 'real-word' }] } }
  const blueprint = { imports: [{ name: 'word', type: 'data', schema: { type: 'string' } }] }
  await cluster.create(installation('dependent', [], { triggered: false, spec, blueprint }), 'installations')
  await cluster.patch(
    'installations',
    WITH_DEPENDENT,
    { status: { dependentsToTrigger: [{ name: 'dependent' }] } },
    'status',
  )
  left = await idle()
  // The items of other deployers have waited for longer than any pickup timeout. Strict tenancy refuses to take over
  // data without an owner; Pawl must still accept Landscaper's exports.
  return { workerFlags: ['--pickup-timeout', 'none', '--strict-tenancy', 'yes'] }
})

/** The objects without an open job, and the ConfigMaps that they deployed, by name. */
async function idle(): Promise<ReadonlyMap<string, LsObject>> {
  const { cluster } = stage
  const items = await Promise.all(ITEMS_OF.map((name) => cluster.items(name)))
  const named = [
    ...ITEMS_OF.flatMap((name) => [
      { plural: 'installations', name },
      { plural: 'executions', name },
    ]),
    ...['real-managed', 'real-kept'].map((name) => ({ plural: MAPS, name })),
  ]
  const found = await Promise.all(
    named.map(async ({ plural, name }) => {
      return [`${plural}/${name}`, await there(plural, name)] as const
    }),
  )
  return new Map([...found, ...items.flatMap((of) => [...of.values()].map((one) => [one.metadata.name, one] as const))])
}

async function there(plural: string, name: string): Promise<LsObject> {
  const apiVersion = [MAPS, 'secrets'].includes(plural) ? CORE : undefined
  const found = await stage.cluster.get(plural, name, apiVersion)
  if (found === undefined) throw new Error(`${plural}/${name} is not there`)
  return found
}
const each = (objects: ReadonlyMap<string, LsObject>, field: 'uid' | 'resourceVersion') =>
  Object.fromEntries([...objects].map(([name, { metadata }]) => [name, metadata[field]]))

/** Fields and conditions of statuses that Landscaper had written and that are missing after Pawl's job. */
function unwritten(before: ReadonlyMap<string, LsObject>, after: ReadonlyMap<string, LsObject>): readonly string[] {
  const missing = [...before].flatMap(([name, { kind, status }]) => {
    const now = new Set(statusPaths(after.get(name)?.status))
    return statusPaths(status).flatMap((path) => (now.has(path) ? [] : [`${kind ?? ''} ${path}`]))
  })
  return [...new Set(missing)].sort()
}

function statusPaths(status: unknown, at = 'status'): readonly string[] {
  if (at === 'status.conditions')
    return (status as readonly { type: string; status: string }[]).map((one) => `${at} ${one.type}=${one.status}`)
  if (typeof status !== 'object' || status === null) return [at]
  const fields = Array.isArray(status) ? status.map((one) => ['[]', one] as const) : Object.entries(status)
  return fields.length === 0
    ? [at]
    : fields.flatMap(([name, value]) => statusPaths(value, `${at}${name === '[]' ? '' : '.'}${name}`))
}

// Only Landscaper's mock deployer writes this condition. Both projects have a mock deployer for their tests.
const NOT_WRITTEN = [
  'DeployItem status.conditions DeployItemValidation=True',
  'Installation status.dependentsToTrigger[].name',
]

describe('an installation that Landscaper 0.127.0 left unfinished', () => {
  it('during its deletion is removed, with its exports', async () => {
    for (const name of ['real-going', 'inner-k4tfm']) await stage.cluster.waitUntilGone(name)
    await stage.cluster.waitUntilGone('real-going-out', 'dataobjects')
  })

  it('with an unseen reconcile request gets its job', async () => {
    const follower = await stage.cluster.waitUntilFinished('real-follower', 'c5564e4a-9221-476d-a2c8-5b876993fd4b')
    expect(follower.status).toMatchObject({ phase: 'Succeeded' })
  })

  it('while its manifests were applied continues the same job, which recreates no object', async () => {
    const before = await there(MAPS, 'real-unready')
    const body = { data: { ready: 'yes' } }
    const path = resourcePath({ apiVersion: CORE, plural: MAPS }, stage.cluster.namespace, 'real-unready')
    await stage.cluster.kube.request('PATCH', path, { body, contentType: 'application/merge-patch+json' })
    const unready = await stage.cluster.waitUntilFinished('real-unready')
    expect(unready.status).toMatchObject({ phase: 'Succeeded', jobID: '4a800190-367c-4a5c-b22e-05ea2895d0ae' })
    expect((await there(MAPS, 'real-unready')).metadata.uid).toBe(before.metadata.uid)
  })

  it('during a job with sub-installations continues the same job; then the installation that waits for its exports continues', async () => {
    const jobID = 'c5247cc5-8e8b-4673-89b1-836c2fb7ea21'
    for (const owner of ['inner-qqqsr', 'real-running']) {
      const foreign = (await stage.cluster.items(owner)).get('foreign')
      if (foreign === undefined) throw new Error(`${owner} has no item foreign`)
      await stage.cluster.finishItem(foreign, 'Succeeded')
    }
    const running = await stage.cluster.waitUntilFinished('real-running')
    expect(running.status).toMatchObject({ phase: 'Succeeded', jobID, jobIDFinished: jobID })
    expect(await stage.pawl.jobs(running)).toMatchObject([{ jobID, outcome: 'Succeeded' }])
    expect((await there('dataobjects', 'real-running-out'))['data']).toBe(3)
    const isDone = (one: LsObject | undefined) => one?.status?.phase === 'Succeeded'
    await stage.cluster.waitUntil('installations', 'real-waiting', isDone)
  })
})

describe('an idle installation of Landscaper 0.127.0', () => {
  it('is unchanged after Pawl has started, except for its field dependentsToTrigger: these dependents get their job', async () => {
    expect((await stage.cluster.waitUntilFinished('dependent')).status).toMatchObject({ phase: 'Succeeded' })
    const isDone = (one: LsObject | undefined) => one?.status?.['dependentsToTrigger'] === undefined
    const owner = await stage.cluster.waitUntil('installations', WITH_DEPENDENT, isDone)
    expect(await stage.pawl.jobs(owner)).toMatchObject([{ cause: 'dependents left to start', outcome: 'Guarded' }])
    const key = `installations/${WITH_DEPENDENT}`
    expect(owner.status).toEqual({ ...left.get(key)?.status, dependentsToTrigger: undefined })
    const after = new Map(await idle()).set(key, left.get(key)!)
    expect(each(after, 'resourceVersion')).toEqual(each(left, 'resourceVersion'))
    for (const name of IDLE) expect((await there('installations', name)).metadata.finalizers).toEqual([FINALIZER])
  })

  it('runs its next job with the same objects, and takes ownership of the exports', async () => {
    for (const name of ['real-settled', 'real-manifests']) {
      const before = left.get(`installations/${name}`)
      await stage.cluster.trigger(name)
      const after = await stage.cluster.waitUntilFinished(name, before?.status?.jobID)
      expect(after.status).toMatchObject({ phase: 'Succeeded' })
    }
    expect(each(await idle(), 'uid')).toEqual(each(left, 'uid'))
    expect(unwritten(left, await idle())).toEqual(NOT_WRITTEN)
    expect((await there('dataobjects', 'real-out'))['data']).toBe(3)
    for (const [plural, name] of [
      ['secrets', EXPORT_SECRET],
      ['dataobjects', 'real-out'],
      ['targets', 'real-made'],
    ] as const)
      expect((await there(plural, name)).metadata.ownerReferences).toMatchObject([{ controller: true }])
  })

  it('is deleted with all its objects, except a manifest with the policy keep', async () => {
    for (const name of ['dependent', 'real-waiting', 'real-follower', 'real-failed', 'real-settled', 'real-manifests'])
      await stage.cluster.delete('installations', name)
    for (const name of ['real-failed', 'real-settled', 'real-manifests']) await stage.cluster.waitUntilGone(name)
    expect(await stage.cluster.get(MAPS, 'real-managed', CORE)).toBeUndefined()
    expect((await there(MAPS, 'real-kept'))['data']).toEqual({ word: 'kept' })
  })
})
