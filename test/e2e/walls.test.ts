// Two tenants on real servers. Mallory writes in her own namespace only, and knows the names and uids of Alice's objects; her objects claim to belong to them.
// The same on the journal alone: test/env/journal-walls.test.ts. Source: docs/concepts/security.md "Between namespaces".

import { describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'
import type { KubeObject, OwnerReference } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { crdDocument } from '../../worker/gen/crd.ts'
import { OWNER_ANNOTATION, OWNER_UID_LABEL } from '../../workflows/kit/index.ts'
import { API, type Cluster, installation, item, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { parcelKind, rackKind, SHARED } from '../support/level/parcel.ts'
import { useTenants } from '../support/tenants/tenants.ts'

const CANARY = 'canary-of-alice'
const HOLD = 'mallory.example.com/hold'
const MAPS = { apiVersion: 'v1', plural: 'configmaps' }
const PATIENT = { timeout: 60_000, interval: 50 }

const tenants = useTenants('walls', ['alice', 'mallory', SHARED], installParcels, {
  controllers: new URL('../support/level/parcel.ts', import.meta.url).pathname,
})
const alice = () => tenants.of('alice')
const mallory = () => tenants.of('mallory')

describe("an execution and an item in another tenant's namespace with an owner reference to this tenant's installation", () => {
  it('receive no rendered data of the installation', async () => {
    const victim = await alice().create(installation('rendered', [secret('db')], { triggered: false }), 'installations')
    const forged = await forgeExecution('rendered', victim)
    await tenants.pawl.waitUntilJournaled(forged)
    await alice().trigger('rendered')
    await slow('rendered')
    expect(JSON.stringify(await alice().list('deployitems'))).toContain(CANARY)
    for (const plural of ['installations', 'executions', 'deployitems', 'dataobjects', 'targets'])
      expect(JSON.stringify(await mallory().list(plural))).not.toContain(CANARY)
    expect((await mallory().get('executions', 'rendered'))?.spec).toEqual(forged.spec)
    await end('rendered')
  })

  it('have no effect on its status and cause no pass', async () => {
    await alice().create(
      installation('believed', [secret('db'), { name: 'after', dependsOn: ['db'] }]),
      'installations',
    )
    const running = await slow('believed')
    const root = (await alice().get('installations', 'believed'))!
    const execution = (await alice().get('executions', 'believed'))!
    // Before the owner is in the journal, an event on the child causes a pass.
    await tenants.pawl.waitUntilJournaled(execution)
    const { jobID } = root.status ?? {}
    const ended = { phase: 'Succeeded', jobID, jobIDFinished: jobID }
    const forged = [
      await say('executions', await forgeExecution('believed', root), ended),
      await say('deployitems', await forgeItem(running, execution), ended),
    ]
    for (const one of forged) await tenants.pawl.waitUntilJournaled(one)
    expect((await Promise.all(forged.map(wokenBy))).flat()).toEqual([])
    expect(await alice().phases('believed')).toEqual({ db: 'Progressing', after: undefined })
    await end('believed')
    expect(await alice().phases('believed')).toEqual({ db: 'Succeeded', after: 'Succeeded' })
  })

  it('do not block its deletion with finalizers, and are not changed', async () => {
    await alice().create(installation('deleted', [secret('db')]), 'installations')
    const running = await slow('deleted')
    await end('deleted')
    const root = (await alice().get('installations', 'deleted'))!
    const forged = [
      await forgeExecution('deleted', root),
      await forgeItem(running, (await alice().get('executions', 'deleted'))!),
    ]
    for (const one of forged) await tenants.pawl.waitUntilJournaled(one)
    await alice().delete('installations', 'deleted')
    await alice().waitUntilGone('deleted')
    for (const plural of ['executions', 'deployitems']) {
      const [one] = (await mallory().list(plural)).filter(({ metadata }) =>
        forged.some((o) => o.metadata.uid === metadata.uid),
      )
      expect(one?.metadata.finalizers).toContain(HOLD)
    }
  })

  it('are never written by its runs', async () => {
    const rows = await tenants.pawl.db
      .selectFrom('action')
      .select(['workflow_id', 'object'])
      .where('namespace', '=', 'mallory')
      .execute()
    expect(rows.filter(({ workflow_id }) => workflow_id.includes('/alice/'))).toEqual([])
  })
})

describe('an item created by hand in the namespace of an execution, with an owner reference to it', () => {
  it('is deleted with the next job, like an item that was removed from the spec', async () => {
    await alice().create(installation('by-hand', [{ name: 'db' }]), 'installations')
    const first = await alice().waitUntilFinished('by-hand')
    const ownerReferences = [ownerReference((await alice().get('executions', 'by-hand'))!, LANDSCAPER('Execution'))]
    const { type, config } = item({ name: 'extra' })
    const metadata = { name: 'by-hand-extra', ownerReferences }
    const made = await alice().create({ ...LANDSCAPER('DeployItem'), metadata, spec: { type, config } }, 'deployitems')
    await tenants.pawl.waitUntilJournaled(made)
    await alice().trigger('by-hand')
    const second = await alice().waitUntilFinished('by-hand', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect(await alice().get('deployitems', 'by-hand-extra')).toBeUndefined()
  })
})

describe("an object in another tenant's namespace with an owner reference to an object of a controller in level mode", () => {
  it('does not wake its owner', async () => {
    const victim = await pack('seen')
    const reference = ownerReference(victim, parcelKind)
    const forged = [
      await map(mallory(), 'by-reference', { ownerReferences: [reference], finalizers: [HOLD] }),
      await map(mallory(), 'by-label', marked(victim)),
    ]
    expect(await Promise.all(forged.map(fateOf))).toEqual(['ignored', 'ignored'])
  })

  it('is not observed by its owner, and is not deleted with it', async () => {
    const victim = await pack('left')
    const forged = await map(mallory(), 'left-by-label', { ...marked(victim), finalizers: [HOLD] })
    await alice().kube.request('DELETE', resourcePath(parcelKind, 'alice', 'left'))
    await vi.waitFor(
      async () => expect(await alice().get('parcels', 'left', parcelKind.apiVersion)).toBeUndefined(),
      PATIENT,
    )
    const left = await mallory().get('configmaps', 'left-by-label', 'v1')
    expect(left?.metadata).toMatchObject({ uid: forged.metadata.uid, finalizers: [HOLD] })
    expect(left?.metadata.deletionTimestamp).toBeUndefined()
  })

  it('is treated as a child in a namespace that the controller is declared to write to', async () => {
    const victim = await pack('declared')
    const made = await map(tenants.of(SHARED), 'by-label', marked(victim))
    expect(await fateOf(made)).toBe('wake')
    await alice().kube.request('DELETE', resourcePath(parcelKind, 'alice', 'declared'))
    await vi.waitFor(
      async () => expect(await tenants.of(SHARED).get('configmaps', 'by-label', 'v1')).toBeUndefined(),
      PATIENT,
    )
  })
})

/** A waiting item with a secret value. */
function secret(name: string) {
  const one = waitingItem(name)
  return { ...one, config: { ...one.config, export: { password: CANARY } } }
}

async function slow(name: string): Promise<LsObject> {
  const isWaiting = (one?: LsObject) => one?.status?.phase === 'Progressing'
  return (await alice().waitUntilItems(name, ['db'], isWaiting)).get('db')!
}

async function end(name: string): Promise<void> {
  await alice().finishItem(await slow(name), 'Succeeded')
  expect((await alice().waitUntilFinished(name)).status).toMatchObject({ phase: 'Succeeded' })
}

function ownerReference(
  { metadata: { name, uid = '' } }: KubeObject,
  kind: { apiVersion: string; kind: string },
): OwnerReference {
  return { apiVersion: kind.apiVersion, kind: kind.kind, name, uid, controller: true }
}

const LANDSCAPER = (kind: string) => ({ apiVersion: API, kind })

async function forgeExecution(name: string, owner: LsObject): Promise<LsObject> {
  const ownerReferences = [ownerReference(owner, LANDSCAPER('Installation'))]
  const spec = { deployItems: [item({ name: 'db' })] }
  const metadata = { name, ownerReferences, finalizers: [HOLD] }
  return await mallory().create({ ...LANDSCAPER('Execution'), metadata, spec }, 'executions')
}

/** Creates an item with name, labels and spec of the other one. */
async function forgeItem({ metadata: { name, labels = {} }, spec }: LsObject, owner: LsObject): Promise<LsObject> {
  const ownerReferences = [ownerReference(owner, LANDSCAPER('Execution'))]
  const metadata = { name, labels, ownerReferences, finalizers: [HOLD] }
  return await mallory().create(
    { ...LANDSCAPER('DeployItem'), metadata, spec: { type: spec?.['type'] } },
    'deployitems',
  )
}

async function say(plural: string, { metadata: { name } }: LsObject, status: object): Promise<LsObject> {
  return await mallory().patch(plural, name, { status }, 'status')
}

/** The causes of wakes that events of an object have for other objects. A deletion by the garbage collector gives the object its own run. */
async function wokenBy({ metadata: { uid = '' } }: KubeObject): Promise<readonly (string | null)[]> {
  const events = tenants.pawl.db.selectFrom('watch_event').select('reason').where('uid', '=', uid)
  const rows = await events.where('outcome', '=', 'wake').execute()
  return rows.map(({ reason }) => reason).filter((reason) => reason !== 'deletion')
}

/** The outcome of the event of a new object. */
async function fateOf(made: KubeObject): Promise<string> {
  await tenants.pawl.waitUntilJournaled(made)
  const events = tenants.pawl.db
    .selectFrom('watch_event')
    .select('outcome')
    .where('uid', '=', made.metadata.uid ?? '')
  return (await events.orderBy('seq').executeTakeFirstOrThrow()).outcome
}

/** Pending wakes of these objects. */
async function wakesOf(...objects: readonly KubeObject[]): Promise<readonly string[]> {
  const uids = objects.map(({ metadata: { uid = '' } }) => uid)
  const wakes = tenants.pawl.db.selectFrom('wake').select('cause').where('uid', 'in', uids)
  const rows = await wakes.where('due', '<=', new Date()).execute()
  return rows.map(({ cause }) => cause)
}

/** Creates a parcel and waits until it has converged. */
async function pack(name: string): Promise<KubeObject> {
  const { apiVersion, kind } = parcelKind
  const body = { apiVersion, kind, metadata: { name }, spec: { text: 'x' } }
  const { metadata } = await alice().kube.request<KubeObject>('POST', resourcePath(parcelKind, 'alice'), { body })
  await vi.waitFor(async () => {
    // The last writes of its two controllers may wake each other.
    await tenants.pawl.waitUntilJournaled(
      await alice().kube.request<KubeObject>('GET', resourcePath(parcelKind, 'alice', name)),
    )
    expect(await wakesOf({ metadata })).toEqual([])
    const rows = await tenants.pawl.db
      .selectFrom('job')
      .select('outcome')
      .where('uid', '=', metadata.uid ?? '')
      .execute()
    expect(rows.map(({ outcome }) => outcome)).toEqual(['Converged', 'Converged'])
  }, PATIENT)
  return { metadata }
}

function marked({ metadata: { name, uid = '' } }: KubeObject) {
  return {
    labels: { [OWNER_UID_LABEL]: uid },
    annotations: { [OWNER_ANNOTATION]: `Parcel.writes.test.pawl.dev/alice/${name}` },
  }
}

async function map({ kube, namespace }: Cluster, name: string, metadata: object): Promise<KubeObject> {
  return await kube.request<KubeObject>('POST', resourcePath(MAPS, namespace), {
    body: { metadata: { name, ...metadata } },
  })
}

async function installParcels({ kube }: Cluster): Promise<void> {
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  for (const kind of [parcelKind, rackKind]) {
    const crd = parse(crdDocument(kind)) as { readonly spec: object }
    const scope = kind === rackKind ? 'Cluster' : 'Namespaced'
    await kube.request('POST', crds, { body: { ...crd, spec: { ...crd.spec, scope } } })
    await vi.waitFor(async () => await kube.request('GET', resourcePath(kind, undefined)), 20_000)
  }
}
