// Compares the queries that Pawl's own controllers declare with the activities that observe in their place. The test
// runs the queries like those of controllers in level mode. On a real API server and a real journal both find the same
// objects in the same versions, whether the activities list objects, read them one by one, or have them in memory.
// test/workflows/declared-controllers.test.ts tests random objects in memory.

import { MANAGED_BY_LABEL } from '../../workflows/landscaper/contract.ts'
import { describe, expect, inject, it } from 'vitest'

import { deployer as mockDeployer } from '../../activities/landscaper/deploy/mock/deployer.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionQueries } from '../../workflows/landscaper/execution/controller.gen.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationQueries } from '../../workflows/landscaper/installation/controller.gen.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import type { Kind, OwnerReference, StateQuery, Subject } from '../../workflows/kit/index.ts'
import { activitiesOf } from '../activities/landscaper/landscaper-deps.ts'
import { API, execution, installation, type LsObject } from '../support/cluster/cluster.ts'
import { useReadStage } from './read-stage.ts'

const WATCHED: readonly Kind[] = [installationKind, executionKind, deployItemKind]
const CONFIG = { apiVersion: 'mock.deployer.landscaper.gardener.cloud/v1alpha1', kind: 'ProviderConfiguration' }
const JOB = 'job'

const stage = useReadStage('declared-queries', WATCHED, inject('servers'))
const { cluster, journal } = stage

describe('what an Execution observes', () => {
  it.each([
    { how: 'listed, before the journal has heard of anything', more: 0, journaled: false, seen: false, reads: 'lists' },
    {
      how: 'from memory, when the journal knows nothing newer',
      more: 0,
      journaled: true,
      seen: true,
      reads: 'nothing',
    },
    { how: 'one by one, when a few were not seen', more: 0, journaled: true, seen: false, reads: 'objects' },
    { how: 'listed, when many were not seen', more: 8, journaled: true, seen: false, reads: 'lists' },
  ])('is what they declare: $how', async ({ more, journaled, seen, reads }) => {
    const target = await family(more)
    if (journaled) await journal()
    if (seen) await look(target)
    const { declared, observed, asked } = await look(target)
    expect(observed).toEqual(declared)
    expect(declared.items).toHaveLength(3 + more)
    expect(readsOf(asked)).toBe(reads)
  })

  it('is what they declare when items came, changed and went', async () => {
    const target = await family()
    await journal()
    const before = await look(target)
    const gone = await cluster.get('deployitems', nameIn(target, 'triggered'))
    await cluster.delete('deployitems', nameIn(target, 'triggered'))
    await createItem(target, 'late', { status: { jobID: JOB } })
    await cluster.patch('deployitems', nameIn(target, 'idle'), { status: { jobID: JOB } }, 'status')
    await journal(gone as LsObject)
    const { declared, observed } = await look(target)
    expect(observed).toEqual(declared)
    expect(declared.items).toHaveLength(3)
    expect(declared.items.filter((one) => before.declared.items.includes(one))).toHaveLength(1)
  })

  it('does not find an item that lost its label, unless the journal knows whose it is', async () => {
    const target = await family()
    const labels = { [MANAGED_BY_LABEL]: 'other' }
    await cluster.patch('deployitems', nameIn(target, 'triggered'), { metadata: { labels } })
    const { declared, observed } = await look(target)
    expect(declared.items).toHaveLength(2)
    expect(observed).toEqual(declared)
    await journal()
    const known = await look(target)
    expect(known.declared).toEqual(declared)
    expect(known.observed.items).toHaveLength(3)
  })
})

describe('what an Installation observes', () => {
  it.each([false, true])('is the Execution that it declares, the journal knowing it: %s', async (journaled) => {
    const target = await createInstallation()
    const child = await createExecution(target.metadata.name, target)
    await createExecution(uniqueName(), target)
    if (journaled) await journal()
    expect(await lookAtExecution(target)).toEqual({ declared: [versionOf(child)], observed: [versionOf(child)] })
  })

  it.each([false, true])('is none where none has its name, the journal knowing it: %s', async (journaled) => {
    const target = await createInstallation()
    await createExecution(uniqueName(), target)
    if (journaled) await journal()
    expect(await lookAtExecution(target)).toEqual({ declared: [], observed: [] })
  })

  // The declared query fails with StateNotOwned, as the controller's document says; the activity finds no Execution.
  it.each([false, true])('is none where another one has its name, the journal knowing it: %s', async (journaled) => {
    const target = await createInstallation()
    await createExecution(target.metadata.name, await createInstallation())
    if (journaled) await journal()
    const { unreadable } = (await observe(target, installationKind, installationQueries)) ?? {}
    expect(unreadable).toMatchObject({ execution: { code: 'StateNotOwned', retryable: false } })
    expect((await observeInstallation(target)).execution).toBeUndefined()
  })
})

/** Sorted entries of the form `uid version`. */
type Versions = readonly string[]

interface Seen {
  /** The items of the Execution. */
  readonly items: Versions
}

interface Look {
  readonly declared: Seen
  readonly observed: Seen
  /** The requests of the activities, without those of the queries. */
  readonly asked: readonly string[]
}

async function look(target: LsObject): Promise<Look> {
  const act = activitiesOf(stage.deps)
  const subject = subjectOf(target, executionKind)
  const { deployItems } = await run<readonly LsObject[]>(target, executionKind, executionQueries)
  stage.requests.length = 0
  const execution = await act.observeExecution({ by: byOf('execution'), subject, known: {} })
  return {
    declared: { items: versionsOf(deployItems) },
    observed: { items: versionsOfViews(execution.changed) },
    asked: [...stage.requests],
  }
}

/** How the activities read the items. */
function readsOf(asked: readonly string[]): 'nothing' | 'objects' | 'lists' {
  if (asked.includes('GET deployitems')) return 'lists'
  return asked.some((request) => request.startsWith('GET deployitems/')) ? 'objects' : 'nothing'
}

async function lookAtExecution(target: LsObject) {
  const { execution: declared } = await run<LsObject>(target, installationKind, installationQueries)
  const { execution: observed } = await observeInstallation(target)
  return {
    declared: versionsOf(declared && [declared]),
    observed: versionsOfViews(observed === undefined ? [] : [observed]),
  }
}

async function observeInstallation(target: LsObject) {
  const subject = subjectOf(target, installationKind)
  return await activitiesOf(stage.deps).observeInstallation({ by: byOf('installation'), subject, known: {} })
}

/** Runs declared queries like those of a controller in level mode. @returns the objects that they find, by state. */
async function run<Found>(target: LsObject, kind: Kind, declared: Readonly<Record<string, StateQuery>>) {
  const seen = await observe(target, kind, declared)
  return (seen?.states ?? {}) as Readonly<Record<string, Found | undefined>>
}

async function observe(target: LsObject, kind: Kind, declared: Readonly<Record<string, StateQuery>>) {
  const queries = Object.fromEntries(
    Object.entries(declared).map(([state, query]) => {
      const watched = WATCHED.find((one) => `${one.apiVersion}/${one.kind}` === query.kind)
      if (watched === undefined) throw new Error(`state ${state} is of kind ${query.kind}; expected one of this file`)
      const { apiVersion, plural } = watched
      return [state, { apiVersion, kind: watched.kind, plural, query }]
    }),
  )
  const { apiVersion, plural } = kind
  const place = { subject: subjectOf(target, kind), target: { apiVersion, kind: kind.kind, plural } }
  return await activitiesOf(stage.deps).observeLevel({ by: byOf('level'), ...place, queries })
}

const byOf = (controller: string) => ({ workflowID: `${controller}/uid`, runID: 'run', pass: 1 })

const subjectOf = ({ metadata: { uid = '', name } }: LsObject, { kind }: Kind): Subject => ({
  kind,
  uid,
  namespace: cluster.namespace,
  name,
})

const versionOf = ({ metadata: { uid = '', resourceVersion = '' } }: LsObject) => `${uid} ${resourceVersion}`
const versionsOf = (objects: readonly LsObject[] = []): Versions => objects.map(versionOf).sort()
const versionsOfViews = (views: readonly { readonly uid: string; readonly version: string }[]): Versions =>
  views.map(({ uid, version }) => `${uid} ${version}`).sort()

let count = 0
const uniqueName = () => `x${++count}`

/**
 * Creates an Execution with these items: one with the job, one without a job, one of a foreign type, and `more` without
 * a job. Also creates items that do not belong to the Execution, each for a different reason.
 */
async function family(more = 0): Promise<LsObject> {
  const [target, other] = [await createExecution(uniqueName()), await createExecution(uniqueName())]
  await createItem(target, 'triggered', { status: { jobID: JOB } })
  await createItem(target, 'idle')
  await createItem(target, 'foreign', { type: 'example.org/foreign', status: { jobID: JOB } })
  for (let index = 1; index <= more; index++) await createItem(target, `more-${index}`)
  await createItem(target, 'of-another', { owner: ownerOf(other), status: { jobID: JOB } })
  await createItem(target, 'not-controlled', { owner: ownerOf(target, false), status: { jobID: JOB } })
  await createItem(target, 'of-nobody', { owner: undefined, status: { jobID: JOB } })
  await createItem(other, 'beside', { status: { jobID: JOB } })
  return target
}

const ownerOf = ({ metadata: { uid = '', name }, ...object }: LsObject, controller = true): OwnerReference => ({
  apiVersion: API,
  kind: String(object['kind']),
  uid,
  name,
  controller,
})

interface ItemOptions {
  readonly type?: string
  /** Default: the Execution of its label. */
  readonly owner?: OwnerReference | undefined
  readonly status?: object
}

async function createItem(labelled: LsObject, name: string, options: ItemOptions = {}): Promise<void> {
  const { type = mockDeployer.type, owner = 'owner' in options ? undefined : ownerOf(labelled), status } = options
  const metadata = {
    name: nameIn(labelled, name),
    labels: { [MANAGED_BY_LABEL]: labelled.metadata.name },
    ...(owner !== undefined && { ownerReferences: [owner] }),
  }
  await cluster.create({ apiVersion: API, kind: 'DeployItem', metadata, spec: { type, config: CONFIG } }, 'deployitems')
  if (status !== undefined) await cluster.patch('deployitems', metadata.name, { status }, 'status')
}

async function createExecution(name: string, owner?: LsObject): Promise<LsObject> {
  const { metadata, ...rest } = execution(name, [])
  const ownerReferences = owner === undefined ? [] : [ownerOf(owner)]
  const object = await cluster.create({ ...rest, metadata: { ...metadata, ownerReferences } }, 'executions')
  return await cluster.patch('executions', object.metadata.name, { status: { jobID: JOB } }, 'status')
}

async function createInstallation(): Promise<LsObject> {
  return await cluster.create(installation(uniqueName(), [], { triggered: false }), 'installations')
}

const nameIn = ({ metadata }: LsObject, name: string) => `${metadata.name}-${name}`
